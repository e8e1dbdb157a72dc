/* Warp-wide instructions (with full and partial masks) and atomics. */
#include "silicon.h"

#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const unsigned masks[] = {0xffffffff, 0x0000ffff, 0x80000001, 0x55555555, 0x00000010};

/* Only lanes of the mask execute text; the others keep the outputs at 0. */
static void add_masked(struct sil_rows *rows, const char *sig, const char *stem, unsigned mask,
                       const char *text)
{
    char name[SIL_NAME_MAX], body[SIL_BODY_MAX];

    snprintf(name, sizeof(name), "%s mask=%08x", stem, mask);
    snprintf(body, sizeof(body),
             "mov.u32 %%t0, %%lanemask_eq; and.b32 %%t0, %%t0, 0x%08x; setp.eq.u32 %%p, %%t0, 0;\n"
             "  mov.u32 %%t1, 0x%08x; @%%p bra done;\n  %s\ndone:",
             mask, mask, text);
    sil_add_body(rows, SIL_WARP, sig, name, body);
}

/* The second operand comes from the lane's input b; the third packs clamp and segment mask. */
static void rows_shfl(struct sil_rows *rows)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    static const unsigned clamps[] = {0x1f, 0x0, 0x181f, 0x1e03, 0x100f};
    char name[SIL_NAME_MAX], body[256];

    for (size_t m = 0; m < COUNT(modes); m++)
        for (size_t c = 0; c < COUNT(clamps); c++) {
            /* up uses clamp 0 as its boundary; the segment mask applies to all */
            unsigned clamp = m == 0 && c == 0 ? 0 : m == 0 && c == 1 ? 0x1f : clamps[c];

            snprintf(name, sizeof(name), "shfl.sync.%s.b32 c=0x%x", modes[m], clamp);
            snprintf(body, sizeof(body),
                     "shfl.sync.%s.b32 $d|%%p, $a, $b, 0x%x, 0xffffffff; selp.u32 $e, 1, 0, %%p;",
                     modes[m], clamp);
            sil_add_body(rows, SIL_WARP, "ww:ww", name, body);
        }
    sil_add_body(rows, SIL_WARP, "w:ww", "shfl.sync.bfly.b32 1 c=0x1f half",
                 "mov.u32 %t0, %laneid; setp.gt.u32 %p, %t0, 15; @%p bra done;\n"
                 "  shfl.sync.bfly.b32 $d, $a, 1, 0x1f, 0xffff;\ndone:");
}

static void rows_vote(struct sil_rows *rows)
{
    static const char *const preds[] = {"all", "any", "uni"};
    static const char *const redux[] = {"add.s32", "add.u32", "min.s32", "min.u32", "max.s32",
                                        "max.u32", "and.b32", "or.b32",  "xor.b32"};
    char stem[64], text[256];

    for (size_t k = 0; k < COUNT(masks); k++) {
        for (size_t i = 0; i < COUNT(preds); i++) {
            snprintf(stem, sizeof(stem), "vote.sync.%s.pred a&1", preds[i]);
            snprintf(
                text, sizeof(text),
                "and.b32 %%t2, $a, 1; setp.ne.u32 %%q, %%t2, 0; vote.sync.%s.pred %%p, %%q, %%t1; "
                "selp.u32 $d, 1, 0, %%p;",
                preds[i]);
            add_masked(rows, "w:w", stem, masks[k], text);
        }
        add_masked(rows, "w:w", "vote.sync.ballot.b32 a&1", masks[k],
                   "and.b32 %t2, $a, 1; setp.ne.u32 %q, %t2, 0; vote.sync.ballot.b32 $d, %q, %t1;");
        add_masked(rows, "w:w", "match.any.sync.b32", masks[k], "match.any.sync.b32 $d, $a, %t1;");
        add_masked(rows, "ww:w", "match.all.sync.b32", masks[k],
                   "match.all.sync.b32 $d|%p, $a, %t1; selp.u32 $e, 1, 0, %p;");
        add_masked(rows, "w:w", "activemask.b32", masks[k], "activemask.b32 $d;");
        for (size_t i = 0; i < COUNT(redux); i++) {
            snprintf(stem, sizeof(stem), "redux.sync.%s", redux[i]);
            snprintf(text, sizeof(text), "redux.sync.%s $d, $a, %%t1;", redux[i]);
            add_masked(rows, "w:w", stem, masks[k], text);
        }
    }
    add_masked(rows, "w:w", "match.any.sync.b64", 0xffffffff,
               "cvt.u64.u32 %u0, $a; match.any.sync.b64 $d, %u0, %t1;");
    add_masked(rows, "ww:w", "elect.sync", 0xfffffff0,
               "elect.sync $d|%p, %t1; selp.u32 $e, 1, 0, %p;");
}

