/*
 * Which instruction of the IR the code that is being made comes from, by its number
 * (ir_module_instr_at): for calls of services that report errors, and, when places are asked for,
 * as the source line of every LLVM instruction. The files, functions and types that debug
 * information has besides are names of no meaning.
 */
#include "jit/gen/post/gen_post.h"

#include <string.h>

static const char name[] = "heddle";

static void module_flag(struct gen_unit *u, const char *key, uint64_t value)
{
    LLVMMetadataRef v = LLVMValueAsMetadata(gen_ci(u->types.i32, value));

    LLVMAddModuleFlag(u->mod, LLVMModuleFlagBehaviorWarning, key, strlen(key), v);
}

void gen_srcloc_begin(struct gen_unit *u)
{
    if (!u->req->srclocs)
        return;
    module_flag(u, "Debug Info Version", LLVMDebugMetadataVersion());
    module_flag(u, "Dwarf Version", 4);
    u->debug = LLVMCreateDIBuilder(u->mod);
    u->debug_file = LLVMDIBuilderCreateFile(u->debug, name, strlen(name), "", 0);
    (void)LLVMDIBuilderCreateCompileUnit(
        u->debug, LLVMDWARFSourceLanguageC, u->debug_file, name, strlen(name), true, "", 0, 0, "",
        0, LLVMDWARFEmissionLineTablesOnly, 0, false, false, "", 0, "", 0);
    u->debug_type =
        LLVMDIBuilderCreateSubroutineType(u->debug, u->debug_file, NULL, 0, LLVMDIFlagZero);
}

static LLVMMetadataRef scope_create(struct gen_unit *u, LLVMValueRef fn)
{
    LLVMMetadataRef scope = LLVMDIBuilderCreateFunction(u->debug, u->debug_file, name, strlen(name),
                                                        "", 0, u->debug_file, 0, u->debug_type,
                                                        true, true, 0, LLVMDIFlagZero, true);
    LLVMSetSubprogram(fn, scope);
    return scope;
}

/* What has no place says so: where some calls have one, all must. */
static void fill(struct gen_unit *u, LLVMValueRef fn)
{
    LLVMMetadataRef scope = LLVMGetSubprogram(fn);
    if (!scope)
        scope = scope_create(u, fn);
    LLVMMetadataRef none = LLVMDIBuilderCreateDebugLocation(u->ctx, 0, 0, scope, NULL);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            if (!LLVMInstructionGetDebugLoc(i))
                LLVMInstructionSetDebugLoc(i, none);
        }
    }
}

void gen_srcloc_end(struct gen_unit *u)
{
    if (!u->debug)
        return;
    for (LLVMValueRef f = LLVMGetFirstFunction(u->mod); f; f = LLVMGetNextFunction(f)) {
        if (LLVMGetFirstBasicBlock(f))
            fill(u, f);
    }
    LLVMDIBuilderFinalize(u->debug);
    LLVMDisposeDIBuilder(u->debug);
    u->debug = NULL;
}

static bool srcloc_of_call(LLVMValueRef in)
{
    LLVMMetadataRef own = LLVMInstructionGetDebugLoc(in), place = own, call;

    while (place && !LLVMDILocationGetLine(place) && (call = LLVMDILocationGetInlinedAt(place)))
        place = call;
    if (place)
        LLVMInstructionSetDebugLoc(in, place);
    return place != own;
}

bool gen_srcloc_of_calls(struct gen_unit *u)
{
    bool changed = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(u->mod); f; f = LLVMGetNextFunction(f)) {
        LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f);
        for (; b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                changed |= srcloc_of_call(i);
    }
    return changed;
}

bool gen_srcloc_init(struct gen *g)
{
    g->srcloc.block_number = hd_arena_array(&g->arena, uint32_t, g->func->nblocks + 1);
    if (g->srcloc.block_number)
        ir_func_block_numbers(g->func, g->srcloc.block_number);
    if (g->unit->debug)
        g->srcloc.scope = scope_create(g->unit, g->fn);
    return g->srcloc.block_number != NULL;
}

void gen_srcloc_at(struct gen *g, const struct ir_instr *in)
{
    g->srcloc.at = in;
    if (g->unit->debug)
        LLVMSetCurrentDebugLocation2(g->b,
                                     LLVMDIBuilderCreateDebugLocation(g->unit->ctx, gen_srcloc(g),
                                                                      0, g->srcloc.scope, NULL));
}

/* Instructions are mostly asked for in order, so counting goes on where it stopped. */
uint32_t gen_srcloc(struct gen *g)
{
    const struct ir_instr *in = g->srcloc.at ? g->srcloc.at : g->func->blocks[0]->first;
    const struct ir_instr *it = g->srcloc.numbered;

    assert(in && in->block->func == g->func);
    while (it && it != in) {
        it = it->next;
        g->srcloc.number++;
    }
    if (!it) {
        g->srcloc.number = g->srcloc.block_number[in->block->id];
        for (it = in->block->first; it != in; it = it->next)
            g->srcloc.number++;
    }
    g->srcloc.numbered = in;
    return g->srcloc.number;
}
