/* Integer, logic, bit and compare instructions. */
#include "silicon.h"

#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct int_type {
    const char *name;
    char reg;
    enum sil_set set, shift;
};

static const struct int_type types[] = {
    {"u16", 'h', SIL_U16, SIL_SHIFT16}, {"s16", 'h', SIL_U16, SIL_SHIFT16},
    {"u32", 'w', SIL_U32, SIL_SHIFT32}, {"s32", 'w', SIL_U32, SIL_SHIFT32},
    {"u64", 'l', SIL_U64, SIL_SHIFT64}, {"s64", 'l', SIL_U64, SIL_SHIFT64},
};

static void add_sig(struct sil_rows *rows, enum sil_set set, const char *name, char out,
                    const char *in)
{
    char sig[8];

    snprintf(sig, sizeof(sig), "%c:%s", out, in);
    sil_add(rows, set, sig, name);
}

static void add_typed(struct sil_rows *rows, const char *stem, const struct int_type *t,
                      unsigned nin)
{
    char name[64], in[5] = {t->reg, t->reg, t->reg, t->reg, 0};

    in[nin] = 0;
    snprintf(name, sizeof(name), "%s.%s", stem, t->name);
    add_sig(rows, t->set, name, t->reg, in);
}

static char wider(char reg)
{
    return reg == 'h' ? 'w' : 'l';
}

static void rows_arithmetic(struct sil_rows *rows, const struct int_type *t)
{
    static const char *const binary[] = {"add", "sub", "mul.lo", "mul.hi",
                                         "div", "rem", "min",    "max"};
    char name[64], in[4] = {t->reg, t->reg, t->reg, 0};

    for (size_t i = 0; i < COUNT(binary); i++)
        add_typed(rows, binary[i], t, 2);
    add_typed(rows, "mad.lo", t, 3);
    add_typed(rows, "mad.hi", t, 3);
    add_typed(rows, "sad", t, 3);
    if (t->name[0] == 's') {
        add_typed(rows, "neg", t, 1);
        add_typed(rows, "abs", t, 1);
    }
    if (t->reg == 'l')
        return;
    in[2] = 0;
    snprintf(name, sizeof(name), "mul.wide.%s", t->name);
    add_sig(rows, t->set, name, wider(t->reg), in);
    in[2] = wider(t->reg);
    snprintf(name, sizeof(name), "mad.wide.%s", t->name);
    add_sig(rows, t->set, name, wider(t->reg), in);
}

static void rows_shift(struct sil_rows *rows, const struct int_type *t)
{
    char name[64], in[3] = {t->reg, 'w', 0};

    snprintf(name, sizeof(name), "shr.%s", t->name);
    add_sig(rows, t->shift, name, t->reg, in);
    if (t->name[0] == 's')
        return;
    snprintf(name, sizeof(name), "shl.b%s", t->name + 1);
    add_sig(rows, t->shift, name, t->reg, in);
}