struct atom_op {
    const char *name;
    const char *type;
    char reg;
    enum sil_set set;
};

static const struct atom_op atoms[] = {
    {"add", "u32", 'w', SIL_U32},
    {"add", "s32", 'w', SIL_U32},
    {"add", "u64", 'l', SIL_U64},
    {"min", "u32", 'w', SIL_U32},
    {"min", "s32", 'w', SIL_U32},
    {"max", "u32", 'w', SIL_U32},
    {"max", "s32", 'w', SIL_U32},
    {"min", "s64", 'l', SIL_U64},
    {"max", "u64", 'l', SIL_U64},
    {"inc", "u32", 'w', SIL_U32},
    {"dec", "u32", 'w', SIL_U32},
    {"exch", "b32", 'w', SIL_U32},
    {"exch", "b64", 'l', SIL_U64},
    {"and", "b32", 'w', SIL_U32},
    {"or", "b32", 'w', SIL_U32},
    {"xor", "b64", 'l', SIL_U64},
    {"add", "f32", 'w', SIL_F32},
    {"add", "f64", 'l', SIL_F64},
    {"add.noftz", "f16x2", 'w', SIL_F16X2},
    {"add.noftz", "bf16x2", 'w', SIL_BF16X2},
    {"add.noftz", "f16", 'h', SIL_F16},
    {"add.noftz", "bf16", 'h', SIL_BF16},
};

/* The memory cell starts as a; outputs: the returned old value and the cell afterwards. */
static void rows_atom(struct sil_rows *rows)
{
    static const char *const spaces[] = {"global", "shared"};

    for (size_t i = 0; i < COUNT(atoms); i++)
        for (size_t s = 0; s < 2; s++) {
            const struct atom_op *a = &atoms[i];
            char name[SIL_NAME_MAX], body[SIL_BODY_MAX],
                sig[] = {a->reg, a->reg, ':', a->reg, a->reg, 0};
            unsigned bits = a->reg == 'h' ? 16 : a->reg == 'w' ? 32 : 64;
            char at = s ? 'S' : 'O';

            snprintf(name, sizeof(name), "atom.%s.%s.%s", spaces[s], a->name, a->type);
            snprintf(body, sizeof(body),
                     "st.%s.b%u [$%c], $a; %s $d, [$%c], $b; ld.%s.b%u $e, [$%c];", spaces[s], bits,
                     at, name, at, spaces[s], bits, at);
            sil_add_body(rows, a->set, sig, name, body);
        }
    for (size_t s = 0; s < 2; s++) {
        char name[64], body[SIL_BODY_MAX], at = s ? 'S' : 'O';

        snprintf(name, sizeof(name), "atom.%s.cas.b32", spaces[s]);
        snprintf(body, sizeof(body),
                 "st.%s.b32 [$%c], $a; %s $d, [$%c], $b, $c; ld.%s.b32 $e, [$%c];", spaces[s], at,
                 name, at, spaces[s], at);
        sil_add_body(rows, SIL_U32, "ww:www", name, body);
        snprintf(name, sizeof(name), "red.%s.add.f32", spaces[s]);
        snprintf(body, sizeof(body), "st.%s.b32 [$%c], $a; %s [$%c], $b; ld.%s.b32 $d, [$%c];",
                 spaces[s], at, name, at, spaces[s], at);
        sil_add_body(rows, SIL_F32, "w:ww", name, body);
    }
}

void sil_rows_warp(struct sil_rows *rows)
{
    rows_shfl(rows);
    rows_vote(rows);
    rows_atom(rows);
}
