/* What the parser makes of typical statements: decoded forms, resolved names, places. */
#include "tap.h"

#include "ptx/ptx.h"

static struct hd_arena arena;

static struct ptx_module *parse(const char *text)
{
    struct ptx_module *module;
    if (ptx_parse(&arena, text, strlen(text), "t", &module) != HD_OK) {
        diag("%s", hd_error_message());
        return NULL;
    }
    return module;
}

static const struct ptx_insn *insn_at(const struct ptx_func *func, unsigned index)
{
    for (struct ptx_stmt *stmt = func->body; stmt; stmt = stmt->next)
        if (stmt->kind == PTX_STMT_INSN && index-- == 0)
            return (const struct ptx_insn *)stmt;
    return NULL;
}

/* The form of one instruction in a function of its own. */
static const struct ptx_form *form_of(const char *insn)
{
    struct hd_buf text = {0};
    hd_buf_printf(&text, ".version 9.0 .target sm_120 .func f() { %s; }", insn);
    struct ptx_module *module = parse(text.ptr);
    hd_buf_fini(&text);
    return module ? insn_at(module->funcs, 0)->form : NULL;
}

static void test_arithmetic_forms(void)
{
    const struct ptx_form *f = form_of("fma.rn.ftz.sat.f32 _, 0f00000000, 0f00000000, 0f00000000");
    ok(f && f->op == PTX_OP_FMA && f->round == PTX_ROUND_RN && f->ftz && f->sat &&
           ptx_form_type(f) == PTX_TYPE_F32,
       "fma.rn.ftz.sat.f32");
    f = form_of("mad.lo.cc.u32 _, 1, 2, 3");
    ok(f && f->op == PTX_OP_MAD && f->half == PTX_HALF_LO && f->cc, "mad.lo.cc.u32");
    f = form_of("setp.lo.and.u32 _|_, 1, 2, 1");
    ok(f && f->cmp == PTX_CMP_LO && f->half == PTX_HALF_NONE && f->subop == PTX_SUBOP_AND,
       "setp.lo is a compare");
    f = form_of("cvt.rzi.ftz.s32.f32 _, 0f00000000");
    ok(f && f->round == PTX_ROUND_RZI && f->ntypes == 2 && f->types[0] == PTX_TYPE_S32 &&
           f->types[1] == PTX_TYPE_F32,
       "cvt.rzi.ftz.s32.f32");
    f = form_of("cvt.rn.satfinite.relu.e4m3x2.f32 _, 0f00000000, 0f00000000");
    ok(f && f->satfinite && f->relu && f->types[0] == PTX_TYPE_E4M3X2, "cvt to e4m3x2");
    f = form_of("set.gt.u32.f16x2 _, 1, 2");
    ok(f && f->cmp == PTX_CMP_GT && f->types[1] == PTX_TYPE_F16X2, "set.gt.u32.f16x2");
    f = form_of("div.full.f32 _, 0f00000000, 0f00000000");
    ok(f && f->full && !f->approx, "div.full.f32");
}

static void test_memory_forms(void)
{
    const struct ptx_form *f = form_of("ld.relaxed.gpu.global.L1::no_allocate.v2.u64 {_, _}, [8]");
    ok(f && f->op == PTX_OP_LD && f->sem == PTX_SEM_RELAXED && f->scope == PTX_SCOPE_GPU &&
           ptx_form_space(f) == PTX_SPACE_GLOBAL && f->vec == 2 &&
           ptx_form_has(f, PTX_MOD_L1_NO_ALLOCATE),
       "ld.relaxed.gpu.global");
    f = form_of("ld.mmio.relaxed.sys.global.u32 _, [8]");
    ok(f && f->sem == PTX_SEM_MMIO && f->scope == PTX_SCOPE_SYS, "ld.mmio");
    f = form_of("ld.volatile.shared.u32 _, [8]");
    ok(f && f->sem == PTX_SEM_VOLATILE && ptx_form_space(f) == PTX_SPACE_SHARED, "ld.volatile");
    f = form_of("ld.global.nc.f32 _, [8]");
    ok(f && f->nc && f->vec == 1, "ld.global.nc");
    f = form_of("atom.acq_rel.gpu.shared::cta.cas.b64 _, [8], 1, 2");
    ok(f && f->subop == PTX_SUBOP_CAS && f->sem == PTX_SEM_ACQ_REL &&
           ptx_form_space(f) == PTX_SPACE_SHARED_CTA,
       "atom.cas");
    f = form_of("cp.async.ca.shared.global.L2::128B [8], [8], 16");
    ok(f && f->op == PTX_OP_CP_ASYNC && f->nspaces == 2 && f->spaces[1] == PTX_SPACE_GLOBAL &&
           f->cache == PTX_CACHE_CA,
       "cp.async");
    f = form_of("membar.gl");
    ok(f && f->op == PTX_OP_MEMBAR && f->scope == PTX_SCOPE_GPU, "membar.gl is GPU scope");
}

