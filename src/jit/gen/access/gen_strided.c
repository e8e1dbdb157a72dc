/*
 * Loads and stores of lanes that lie a constant distance apart; for loads all of them active.
 *
 * A gather takes 12 cycles for 16 lanes on some CPUs, 27 on those whose microcode hides stale
 * data, and there it also waits for every store before it. Known distances need no index: 16 plain
 * loads put together cost about 16 cycles everywhere and wait for nothing. Every second element is
 * two vectors.
 */
#include "jit/gen/access/gen_lanes.h"

#include <assert.h>

static LLVMValueRef load_at(struct gen *g, LLVMTypeRef type, LLVMValueRef ptr, int64_t offset,
                            unsigned align)
{
    LLVMValueRef x = LLVMBuildLoad2(g->b, type, gen_gep(g, ptr, (uint64_t)offset), "");
    LLVMSetAlignment(x, align);
    return x;
}

/* Both vectors end at elements that lanes read, so they touch no page that the lanes do not. */
static LLVMValueRef every_second(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptr, uint64_t size_B)
{
    LLVMTypeRef vt = gen_vec(g, elem);
    unsigned lanes = GEN_LANES;
    unsigned align = (unsigned)size_B;
    LLVMValueRef low = load_at(g, vt, ptr, 0, align), pick[GEN_LANES];
    LLVMValueRef high = load_at(g, vt, ptr, (int64_t)((lanes - 1) * size_B), align);
    for (unsigned l = 0; l < lanes / 2; l++) {
        pick[l] = gen_i32(g, 2 * l);
        pick[l + lanes / 2] = gen_i32(g, lanes + 2 * l + 1);
    }
    return LLVMBuildShuffleVector(g->b, low, high, LLVMConstVector(pick, lanes), "");
}

enum { PIECE = 4 }; /* elements of a lane, of 32 bits */

/* Pieces of lanes i, 4 + i, 8 + i .. side by side. */
static LLVMValueRef every_fourth_piece(struct gen *g, LLVMValueRef const at[GEN_LANES], unsigned i)
{
    LLVMTypeRef few = LLVMVectorType(g->t->i32, PIECE);
    LLVMValueRef part[PIECE], pick[GEN_LANES];
    for (unsigned q = 0; q < PIECE; q++)
        part[q] = load_at(g, few, at[PIECE * q + i], 0, 4 * PIECE);
    for (unsigned l = 0; l < GEN_LANES; l++)
        pick[l] = gen_i32(g, l);
    for (unsigned have = PIECE, n = PIECE; n > 1; n /= 2, have *= 2) {
        for (unsigned q = 0; q < n / 2; q++)
            part[q] = LLVMBuildShuffleVector(g->b, part[2 * q], part[2 * q + 1],
                                             LLVMConstVector(pick, 2 * have), "");
    }
    return part[0];
}

/* In every four elements of a and b: those from `first` on, one of each in turn. */
static LLVMValueRef interleaved(struct gen *g, LLVMValueRef a, LLVMValueRef b, unsigned first)
{
    LLVMValueRef pick[GEN_LANES];
    for (unsigned l = 0; l < GEN_LANES; l++)
        pick[l] = gen_i32(g, l / PIECE * PIECE + first + l % PIECE / 2 + (l % 2) * GEN_LANES);
    return LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(pick, GEN_LANES), "");
}

/* Elements `first` and `first` + 1 of pieces, from both's pairs in turn: see interleaved(). */
static LLVMValueRef pairs_of(struct gen *g, LLVMValueRef a, LLVMValueRef b, unsigned first)
{
    LLVMValueRef pick[GEN_LANES];
    for (unsigned l = 0; l < GEN_LANES; l++)
        pick[l] = gen_i32(g, l / PIECE * PIECE + first + l % 2 + l % PIECE / 2 * GEN_LANES);
    return LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(pick, GEN_LANES), "");
}

/* Element j of vector q, in every four, becomes element q of vector j. */
static void squares_transpose(struct gen *g, LLVMValueRef const z[PIECE], LLVMValueRef out[PIECE])
{
    for (unsigned k = 0; k < 2; k++) { /* lanes 0 and 1, then 2 and 3, of elements 2k and 2k + 1 */
        LLVMValueRef low = interleaved(g, z[0], z[1], 2 * k),
                     high = interleaved(g, z[2], z[3], 2 * k);
        out[2 * k] = pairs_of(g, low, high, 0);
        out[2 * k + 1] = pairs_of(g, low, high, 2);
    }
}

void gen_load_pieces(struct gen *g, LLVMValueRef const at[GEN_LANES], LLVMValueRef out[PIECE])
{
    LLVMValueRef z[PIECE];
    for (unsigned i = 0; i < PIECE; i++)
        z[i] = every_fourth_piece(g, at, i);
    squares_transpose(g, z, out);
}