static void rows_compare(struct sil_rows *rows, const struct int_type *t)
{
    static const char *const s[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const u[] = {"eq", "ne", "lo", "ls", "hi", "hs"};
    char name[64], body[256], sig[8];

    snprintf(sig, sizeof(sig), "w:%c%c", t->reg, t->reg);
    for (size_t i = 0; i < COUNT(s); i++) {
        snprintf(name, sizeof(name), "setp.%s.%s", t->name[0] == 's' ? s[i] : u[i], t->name);
        snprintf(body, sizeof(body), "%s %%p, $a, $b; selp.u32 $d, 1, 0, %%p;", name);
        sil_add_body(rows, t->set, sig, name, body);
    }
}

static void rows_32(struct sil_rows *rows)
{
    static const char *const wide24[] = {"mul24.lo.u32", "mul24.lo.s32", "mul24.hi.u32",
                                         "mul24.hi.s32"};
    static const char *const mad24[] = {"mad24.lo.u32", "mad24.lo.s32",     "mad24.hi.u32",
                                        "mad24.hi.s32", "mad24.hi.sat.s32", "mad.hi.sat.s32"};
    static const char *const dots[] = {"dp4a.u32.u32",    "dp4a.s32.s32",    "dp4a.u32.s32",
                                       "dp4a.s32.u32",    "dp2a.lo.u32.u32", "dp2a.hi.s32.s32",
                                       "dp2a.lo.s32.u32", "dp2a.hi.u32.s32"};
    static const char *const funnel[] = {"shf.l.wrap.b32", "shf.l.clamp.b32", "shf.r.wrap.b32",
                                         "shf.r.clamp.b32"};

    sil_add(rows, SIL_U32, "w:ww", "add.sat.s32");
    sil_add(rows, SIL_U32, "w:ww", "sub.sat.s32");
    for (size_t i = 0; i < COUNT(wide24); i++)
        sil_add(rows, SIL_U32, "w:ww", wide24[i]);
    for (size_t i = 0; i < COUNT(mad24); i++)
        sil_add(rows, SIL_U32, "w:www", mad24[i]);
    for (size_t i = 0; i < COUNT(dots); i++)
        sil_add(rows, SIL_U32, "w:www", dots[i]);
    for (size_t i = 0; i < COUNT(funnel); i++)
        sil_add(rows, SIL_SHIFT32, "w:www", funnel[i]);
    sil_add(rows, SIL_SHIFT32, "w:www", "fns.b32");
    sil_add(rows, SIL_SHIFT32, "w:ww", "bmsk.clamp.b32");
    sil_add(rows, SIL_SHIFT32, "w:ww", "bmsk.wrap.b32");
    sil_add(rows, SIL_SHIFT32, "w:ww", "szext.clamp.u32");
    sil_add(rows, SIL_SHIFT32, "w:ww", "szext.wrap.s32");
    sil_add(rows, SIL_U32, "w:www", "slct.u32.s32");
}

static void rows_bits(struct sil_rows *rows)
{
    static const char *const logic[] = {"and", "or", "xor"};
    static const char *const unary[] = {"popc", "clz"};
    static const char *const find[] = {"bfind", "bfind.shiftamt"};
    char name[64];

    for (unsigned w = 32; w <= 64; w *= 2) {
        char reg = w == 32 ? 'w' : 'l', in[3] = {reg, reg, 0}, one[2] = {reg, 0};
        enum sil_set set = w == 32 ? SIL_U32 : SIL_U64, shift = w == 32 ? SIL_SHIFT32 : SIL_SHIFT64;

        for (size_t i = 0; i < COUNT(logic); i++) {
            snprintf(name, sizeof(name), "%s.b%u", logic[i], w);
            add_sig(rows, set, name, reg, in);
        }
        snprintf(name, sizeof(name), "not.b%u", w);
        add_sig(rows, set, name, reg, one);
        snprintf(name, sizeof(name), "cnot.b%u", w);
        add_sig(rows, set, name, reg, one);
        snprintf(name, sizeof(name), "brev.b%u", w);
        add_sig(rows, set, name, reg, one);
        for (size_t i = 0; i < COUNT(unary); i++) {
            snprintf(name, sizeof(name), "%s.b%u", unary[i], w);
            add_sig(rows, set, name, 'w', one);
        }
        for (size_t i = 0; i < COUNT(find) * 2; i++) {
            snprintf(name, sizeof(name), "%s.%c%u", find[i / 2], i % 2 ? 's' : 'u', w);
            add_sig(rows, set, name, 'w', one);
        }
        for (unsigned s = 0; s < 2; s++) {
            char bfe[4] = {reg, 'w', 'w', 0};

            snprintf(name, sizeof(name), "bfe.%c%u", s ? 's' : 'u', w);
            add_sig(rows, shift, name, reg, bfe);
        }
        snprintf(name, sizeof(name), "bfi.b%u", w);
        add_sig(rows, shift, name, reg, w == 32 ? "wwww" : "llww");
    }
}

static void rows_immediates(struct sil_rows *rows)
{
    static const unsigned luts[] = {0x00, 0x1b, 0x80, 0x96, 0xca, 0xe8, 0xfe, 0x6a};
    static const char *const modes[] = {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
    char name[64], body[256];

    for (size_t i = 0; i < COUNT(luts); i++) {
        snprintf(name, sizeof(name), "lop3.b32 0x%02x", luts[i]);
        snprintf(body, sizeof(body), "lop3.b32 $d, $a, $b, $c, 0x%02x;", luts[i]);
        sil_add_body(rows, SIL_U32, "w:www", name, body);
    }
    for (size_t i = 0; i < COUNT(modes); i++) {
        snprintf(name, sizeof(name), "prmt.b32%s", modes[i]);
        sil_add(rows, SIL_U32, "w:www", name);
    }
    sil_add_body(rows, SIL_U32, "w:www", "prmt.b32 0x5410", "prmt.b32 $d, $a, $b, 0x5410;");
    sil_add_body(rows, SIL_U32, "w:www", "prmt.b32 0xba98", "prmt.b32 $d, $a, $b, 0xba98;");
}

static void rows_carry(struct sil_rows *rows)
{
    sil_add_body(rows, SIL_U32, "ww:wwww", "add.cc.u32 addc.u32",
                 "add.cc.u32 $d, $a, $b; addc.u32 $e, $c, $f;");
    sil_add_body(rows, SIL_U32, "ww:wwww", "sub.cc.u32 subc.u32",
                 "sub.cc.u32 $d, $a, $b; subc.u32 $e, $c, $f;");
    sil_add_body(rows, SIL_U32, "ww:wwww", "add.cc.u32 addc.cc.u32 addc.u32",
                 "add.cc.u32 $d, $a, $b; addc.cc.u32 $e, $c, $f; addc.u32 $d, $d, 0;");
    sil_add_body(rows, SIL_U32, "ww:wwww", "mad.lo.cc.u32 madc.hi.u32",
                 "mad.lo.cc.u32 $d, $a, $b, $c; madc.hi.u32 $e, $a, $b, $f;");
    sil_add_body(rows, SIL_U32, "ww:wwww", "mad.hi.cc.s32 madc.lo.s32",
                 "mad.hi.cc.s32 $d, $a, $b, $c; madc.lo.s32 $e, $a, $b, $f;");
    sil_add_body(rows, SIL_U64, "ll:llll", "add.cc.u64 addc.u64",
                 "add.cc.u64 $d, $a, $b; addc.u64 $e, $c, $f;");
    sil_add_body(rows, SIL_U64, "ll:llll", "sub.cc.u64 subc.u64",
                 "sub.cc.u64 $d, $a, $b; subc.u64 $e, $c, $f;");
}

void sil_rows_int(struct sil_rows *rows)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        rows_arithmetic(rows, &types[i]);
        rows_shift(rows, &types[i]);
        rows_compare(rows, &types[i]);
    }
    rows_32(rows);
    rows_bits(rows);
    rows_immediates(rows);
    rows_carry(rows);
}