static void test_warp_forms(void)
{
    const struct ptx_form *f = form_of("vote.ballot.sync.b32 _, 1, -1");
    ok(f && f->op == PTX_OP_VOTE && f->mode == PTX_MOD_BALLOT && f->sync, "vote, either order");
    f = form_of("vote.sync.uni.pred _, 1, -1");
    ok(f && f->mode == PTX_MOD_UNI, "vote.uni");
    f = form_of("shfl.sync.bfly.b32 _, 1, 2, 3, -1");
    ok(f && f->op == PTX_OP_SHFL && f->mode == PTX_MOD_BFLY, "shfl.bfly");
    f = form_of("bar.red.popc.u32 _, 0, 1");
    ok(f && f->op == PTX_OP_BAR_RED && f->subop == PTX_SUBOP_POPC, "bar.red.popc");
    f = form_of("barrier.cluster.arrive.relaxed.aligned");
    ok(f && f->op == PTX_OP_BARRIER_CLUSTER_ARRIVE && f->aligned, "barrier.cluster.arrive");
    f = form_of("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {}, {}, {}, {}");
    ok(f && f->shape.m == 16 && f->shape.n == 8 && f->shape.k == 16 && f->ntypes == 4, "mma shape");
    f = form_of("cp.async.bulk.wait_group.read 0");
    ok(f && f->op == PTX_OP_CP_ASYNC_BULK_WAIT_GROUP, "longest opcode wins");
}

static const char scopes_text[] = ".version 9.0\n.target sm_90a\n.address_size 64\n"
                                  ".visible .entry k(.param .u64 p)\n{\n"
                                  "\t.reg .b32 %r<10>;\n\t.reg .pred %p<3>, q;\n"
                                  "\tadd.s32 %r9, %r1, 5;\n"
                                  "\t{ .reg .b32 %r1; mov.b32 %r1, %r2; bra L; L: ret; }\n"
                                  "\t.loc 1 7 3\n"
                                  "\t@!q bra L;\n"
                                  "\tld.param.u64 _, [p+4];\n"
                                  "L:\tmov.u32 %r0, %envreg31; mov.u32 %r0, %ctaid.z;\n"
                                  "\tret;\n}\n";

static void test_names(void)
{
    struct ptx_module *m = parse(scopes_text);
    if (!ok(m != NULL, "module with scopes"))
        return;
    struct ptx_func *k = m->funcs;
    eq_u64(k->nregs, 15, "registers are numbered densely");
    eq_u64(ptx_operand_reg_idx(&insn_at(k, 0)->ops[0]), 9, "%%r9");
    eq_u64(ptx_operand_reg_idx(&insn_at(k, 1)->ops[0]), 14, "inner %%r1 shadows the range");
    eq_u64(ptx_operand_reg_idx(&insn_at(k, 1)->ops[1]), 2, "outer %%r2 stays visible");
    const struct ptx_insn *inner = insn_at(k, 2), *outer = insn_at(k, 4);
    ok(inner->ops[0].kind == PTX_OPND_LABEL && outer->ops[0].kind == PTX_OPND_LABEL &&
           inner->ops[0].u.label != outer->ops[0].u.label,
       "labels belong to scopes, forward references too");
    ok(outer->guard.kind == PTX_OPND_REG && outer->guard.invert, "@!q");
    eq_u64(ptx_operand_reg_idx(&outer->guard), 13, "q");
    eq_u64(outer->stmt.srcloc.line, 11, "line");
    eq_u64(outer->stmt.srcloc.col, 6, "column of the opcode");
    ok(outer->stmt.loc && outer->stmt.loc->line == 7 && !inner->stmt.loc, ".loc in force");
    const struct ptx_operand *addr = &insn_at(k, 5)->ops[1];
    ok(addr->kind == PTX_OPND_ADDR && addr->base == PTX_OPND_SYM && addr->offset == 4 &&
           addr->u.sym == &k->params->sym,
       "[p+4] is the parameter");
    const struct ptx_operand *env = &insn_at(k, 6)->ops[1], *cta = &insn_at(k, 7)->ops[1];
    ok(env->kind == PTX_OPND_SREG && env->index2 == PTX_SREG_ENVREG && env->index == 31,
       "%%envreg31");
    ok(cta->index2 == PTX_SREG_CTAID && cta->comp == PTX_COMP_Z, "%%ctaid.z");
    ok(m->arch == 90 && m->arch_suffix == 'a', "target");
    ok(ptx_module_find(m, HD_STR("k")) == &k->sym && !ptx_module_find(m, HD_STR("p")), "find");
}