void gen_store_pieces(struct gen *g, LLVMValueRef const at[GEN_LANES], LLVMValueRef const x[PIECE])
{
    LLVMValueRef z[PIECE], pick[PIECE];
    squares_transpose(g, x, z);
    for (unsigned l = 0; l < GEN_LANES; l++) { /* where lanes meet, the last one's stay */
        for (unsigned j = 0; j < PIECE; j++)
            pick[j] = gen_i32(g, l / PIECE * PIECE + j);
        LLVMValueRef piece = LLVMBuildShuffleVector(g->b, z[l % PIECE], z[l % PIECE],
                                                    LLVMConstVector(pick, PIECE), "");
        LLVMSetAlignment(LLVMBuildStore(g->b, piece, at[l]), 4 * PIECE);
    }
}

enum { SPREAD_MAX = 4, SPREAD_LANES_MAX = SPREAD_MAX * GEN_LANES };

/*
 * Are elements so close that vectors which skip what is between them cost less than a scatter?
 * Structures of few members, colours of pixels. Masks of bytes are AVX-512's.
 */
bool gen_is_spread(const struct gen *g, int64_t stride, uint64_t size_B)
{
    int64_t size = (int64_t)size_B;
    return g->unit->avx512 && size_B <= 4 && stride > size && stride % size == 0 &&
           stride / size <= SPREAD_MAX;
}

/*
 * Every third or fourth: three or four vectors, of which the last ends at the last lane's element.
 * Nothing is read but what lies between elements that lanes read.
 */
static LLVMValueRef every_few(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptr, unsigned k,
                              uint64_t size_B)
{
    LLVMTypeRef vt = gen_vec(g, elem);
    unsigned lanes = GEN_LANES, last = (lanes - 1) * k + 1 - lanes;
    LLVMValueRef v[SPREAD_MAX], all[2 * GEN_LANES], pick[GEN_LANES];
    for (unsigned i = 0; i < SPREAD_MAX; i++) {
        unsigned first = i + 1 < k ? i * lanes : last;
        v[i] = load_at(g, vt, ptr, (int64_t)(first * size_B), (unsigned)size_B);
    }
    for (unsigned l = 0; l < 2 * lanes; l++)
        all[l] = gen_i32(g, l);
    for (unsigned l = 0; l < lanes; l++) {
        unsigned at = l * k, in_last = at >= (k - 1) * lanes;
        pick[l] = gen_i32(g, in_last ? (k - 1) * lanes + at - last : at);
    }
    LLVMValueRef both = LLVMConstVector(all, 2 * lanes);
    LLVMValueRef low = LLVMBuildShuffleVector(g->b, v[0], v[1], both, "");
    LLVMValueRef high = LLVMBuildShuffleVector(g->b, v[2], v[3], both, "");
    return LLVMBuildShuffleVector(g->b, low, high, LLVMConstVector(pick, lanes), "");
}

LLVMValueRef gen_load_strided(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptr, int64_t stride,
                              uint64_t size_B)
{
    assert(stride && LLVMGetIntTypeWidth(elem) == 8 * size_B);
    if (stride == (int64_t)(2 * size_B))
        return every_second(g, elem, ptr, size_B);
    if (gen_is_spread(g, stride, size_B))
        return every_few(g, elem, ptr, (unsigned)(stride / (int64_t)size_B), size_B);
    LLVMValueRef v = LLVMGetPoison(gen_vec(g, elem));
    for (unsigned l = 0; l < GEN_LANES; l++) {
        LLVMValueRef x = load_at(g, elem, ptr, stride * (int64_t)l, (unsigned)size_B);
        v = LLVMBuildInsertElement(g->b, v, x, gen_i32(g, l), "");
    }
    return v;
}

/* ---- stores */

/* Element i * k of the result is lane i of `x`; those between are `others`' first. */
static LLVMValueRef spread(struct gen *g, LLVMValueRef x, LLVMValueRef others, unsigned k,
                           unsigned n)
{
    LLVMValueRef pick[SPREAD_LANES_MAX];
    for (unsigned i = 0; i < n; i++) {
        bool lane = i % k == 0 && i / k < GEN_LANES;
        pick[i] = gen_i32(g, lane ? i / k : GEN_LANES);
    }
    return LLVMBuildShuffleVector(g->b, x, others, LLVMConstVector(pick, n), "");
}

void gen_store_strided(struct gen *g, LLVMValueRef x, LLVMValueRef ptr, LLVMValueRef mask,
                       int64_t stride, uint64_t size_B)
{
    unsigned k = (unsigned)(stride / (int64_t)size_B);
    unsigned n = (k > 2 ? SPREAD_MAX : 2) * GEN_LANES; /* whole registers */
    assert(gen_is_spread(g, stride, size_B) && n <= SPREAD_LANES_MAX);
    if (!mask)
        mask = gen_splat_const(g, g->t->i1, 1);
    mask = spread(g, mask, LLVMConstNull(g->t->mask), k, n);
    x = spread(g, x, LLVMGetPoison(LLVMTypeOf(x)), k, n);
    gen_masked_store(g, x, ptr, mask, size_B);
}
