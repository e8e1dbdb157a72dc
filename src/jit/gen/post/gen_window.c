/*
 * Windows that slide over memory: x[i], x[i + 1], x[i + 2] and so on for neighbouring lanes.
 *
 * Each of these is a vector that begins one element behind the other, so that nearly all of them
 * reach over the end of a cache line, which takes the ports of two loads. Vectors that begin a
 * vector's size apart hold the same words: one of two such windows is made of two of them by a
 * permute (VALIGND), which leaves the ports for loads to the other.
 *
 * Nothing is read that was not read before: only where what a run of loads without writes between
 * them accesses has no gaps are whole vectors of it loaded, in front of the first of these loads.
 */
#include <assert.h>
#include <stdlib.h>

#include "jit/gen/post/gen_post.h"

enum {
    WORD_B = 4,
    VECTOR_B = WORD_B * GEN_LANES,
    LOADS = 512,    /* of a run that are looked at */
    VECTORS = 16,   /* that they are made of */
    WINDOWS_MIN = 4 /* for each vector: with fewer there is little to gain, and registers to lose */
};

struct load {
    LLVMValueRef in, base;
    LLVMTypeRef type;
    int64_t at;     /* bytes from the base */
    unsigned index; /* in the order of the program */
    unsigned group; /* the first one's with this base */
};

struct run {
    LLVMBuilderRef b;
    LLVMTypeRef words; /* 16 of i32 */
    struct load loads[LOADS];
    unsigned n;
    bool changed;
};

/* By base, then by place, so that loads of neighbours are neighbours. */
static int compare_loads(const void *a, const void *b)
{
    const struct load *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* How many of the loads from `l` on access bytes without a gap. */
static unsigned connected(const struct load *l, unsigned n)
{
    unsigned i = 1;

    while (i < n && l[i].group == l->group && l[i].at <= l[i - 1].at + VECTOR_B)
        i++;
    return i;
}

static unsigned distinct(const struct load *l, unsigned n)
{
    unsigned places = 1;

    for (unsigned i = 1; i < n; i++)
        places += l[i].at != l[i - 1].at;
    return places;
}

static const struct load *earliest(const struct load *l, unsigned n)
{
    const struct load *first = l;

    for (unsigned i = 1; i < n; i++)
        first = l[i].index < first->index ? &l[i] : first;
    return first;
}

static LLVMValueRef address(struct run *r, LLVMValueRef base, int64_t at)
{
    LLVMContextRef ctx = LLVMGetTypeContext(r->words);
    LLVMTypeRef i8 = LLVMInt8TypeInContext(ctx);
    LLVMValueRef k = LLVMConstInt(LLVMInt64TypeInContext(ctx), (uint64_t)at, true);

    if (LLVMGetTypeKind(LLVMTypeOf(base)) == LLVMPointerTypeKind)
        return LLVMBuildGEP2(r->b, i8, base, &k, 1, "");
    base = LLVMBuildAdd(r->b, base, k, "");
    return LLVMBuildIntToPtr(r->b, base, LLVMPointerTypeInContext(ctx, 0), "");
}

static void load_vectors(struct run *r, const struct load *first, int64_t at, LLVMValueRef *out,
                         unsigned n)
{
    LLVMPositionBuilderBefore(r->b, first->in);
    LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(first->in));
    for (unsigned i = 0; i < n; i++) {
        out[i] = LLVMBuildLoad2(r->b, r->words, address(r, first->base, at + VECTOR_B * i), "");
        LLVMSetAlignment(out[i], LLVMGetAlignment(first->in));
    }
}

static LLVMValueRef window(struct run *r, const LLVMValueRef *vectors, unsigned shift)
{
    LLVMTypeRef i32 = LLVMGetElementType(r->words);
    LLVMValueRef pick[GEN_LANES];

    for (unsigned i = 0; i < GEN_LANES; i++)
        pick[i] = LLVMConstInt(i32, shift + i, false);
    return LLVMBuildShuffleVector(r->b, vectors[0], vectors[1], LLVMConstVector(pick, GEN_LANES),
                                  "");
}

/* Every second one, at places where a permute can make it. */
static bool is_made(const struct load *l, int64_t from, unsigned nvectors)
{
    int64_t words = (l->at - from) / WORD_B;

    return words % 2 && words / GEN_LANES + 1 < nvectors;
}

static void make_windows(struct run *r, const struct load *l, unsigned n)
{
    unsigned nvectors = (unsigned)((l[n - 1].at - l->at) / VECTOR_B + 1);
    LLVMValueRef vectors[VECTORS];

    if (nvectors < 2 || nvectors > VECTORS || distinct(l, n) < WINDOWS_MIN * nvectors)
        return;
    load_vectors(r, earliest(l, n), l->at, vectors, nvectors);
    for (unsigned i = 0; i < n; i++) {
        if (!is_made(&l[i], l->at, nvectors))
            continue;
        int64_t words = (l[i].at - l->at) / WORD_B;
        LLVMPositionBuilderBefore(r->b, l[i].in);
        LLVMValueRef x = window(r, vectors + words / GEN_LANES, (unsigned)(words % GEN_LANES));
        LLVMReplaceAllUsesWith(l[i].in, LLVMBuildBitCast(r->b, x, l[i].type, ""));
        LLVMInstructionEraseFromParent(l[i].in);
        r->changed = true;
    }
}

/* What has been collected. */
static void run_ends(struct run *r)
{
    qsort(r->loads, r->n, sizeof(r->loads[0]), compare_loads);
    for (unsigned i = 0, n; i < r->n; i += n) {
        n = connected(&r->loads[i], r->n - i);
        make_windows(r, &r->loads[i], n);
    }
    r->n = 0;
}

static void run_add(struct run *r, LLVMValueRef in, const struct gen_contiguous *a)
{
    if (r->n == LOADS)
        run_ends(r);
    unsigned group = 0;
    while (group < r->n && r->loads[group].base != a->base)
        group++;
    r->loads[r->n] = (struct load){in, a->base, a->type, a->at, r->n, group};
    r->n++;
}

static bool is_window(const struct run *r, LLVMValueRef in, const struct gen_contiguous *a)
{
    return LLVMIsALoadInst(in) && LLVMGetVectorSize(a->type) == LLVMGetVectorSize(r->words) &&
           a->at % WORD_B == 0;
}

static void windows_in(struct run *r, LLVMBasicBlockRef block)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
        struct gen_contiguous a;
        next = LLVMGetNextInstruction(i);
        if (gen_contiguous_of(i, &a) && is_window(r, i, &a))
            run_add(r, i, &a);
        else if (gen_may_write(i))
            run_ends(r);
    }
    run_ends(r);
}

bool gen_slide_windows(struct gen_unit *u)
{
    struct run *r = calloc(1, sizeof(*r));

    if (!r) {
        u->no_memory = true;
        return false;
    }
    r->b = LLVMCreateBuilderInContext(u->ctx);
    r->words = LLVMVectorType(LLVMInt32TypeInContext(u->ctx), GEN_LANES);
    for (LLVMValueRef f = LLVMGetFirstFunction(u->mod); f; f = LLVMGetNextFunction(f)) {
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            windows_in(r, b);
    }
    bool changed = r->changed;
    LLVMDisposeBuilder(r->b);
    free(r);
    return changed;
}
