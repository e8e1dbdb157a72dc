/* Builder, CFG linking and block order. */
#include "tap.h"

#include "ir/ir.h"

static struct ir_module *module_create(void)
{
    struct ir_module *module = NULL;

    if (ir_module_create("t", &module) != HD_OK)
        exit(1);
    return module;
}

static void test_print(void)
{
    struct ir_module *module = module_create();
    struct ir_func *func = ir_func_create(module, "k");
    struct ir_builder b = {.func = func, .block = ir_block_create(func)};
    struct ir_instr *ld, *st;
    struct ir_value *src[2], *sum;
    struct hd_buf out;

    func->is_kernel = true;
    func->linkage = IR_LINK_VISIBLE;
    src[0] = ir_build_const(&b, IR_B64, 0);
    ld = ir_build_instr(&b, IR_OP_LD, IR_F32, 1, src, 1);
    ld->mem.space = IR_SPACE_PARAM;
    ld->mem.offset = 8;
    sum = ir_build2(&b, IR_OP_FADD, IR_F32, ld->dst[0], ld->dst[0]);
    sum->instr->rnd = IR_RN;
    ir_set_mod(sum->instr, IR_MOD_FTZ, true);
    src[1] = sum;
    st = ir_build_instr(&b, IR_OP_ST, IR_F32, 2, src, 0);
    st->mem.space = IR_SPACE_GLOBAL;
    b.srcloc.file = 1;
    b.srcloc.line = 7;
    ir_build_sreg(&b, IR_SREG_TID_X);
    ir_build_instr(&b, IR_OP_RET, IR_VOID, 0, NULL, 0);
    ir_func_link_cfg(func);
    ir_func_compact(func);
    hd_buf_init(&out);
    ir_print_func(func, &out);
    eq_str(out.ptr,
           "kernel @k visible {\n"
           "bb0:\n"
           "  %0:b64 = const.b64 0x0\n"
           "  %1:b32 = ld.f32.param [%0+8]\n"
           "  %2:b32 = fadd.f32.rn.ftz %1, %1\n"
           "  st.f32.global [%0], %2\n"
           "  %3:b32 = sreg.b32 tid.x !1:7\n"
           "  ret !1:7\n"
           "}\n",
           "text form");
    hd_buf_fini(&out);
    ir_module_destroy(module);
}

/* A loop with two exits, written in an order that is neither RPO nor contiguous; one dead block. */
static void test_order(void)
{
    struct ir_module *module = module_create();
    struct ir_func *func = ir_func_create(module, "f");
    struct ir_block *b[7];
    struct ir_builder at = {.func = func};
    struct ir_value *p;
    struct ir_instr *phi;

    for (unsigned i = 0; i < 7; i++)
        b[i] = ir_block_create(func);
    at.block = b[0];
    p = ir_build_const(&at, IR_PRED, 1);
    ir_build_br(&at, b[3]);
    at.block = b[1]; /* after the loop */
    ir_build_instr(&at, IR_OP_RET, IR_VOID, 0, NULL, 0);
    at.block = b[3]; /* header */
    ir_build_cbr(&at, p, b[4], b[2]);
    at.block = b[4];
    ir_build_cbr(&at, p, b[1], b[5]);
    at.block = b[2];
    ir_build_cbr(&at, p, b[1], b[5]);
    at.block = b[5];
    ir_build_br(&at, b[3]);
    at.block = b[6];
    ir_build_br(&at, b[1]); /* unreachable */
    ir_func_link_cfg(func);
    eq_u64(b[1]->npreds, 3, "predecessors before");
    phi = ir_build_phi(b[1], IR_PRED);
    for (unsigned i = 0; i < 3; i++)
        phi->src[i] = b[1]->preds[i] == b[6] ? NULL : p;
    ir_func_compact(func);
    eq_u64(func->nblocks, 6, "dead block dropped");
    ok(b[0]->id == 0 && b[3]->id == 1 && b[1]->id == 5, "header first, exit after the loop");
    ok(b[5]->id == 4, "latch last in the loop");
    eq_u64(phi->nsrc, 2, "phi lost the dead edge");
    ok(phi->src[0] == p && phi->src[1] == p, "and kept the others");
    ir_module_destroy(module);
}

int main(void)
{
    test_print();
    test_order();
    return done();
}
