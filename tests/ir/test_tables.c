/* Invariants of the tables in spec/ir_*.def that no compiler checks. */
#include "tap.h"

#include "ir/ir.h"

static void test_types(void)
{
    unsigned bad = 0;

    for (unsigned i = 1; i < IR_TYPE_COUNT; i++) {
        enum ir_type t = (enum ir_type)i, e = ir_type_element(t);
        bad += ir_type_bits(t) != ir_type_lanes(t) * ir_type_bits(e);
        bad += ir_type_lanes(e) != 1 || ir_type_element(e) != e;
        bad += ir_type_is_signed(t) != ir_type_is_signed(e);
        bad += ir_type_is_float(t) != ir_type_is_float(e);
    }
    eq_u64(bad, 0, "a packed type is its element, lanes times");
}

/* What an operation takes fits a value, or its results would have no width. */
static void test_sets(void)
{
    unsigned bad = 0;

    for (unsigned op = 0; op < IR_OP_COUNT; op++)
        for (unsigned t = 0; t < IR_TYPE_COUNT; t++)
            bad += t != IR_VOID && ir_op_infos[op].types != 1ull << IR_VOID &&
                   ir_op_takes((enum ir_op)op, (enum ir_type)t) &&
                   ir_type_bits(ir_type_value((enum ir_type)t)) != ir_type_bits((enum ir_type)t);
    eq_u64(bad, 0, "every type that an operation takes is a value's width");
    ok(ir_op_takes(IR_OP_LD, IR_E4M3X4) && !ir_op_takes(IR_OP_ADD, IR_E4M3X4),
       "types past the 32nd have their own bit");
}

static unsigned bad_roles(const char *roles, const char *letters)
{
    unsigned bad = 0;

    for (const char *r = roles; *r; r++)
        bad += !strchr(letters, *r) && !(r > roles && strchr("?*", *r) && !strchr("?*", r[-1]));
    return bad;
}

/* Letters are known; a result is never of type2, which is not known when it is made. */
static void test_roles(void)
{
    unsigned bad = 0;

    for (unsigned op = 0; op < IR_OP_COUNT; op++) {
        bad += bad_roles(ir_op_infos[op].src, "t2piilav");
        bad += bad_roles(ir_op_infos[op].dst, "twpilv");
    }
    eq_u64(bad, 0, "roles of all operations");
    eq_u64(ir_operands_min("att?"), 2, "fewest");
    eq_u64(ir_operands_max("att?"), 3, "most");
    ok(ir_operands_max("lv*") == UINT32_MAX && ir_operands_min("lv*") == 1, "any number");
    ok(ir_operands_fixed("ptt") == 3 && ir_operands_fixed("t*") == -1, "fixed or not");
    ok(ir_operand_role("i?i?p?", 2) == 'p' && ir_operand_role("lv*", 7) == 'v' &&
           ir_operand_role("tt", 2) == 0,
       "role by position");
}

/* The builder gives the widths that the validator asks for. */
static void test_built(void)
{
    struct ir_module *module = NULL;
    struct ir_func *func;
    struct ir_builder b = {0};
    unsigned bad = 0;

    if (ir_module_create("t", &module) != HD_OK)
        exit(1);
    b.func = func = ir_func_create(module, "f");
    b.block = ir_block_create(func);
    for (unsigned op = 0; op < IR_OP_COUNT; op++)
        for (unsigned t = 0; t < IR_TYPE_COUNT; t++) {
            uint32_t ndst = ir_operands_min(ir_op_infos[op].dst);
            struct ir_instr *in;
            if (!ir_op_takes((enum ir_op)op, (enum ir_type)t))
                continue;
            in = ir_build_instr(&b, (enum ir_op)op, (enum ir_type)t, 0, NULL, ndst);
            for (uint32_t d = 0; d < ndst; d++) {
                enum ir_type want = ir_dst_type(in, d);
                bad += want != IR_VOID && in->dst[d]->type != want;
            }
        }
    eq_u64(bad, 0, "every result has the width of its role");
    eq_u64(ir_type_bits(ir_role_type('w', IR_U16, IR_VOID)), 32, "twice 16 bits");
    eq_u64(ir_type_bits(ir_role_type('w', IR_B64, IR_VOID)), 128, "twice 64 bits");
    eq_u64(ir_role_type('2', IR_F32, IR_S16), IR_B16, "of the second type");
    ir_module_destroy(module);
}

int main(void)
{
    test_roles();
    test_built();
    test_types();
    test_sets();
    return done();
}
