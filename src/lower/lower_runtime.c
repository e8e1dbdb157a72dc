/*
 * Calls of the runtime in kernels: spec/device_runtime.def. The arguments become words of eight
 * bytes in local memory, and one system function does the rest. What cudaMalloc() and cudaFree()
 * give is the device heap's.
 */
#include "lower/lower_priv.h"

#include <assert.h>
#include <string.h>

#include "ir/device_runtime.h"

typedef struct ir_value *val;

static const struct row {
    const char *name;
    enum ir_runtime_call call;
    uint32_t result_B;
    const char *params;
} rows[] = {
#define X(call, name, result_B, params) {name, IR_RUNTIME_##call, result_B, params},
#define ALIAS                           X
#include "device_runtime.def"
#undef X
#undef ALIAS
};

static const struct row *row_find(struct hd_str name)
{
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (hd_str_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

/* The handle of a condition is the address of its value (core/graph/graph_condition.h). */
static bool is_set_conditional(struct hd_str name)
{
    return hd_str_is(name, "cudaGraphSetConditional");
}

bool lower_is_runtime_call(struct hd_str name)
{
    return row_find(name) || is_set_conditional(name);
}

static bool row_fits(const struct row *row, const struct ir_proto *proto)
{
    if (proto->nparams != strlen(row->params) || proto->nresults != 1)
        return false;
    for (uint32_t i = 0; i < proto->nparams; i++)
        if (ir_type_bits(proto->params[i]) / 8 != (uint32_t)(row->params[i] - '0'))
            return false;
    return ir_type_bits(proto->results[0]) / 8 == row->result_B;
}

/* One array serves all calls of a function. */
static struct ir_var *words_var(struct lower_fn *f)
{
    if (f->runtime_words)
        return f->runtime_words;
    f->runtime_words = ir_var_create(f->job->module, f->ir, "runtime_arguments", IR_SPACE_LOCAL);
    f->runtime_words->linkage = IR_LINK_LOCAL;
    f->runtime_words->size_B = 8u * IR_RUNTIME_WORDS;
    f->runtime_words->align_B = 8;
    return f->runtime_words;
}

static val words_store(struct lower_fn *f, uint32_t n, val *args)
{
    struct ir_instr *at = lower_emit(f, IR_OP_VARADDR, IR_B64, 0, NULL, 1);
    at->var = words_var(f);
    assert(n <= IR_RUNTIME_WORDS);
    for (uint32_t i = 0; i < n; i++) {
        enum ir_type type = ir_type_bits(args[i]->type) == 32 ? IR_U32 : IR_U64;
        val src[] = {at->dst[0], lower_fit(f, args[i], type, IR_B64)};
        struct ir_instr *st = lower_emit(f, IR_OP_ST, IR_B64, 2, src, 0);
        st->mem.space = IR_SPACE_LOCAL;
        st->mem.offset = 8 * (int64_t)i;
    }
    struct ir_instr *generic = lower_emit(f, IR_OP_CVTA, IR_VOID, 1, &at->dst[0], 1);
    generic->mem.space = IR_SPACE_LOCAL;
    return generic->dst[0];
}

static val builtin(struct lower_fn *f, enum ir_builtin id, uint32_t n, val *args)
{
    bool gives = id != IR_BUILTIN_FREE;
    struct ir_instr *call = lower_emit(f, IR_OP_BUILTIN, IR_VOID, n, args, gives);
    call->imm = id;
    if (!gives)
        return lower_const(f, IR_B64, 0);
    call->dst[0]->type = IR_B64;
    return call->dst[0];
}

/* cudaMalloc(void **out, size_t size): cudaErrorMemoryAllocation is 2. */
static val heap_alloc(struct lower_fn *f, val *args)
{
    val block = builtin(f, IR_BUILTIN_MALLOC, 1, &args[1]);
    val src[] = {args[0], block}, zero[] = {block, lower_const(f, IR_B64, 0)};
    lower_emit(f, IR_OP_ST, IR_B64, 2, src, 0)->mem.space = IR_SPACE_GENERIC;
    struct ir_instr *none = lower_emit(f, IR_OP_SETP, IR_U64, 2, zero, 1);
    none->cmp = IR_EQ;
    return lower_op3(f, IR_OP_SELECT, IR_B64, none->dst[0], lower_const(f, IR_B64, 2),
                     lower_const(f, IR_B64, 0));
}

static val row_call(struct lower_fn *f, const struct row *row, uint32_t n, val *args)
{
    if (row->call == IR_RUNTIME_Malloc)
        return heap_alloc(f, args);
    if (row->call == IR_RUNTIME_Free)
        return builtin(f, IR_BUILTIN_FREE, 1, args);
    val src[] = {lower_const(f, IR_B64, row->call), words_store(f, n, args)};
    return builtin(f, IR_BUILTIN_RUNTIME, 2, src);
}

/* The register's value is known to who made the launch. */
val lower_current_graph_exec(struct lower_fn *f)
{
    val src[] = {lower_const(f, IR_B64, IR_RUNTIME_CurrentGraphExec), words_store(f, 0, NULL)};
    return builtin(f, IR_BUILTIN_RUNTIME, 2, src);
}

static bool is_setter(const struct ir_proto *proto)
{
    return proto->nparams == 2 && !proto->nresults && ir_type_bits(proto->params[0]) == 64 &&
           ir_type_bits(proto->params[1]) == 32;
}

val lower_runtime_call(struct lower_fn *f, struct hd_str name, const struct ir_proto *proto,
                       uint32_t n, val *args)
{
    const struct row *row = row_find(name);
    assert(row || is_set_conditional(name));
    if (row ? !row_fits(row, proto) : !is_setter(proto)) {
        lower_fail(f, HD_BAD_PTX, "the function of the device runtime has another signature");
        return NULL;
    }
    if (!row) {
        lower_emit(f, IR_OP_ST, IR_B32, 2, args, 0)->mem.space = IR_SPACE_GENERIC;
        return NULL;
    }
    return lower_fit(f, row_call(f, row, n, args), IR_U64, proto->results[0]);
}