static void test_calls(void)
{
    struct ptx_module *m = parse(".version 9.0 .target sm_90 .func (.reg .b32 r) f(.reg .b32 a);"
                                 ".entry k() { .reg .b32 %r<3>; call (%r1), f, (%r2); call g; }"
                                 ".func g() { ret; } .func (.reg .b32 r) f(.reg .b32 a) { ret; }");
    if (!ok(m != NULL, "calls"))
        return;
    struct ptx_func *k = m->funcs->next_func;
    const struct ptx_insn *f = insn_at(k, 0), *g = insn_at(k, 1);
    ok(f->nops == 4 && f->ops[0].nitems == 1 && f->ops[2].nitems == 1 && !f->ops[3].kind, "f");
    ok(g->nops == 4 && g->ops[0].nitems == 0 && g->ops[1].kind == PTX_OPND_SYM, "g");
    struct ptx_func *decl = (struct ptx_func *)f->ops[1].u.sym;
    ok(!decl->has_body && decl->def->has_body, "a declaration knows its definition");
    ok(((struct ptx_func *)g->ops[1].u.sym)->has_body, "a function may be called before it comes");
    ok(ptx_module_find(m, HD_STR("f")) == &decl->def->sym, "find gives the definition");
}

struct seen_reloc {
    unsigned count;
    uint64_t at[4];
    int64_t addend[4];
    bool generic[4];
    uint64_t mask[4];
};

static void note_reloc(void *ctx, uint64_t at, unsigned width_B, const struct ptx_sym *sym,
                       int64_t addend, bool generic, uint64_t mask)
{
    struct seen_reloc *seen = ctx;
    unsigned i = seen->count++ % 4;
    seen->at[i] = at;
    seen->addend[i] = addend;
    seen->generic[i] = generic;
    seen->mask[i] = mask;
}

static void test_images(void)
{
    struct ptx_module *m =
        parse(".version 9.0 .target sm_90 .global .u16 a[2][3] = {{1, 2}, {3}};"
              ".global .f32 b[] = {1.5, 0f3F800000, 2};"
              ".global .u64 c[3] = {7, a+2, generic(a)}; .global .b8 d[] = \"a\\n\";"
              ".global .f64 e = -0.5; .global .u8 f[2] = {0xff00(a), 9}; .global .f16 g = 1.0;");
    static const uint8_t want_a[] = {1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0};
    static const uint8_t want_b[] = {0, 0, 0xc0, 0x3f, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40};
    uint8_t bytes[32];
    struct seen_reloc seen = {0};
    if (!ok(m != NULL, "initialisers"))
        return;
    for (struct ptx_var *var = m->vars; var; var = var->next) {
        memset(bytes, 0, sizeof(bytes));
        ok(ptx_var_image(var, bytes, var->size_B, note_reloc, &seen) == HD_OK, "image of %.*s",
           HD_STR_ARG(var->sym.name));
        if (hd_str_is(var->sym.name, "a"))
            eq_mem(bytes, want_a, sizeof(want_a), "nested lists leave the rest zero");
        if (hd_str_is(var->sym.name, "b"))
            eq_mem(bytes, want_b, sizeof(want_b), "floats in three spellings, size inferred");
        if (hd_str_is(var->sym.name, "d"))
            eq_mem(bytes, "a\n", 2, "string");
        if (hd_str_is(var->sym.name, "e"))
            eq_mem(bytes, "\0\0\0\0\0\0\xe0\xbf", 8, "double");
        if (hd_str_is(var->sym.name, "g"))
            eq_mem(bytes, "\0\x3c", 2, "half");
    }
    eq_u64(seen.count, 3, "addresses");
    ok(seen.at[0] == 8 && seen.addend[0] == 2 && seen.generic[1] && seen.mask[2] == 0xff00,
       "offset, generic and mask");
}

static void test_tables(void)
{
    bool own_known = true;
    for (unsigned i = 1; i < PTX_OP_COUNT; i++) {
        const struct ptx_op_info *info = ptx_op_info((enum ptx_op)i);
        if (ptx_op_from_name(hd_str_from(info->name)) != (enum ptx_op)i) {
            diag("%s", info->name);
            own_known = false;
        }
    }
    ok(own_known, "every opcode is found by its name");
    ok(ptx_op_from_name(HD_STR("cp")) == PTX_OP_NONE, "a prefix is no opcode");
    ok(ptx_type_from_name(HD_STR("bf16x2")) == PTX_TYPE_BF16X2, "type by name");
    eq_u64(ptx_type_bits(PTX_TYPE_E4M3X2), 16, "bits");
}

int main(void)
{
    hd_arena_init(&arena);
    test_arithmetic_forms();
    test_memory_forms();
    test_warp_forms();
    test_names();
    test_calls();
    test_images();
    test_tables();
    hd_arena_fini(&arena);
    return done();
}
