/* See gen_apart.h. */
#include "jit/gen/gen_apart.h"

#include "jit/gen/gen_flow.h"

#include <assert.h>
#include <string.h>

static unsigned always_inline(void)
{
    return LLVMGetEnumAttributeKindForName("alwaysinline", strlen("alwaysinline"));
}

struct gen_apart gen_apart_open(struct gen *g, const char *name, enum gen_apart_kind kind,
                                LLVMTypeRef ret, LLVMTypeRef *params, unsigned nparams)
{
    const LLVMAttributeIndex self = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    static const char frame[] = "frame-pointer", all[] = "all";
    struct gen_apart apart = {.type = LLVMFunctionType(ret, params, nparams, false)};

    apart.fn = LLVMGetNamedFunction(g->unit->mod, name);
    if (apart.fn)
        return apart;
    apart.is_new = true;
    apart.fn = LLVMAddFunction(g->unit->mod, name, apart.type);
    LLVMSetLinkage(apart.fn, LLVMInternalLinkage);
    gen_function_attributes(g->unit, apart.fn);
    if (kind == GEN_APART_QUICK)
        LLVMAddAttributeAtIndex(apart.fn, self,
                                LLVMCreateEnumAttribute(g->unit->ctx, always_inline(), 0));
    LLVMAddAttributeAtIndex(
        apart.fn, self,
        LLVMCreateStringAttribute(g->unit->ctx, frame, sizeof(frame) - 1, all, sizeof(all) - 1));
    apart.saved = LLVMGetInsertBlock(g->b);
    if (g->unit->debug) /* a place of its caller is none of its own */
        LLVMSetCurrentDebugLocation2(g->b, NULL);
    LLVMPositionBuilderAtEnd(g->b, LLVMAppendBasicBlockInContext(g->unit->ctx, apart.fn, "entry"));
    return apart;
}

void gen_apart_close(struct gen *g, const struct gen_apart *apart, LLVMValueRef result)
{
    assert(apart->is_new && apart->saved);
    if (result)
        LLVMBuildRet(g->b, result);
    else
        LLVMBuildRetVoid(g->b);
    LLVMPositionBuilderAtEnd(g->b, apart->saved);
    if (g->unit->debug && g->place.at)
        gen_place_at(g, g->place.at);
}

LLVMValueRef gen_apart_call(struct gen *g, const struct gen_apart *apart, LLVMValueRef *args,
                            unsigned nargs)
{
    return LLVMBuildCall2(g->b, apart->type, apart->fn, args, nargs, "");
}

bool gen_apart_is_inlined(struct gen_unit *u, LLVMValueRef fn)
{
    const LLVMAttributeIndex self = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;

    return fn != u->kernel && LLVMGetEnumAttributeAtIndex(fn, self, always_inline());
}
