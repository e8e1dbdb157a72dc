/* Signatures of device functions: the chunks of parameters, see lower_call.c. */
#include "lower/lower_priv.h"

#include <assert.h>

enum ir_type lower_chunk_type(const struct ptx_var *var)
{
    static const enum ir_type by_bytes[] = {[1] = IR_B8, [2] = IR_B16, [4] = IR_B32, [8] = IR_B64};
    uint64_t bytes = 8;
    if (var->space == PTX_SPACE_REG)
        return ir_type_value(lower_type((enum ptx_type)var->type));
    while (bytes > 1 && ((var->align % bytes) || (var->size_B % bytes)))
        bytes /= 2;
    assert(bytes && bytes <= 8 && hd_is_pow2(bytes));
    return by_bytes[bytes];
}

uint32_t lower_chunk_count(const struct ptx_var *var)
{
    if (var->space == PTX_SPACE_REG)
        return var->vec;
    return (uint32_t)(var->size_B / (ir_type_bits(lower_chunk_type(var)) / 8));
}

/* What a call may pass, well above what any ABI does. */
#define PARAM_MAX_B  65536
#define PARAM_CHUNKS 65536

static enum hd_status chunk_list(const struct ptx_var *vars, struct hd_arena *arena,
                                 uint32_t *out_n, const enum ir_type **out_types)
{
    uint32_t n = 0;
    for (const struct ptx_var *v = vars; v; v = v->next) {
        bool reg = v->space == PTX_SPACE_REG;
        if (reg && lower_type((enum ptx_type)v->type) == IR_VOID)
            return hd_error(HD_NOT_SUPPORTED, "line %u: parameter %.*s: type .%s is not supported",
                            v->sym.srcloc.line, HD_STR_ARG(v->sym.name),
                            ptx_type_name((enum ptx_type)v->type));
        if (!reg && v->size_B > PARAM_MAX_B)
            return hd_error(HD_NOT_SUPPORTED, "line %u: parameter %.*s is larger than %u bytes",
                            v->sym.srcloc.line, HD_STR_ARG(v->sym.name), PARAM_MAX_B);
        n += lower_chunk_count(v);
        if (n > PARAM_CHUNKS)
            return hd_error(HD_NOT_SUPPORTED, "line %u: parameter %.*s: too many parameters",
                            v->sym.srcloc.line, HD_STR_ARG(v->sym.name));
    }
    enum ir_type *types = hd_arena_array(arena, enum ir_type, n + 1);
    if (!types)
        return hd_error(HD_NO_MEMORY, "signature of %u values", n);
    n = 0;
    for (const struct ptx_var *v = vars; v; v = v->next) {
        for (uint32_t i = 0; i < lower_chunk_count(v); i++)
            types[n++] = lower_chunk_type(v);
    }
    assert(n <= PARAM_CHUNKS);
    *out_n = n;
    *out_types = types;
    return HD_OK;
}

enum hd_status lower_proto(const struct ptx_var *params, const struct ptx_var *rets,
                           struct hd_arena *arena, struct ir_proto *out)
{
    HD_TRY(chunk_list(params, arena, &out->nparams, &out->params));
    return chunk_list(rets, arena, &out->nresults, &out->results);
}
