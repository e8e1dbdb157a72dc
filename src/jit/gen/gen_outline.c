/* See gen_outline.h. */
#include "jit/gen/gen_outline.h"

#include "jit/gen/flow/gen_flow.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static unsigned always_inline(void)
{
    return LLVMGetEnumAttributeKindForName("alwaysinline", strlen("alwaysinline"));
}

/*
 * A function that keeps all registers, so that values that live in them stay there. VZEROUPPER at
 * its end would clear their upper halves: LLVM 19 does not see that the caller has them.
 */
#define PRESERVE_ALL 15 /* LLVM's number of the calling convention */

static void keeps_registers(struct gen_unit *u, LLVMValueRef fn)
{
    static const char name[] = "target-features", without[] = ",-vzeroupper";
    char text[512];

    if (u->avx512)
        return;
    int n = snprintf(text, sizeof(text), "%s%s", u->req->features, without);
    assert(n > 0 && (size_t)n < sizeof(text));
    (void)n;
    LLVMSetFunctionCallConv(fn, PRESERVE_ALL);
    LLVMAddAttributeAtIndex(
        fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(u->ctx, name, sizeof(name) - 1, text, (unsigned)strlen(text)));
}

struct gen_outline gen_outline_open(struct gen *g, const char *name, enum gen_outline_kind kind,
                                    LLVMTypeRef ret, LLVMTypeRef *params, unsigned nparams)
{
    const LLVMAttributeIndex self = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    static const char frame[] = "frame-pointer", all[] = "all";
    struct gen_outline outline = {.type = LLVMFunctionType(ret, params, nparams, false)};

    outline.fn = LLVMGetNamedFunction(g->unit->mod, name);
    if (outline.fn)
        return outline;
    outline.is_new = true;
    outline.fn = LLVMAddFunction(g->unit->mod, name, outline.type);
    LLVMSetLinkage(outline.fn, LLVMInternalLinkage);
    gen_function_attributes(g->unit, outline.fn);
    if (kind == GEN_OUTLINE_QUICK)
        LLVMAddAttributeAtIndex(outline.fn, self,
                                LLVMCreateEnumAttribute(g->unit->ctx, always_inline(), 0));
    if (kind == GEN_OUTLINE_COLD)
        keeps_registers(g->unit, outline.fn);
    LLVMAddAttributeAtIndex(
        outline.fn, self,
        LLVMCreateStringAttribute(g->unit->ctx, frame, sizeof(frame) - 1, all, sizeof(all) - 1));
    outline.saved = LLVMGetInsertBlock(g->b);
    if (g->unit->debug) /* a place of its caller is none of its own */
        LLVMSetCurrentDebugLocation2(g->b, NULL);
    LLVMPositionBuilderAtEnd(g->b,
                             LLVMAppendBasicBlockInContext(g->unit->ctx, outline.fn, "entry"));
    return outline;
}

void gen_outline_close(struct gen *g, const struct gen_outline *outline, LLVMValueRef result)
{
    assert(outline->is_new && outline->saved);
    if (result)
        LLVMBuildRet(g->b, result);
    else
        LLVMBuildRetVoid(g->b);
    LLVMPositionBuilderAtEnd(g->b, outline->saved);
    if (g->unit->debug && g->srcloc.at)
        gen_srcloc_at(g, g->srcloc.at);
}

LLVMValueRef gen_outline_call(struct gen *g, const struct gen_outline *outline, LLVMValueRef *args,
                              unsigned nargs)
{
    LLVMValueRef call = LLVMBuildCall2(g->b, outline->type, outline->fn, args, nargs, "");
    LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(outline->fn));
    return call;
}

bool gen_outline_is_inlined(struct gen_unit *u, LLVMValueRef fn)
{
    const LLVMAttributeIndex self = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;

    return fn != u->kernel && LLVMGetEnumAttributeAtIndex(fn, self, always_inline());
}
