/*
 * Promotion of shared memory to registers, over barriers, in blocks of code where each access is to
 * known words.
 *
 * In regions without loops (gen_unroll.c) addresses in shared memory are constants, and so are the
 * permutes between vectors in memory and lanes. So it is known of each word which lane of which
 * result it is, and of each operand which words it is made of, through any number of stores,
 * barriers and loads: it is permuted out of results at once. Nothing is stored until the block
 * ends; then all words are that it has changed, in vectors.
 *
 * Other accesses of such a block are to other memory: gen_unroll.c has seen to that.
 */
#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "jit/gen/post/gen_promote.h"

enum { MAX_BLOCKS = 32 };

/* One lane of a result; a scalar is lane 0. NULL: it does not matter. */
struct lane {
    LLVMValueRef value;
    unsigned number;
};

/* A word of shared memory. */
struct word {
    struct lane lane;
    bool is_known, is_changed;
};

/* What the lanes of a load or permute are; of a vector of words, or a word. */
struct made {
    unsigned n;
    bool is_moved; /* out of memory that is in registers */
    struct lane lanes[GEN_LANES];
};

struct words {
    struct hd_arena arena;
    struct hd_map made; /* by LLVMValueRef: struct made */
    struct hd_map
        homes; /* by promote_lane_key(): struct lane, in what was put together of it last */
    struct hd_map values; /* by what it is made of and its type: LLVMValueRef */
    LLVMBuilderRef b;
    bool no_memory;
    LLVMValueRef cta; /* the function's parameter */
    /* One behind the other, apart from ends that faults come to. */
    LLVMBasicBlockRef blocks[MAX_BLOCKS];
    unsigned nblocks;
    struct word words[GEN_WORDS_MAX];
};

/* ---- what lanes are made of */

static struct made *promote_made_of(struct words *w, LLVMValueRef v)
{
    return hd_map_get_u64(&w->made, (uint64_t)(uintptr_t)v);
}

static struct lane promote_lane_of(struct words *w, LLVMValueRef v, unsigned number)
{
    const struct made *m = promote_made_of(w, v);
    if (m)
        return m->lanes[number];
    return LLVMIsUndef(v) ? (struct lane){NULL, 0} : (struct lane){v, number};
}

static bool is_moved(struct words *w, LLVMValueRef v)
{
    const struct made *m = promote_made_of(w, v);
    return m && m->is_moved;
}

static struct made *promote_made_new(struct words *w, LLVMValueRef v)
{
    struct made *m = hd_arena_new(&w->arena, struct made);
    m->n = gen_promote_words_in(LLVMTypeOf(v));
    w->no_memory |= !hd_map_put_u64(&w->made, (uint64_t)(uintptr_t)v, m);
    return m;
}

static void promote_take_shuffle(struct words *w, LLVMValueRef i, struct made *m)
{
    LLVMValueRef a = LLVMGetOperand(i, 0), b = LLVMGetOperand(i, 1);
    int n = (int)LLVMGetVectorSize(LLVMTypeOf(a));
    m->is_moved = is_moved(w, a) || is_moved(w, b);
    for (unsigned l = 0; l < m->n; l++) {
        int from = LLVMGetMaskValue(i, l);
        if (from >= 0)
            m->lanes[l] = from < n ? promote_lane_of(w, a, (unsigned)from)
                                   : promote_lane_of(w, b, (unsigned)(from - n));
    }
}

static void promote_take_lanes(struct words *w, LLVMValueRef from, struct made *m)
{
    m->is_moved = is_moved(w, from);
    for (unsigned l = 0; l < m->n; l++)
        m->lanes[l] = promote_lane_of(w, from, l);
}

static void promote_take_insert(struct words *w, LLVMValueRef i, struct made *m)
{
    uint64_t at = LLVMConstIntGetZExtValue(LLVMGetOperand(i, 2));
    promote_take_lanes(w, LLVMGetOperand(i, 0), m);
    m->is_moved |= is_moved(w, LLVMGetOperand(i, 1));
    m->lanes[at] = promote_lane_of(w, LLVMGetOperand(i, 1), 0);
}

static void promote_take_extract(struct words *w, LLVMValueRef i, struct made *m)
{
    uint64_t at = LLVMConstIntGetZExtValue(LLVMGetOperand(i, 1));
    m->is_moved = is_moved(w, LLVMGetOperand(i, 0));
    m->lanes[0] = promote_lane_of(w, LLVMGetOperand(i, 0), (unsigned)at);
}

static void promote_take_select(struct words *w, LLVMValueRef i, struct made *m)
{
    for (unsigned l = 0; l < m->n; l++) {
        LLVMValueRef which = LLVMGetAggregateElement(LLVMGetOperand(i, 0), l);
        bool first = LLVMIsAConstantInt(which) && LLVMConstIntGetZExtValue(which);
        m->lanes[l] = promote_lane_of(w, LLVMGetOperand(i, first ? 1 : 2), l);
    }
    m->is_moved = is_moved(w, LLVMGetOperand(i, 1)) || is_moved(w, LLVMGetOperand(i, 2));
}

static bool promote_lane_is_constant(LLVMValueRef v, unsigned n)
{
    return LLVMIsAConstantInt(v) && LLVMConstIntGetZExtValue(v) < n;
}

/* Does it only put words elsewhere? Notes which. */
static bool promote_take_move(struct words *w, LLVMValueRef i)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    unsigned n = gen_promote_words_in(LLVMTypeOf(i));
    LLVMValueRef from = LLVMGetNumOperands(i) ? LLVMGetOperand(i, 0) : NULL;
    unsigned nfrom = from ? gen_promote_words_in(LLVMTypeOf(from)) : 0;
    bool moves = op == LLVMShuffleVector   ? nfrom > 0
                 : op == LLVMInsertElement ? promote_lane_is_constant(LLVMGetOperand(i, 2), n)
                 : op == LLVMExtractElement
                     ? nfrom > 0 && promote_lane_is_constant(LLVMGetOperand(i, 1), nfrom)
                 : op == LLVMBitCast ? nfrom == n
                                     : op == LLVMSelect && n > 1 && LLVMIsConstant(from);
    if (!n || !moves)
        return false;
    struct made *m = promote_made_new(w, i);
    if (op == LLVMShuffleVector)
        promote_take_shuffle(w, i, m);
    else if (op == LLVMInsertElement)
        promote_take_insert(w, i, m);
    else if (op == LLVMExtractElement)
        promote_take_extract(w, i, m);
    else if (op == LLVMSelect)
        promote_take_select(w, i, m);
    else
        promote_take_lanes(w, from, m);
    return true;
}

/* ---- values out of lanes */

static LLVMTypeRef promote_i32_of(LLVMValueRef v)
{
    return LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(v)));
}

static LLVMTypeRef promote_vector_of(LLVMValueRef v, unsigned n)
{
    return LLVMVectorType(promote_i32_of(v), n);
}

static LLVMValueRef promote_shuffle(struct words *w, LLVMValueRef a, LLVMValueRef b,
                                    const int *from, unsigned n)
{
    LLVMValueRef pick[GEN_LANES];
    for (unsigned l = 0; l < n; l++)
        pick[l] = from[l] < 0 ? LLVMGetPoison(promote_i32_of(a))
                              : LLVMConstInt(promote_i32_of(a), (unsigned)from[l], false);
    return LLVMBuildShuffleVector(w->b, a, b ? b : LLVMGetPoison(LLVMTypeOf(a)),
                                  LLVMConstVector(pick, n), "");
}

/* As a vector of words as long as half a warp. */
static LLVMValueRef promote_widen(struct words *w, LLVMValueRef v)
{
    unsigned n = gen_promote_words_in(LLVMTypeOf(v));
    int from[GEN_LANES];
    if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMVectorTypeKind) {
        LLVMValueRef x = LLVMBuildBitCast(w->b, v, promote_i32_of(v), "");
        return LLVMBuildInsertElement(w->b, LLVMGetPoison(promote_vector_of(v, GEN_LANES)), x,
                                      LLVMConstInt(promote_i32_of(v), 0, false), "");
    }
    v = LLVMBuildBitCast(w->b, v, promote_vector_of(v, n), "");
    if (n == GEN_LANES)
        return v;
    for (unsigned l = 0; l < GEN_LANES; l++)
        from[l] = l < n ? (int)l : -1;
    return promote_shuffle(w, v, NULL, from, GEN_LANES);
}

/* Lanes of two values, each where it belongs. */
static LLVMValueRef promote_pick_two(struct words *w, const struct lane *lanes, LLVMValueRef a,
                                     LLVMValueRef b)
{
    int from[GEN_LANES];
    bool in_place = !b;
    for (unsigned l = 0; l < GEN_LANES; l++) {
        from[l] = lanes[l].value == a        ? (int)lanes[l].number
                  : b && lanes[l].value == b ? (int)(GEN_LANES + lanes[l].number)
                                             : -1;
        in_place &= from[l] < 0 || from[l] == (int)l;
    }
    LLVMValueRef x = promote_widen(w, a);
    return in_place ? x : promote_shuffle(w, x, b ? promote_widen(w, b) : NULL, from, GEN_LANES);
}

/* A value of all lanes, of any number of results. */
static LLVMValueRef promote_gather(struct words *w, const struct lane *lanes, LLVMValueRef any)
{
    LLVMValueRef sources[GEN_LANES], x = NULL;
    unsigned n = 0, from_of[GEN_LANES];
    for (unsigned l = 0; l < GEN_LANES; l++) {
        unsigned s = 0;
        while (lanes[l].value && s < n && sources[s] != lanes[l].value)
            s++;
        if (lanes[l].value && s == n)
            sources[n++] = lanes[l].value;
        from_of[l] = s;
    }
    if (!n)
        return LLVMGetPoison(promote_vector_of(any, GEN_LANES));
    for (unsigned s = 0; s < n; s += 2) {
        LLVMValueRef y = promote_pick_two(w, lanes, sources[s], s + 1 < n ? sources[s + 1] : NULL);
        int from[GEN_LANES];
        for (unsigned l = 0; l < GEN_LANES; l++)
            from[l] = (int)(lanes[l].value && from_of[l] / 2 == s / 2 ? GEN_LANES + l : l);
        x = x ? promote_shuffle(w, x, y, from, GEN_LANES) : y;
    }
    return x;
}

struct key {
    LLVMTypeRef type;
    struct lane lanes[GEN_LANES];
};

static struct hd_str promote_key_of(struct words *w, LLVMTypeRef type, const struct lane *lanes,
                                    unsigned n)
{
    struct key *key = hd_arena_new(&w->arena, struct key);
    key->type = type;
    for (unsigned l = 0; l < n; l++) {
        key->lanes[l].value = lanes[l].value;
        key->lanes[l].number = lanes[l].number;
    }
    return (struct hd_str){(const char *)key, sizeof(*key)};
}

/* A value of `type` out of lanes, made before `at` unless there is one. */
static LLVMValueRef promote_value_of(struct words *w, LLVMTypeRef type, const struct lane *of,
                                     unsigned n, LLVMValueRef at)
{
    struct lane lanes[GEN_LANES] = {{NULL, 0}};
    struct hd_str key = promote_key_of(w, type, of, n);
    LLVMValueRef x = hd_map_get(&w->values, key);
    int from[GEN_LANES];
    if (x)
        return x;
    LLVMPositionBuilderBefore(w->b, at);
    memcpy(lanes, of, n * sizeof(*of));
    bool scalar = LLVMGetTypeKind(type) != LLVMVectorTypeKind;
    if (scalar && lanes[0].value &&
        LLVMGetTypeKind(LLVMTypeOf(lanes[0].value)) == LLVMVectorTypeKind)
        x = LLVMBuildExtractElement(w->b, lanes[0].value,
                                    LLVMConstInt(promote_i32_of(at), lanes[0].number, false), "");
    else if (scalar)
        x = lanes[0].value ? lanes[0].value : LLVMGetPoison(type);
    else
        x = promote_gather(w, lanes, at);
    for (unsigned l = 0; l < n; l++)
        from[l] = (int)l;
    if (!scalar && n < GEN_LANES)
        x = promote_shuffle(w, x, NULL, from, n);
    x = LLVMBuildBitCast(w->b, x, type, "");
    w->no_memory |= !hd_map_put(&w->values, key, x);
    return x;
}

/* ---- blocks */

static bool promote_has_block(const struct words *w, LLVMBasicBlockRef block)
{
    for (unsigned i = 0; i < w->nblocks; i++) {
        if (w->blocks[i] == block)
            return true;
    }
    return false;
}

static bool promote_is_elsewhere(const struct words *w, LLVMValueRef user)
{
    return LLVMIsAPHINode(user) || !promote_has_block(w, LLVMGetInstructionParent(user));
}

/* Those who use it in other blocks get what it is made of. */
static void promote_use_elsewhere(struct words *w, LLVMValueRef i, const struct made *m)
{
    LLVMUseRef next;
    for (LLVMUseRef use = LLVMGetFirstUse(i); use; use = next) {
        LLVMValueRef user = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (!promote_is_elsewhere(w, user))
            continue;
        LLVMValueRef x =
            promote_value_of(w, LLVMTypeOf(i), m->lanes, m->n, LLVMGetNextInstruction(i));
        if (x == i)
            return;
        for (int o = 0; o < LLVMGetNumOperands(user); o++) {
            if (LLVMGetOperand(user, (unsigned)o) == i)
                LLVMSetOperand(user, (unsigned)o, x);
        }
        next = LLVMGetFirstUse(i); /* whose list has changed */
    }
}

static bool promote_touches_memory(LLVMValueRef i)
{
    return LLVMIsALoadInst(i) || LLVMIsAStoreInst(i) || LLVMIsACallInst(i) || LLVMIsAFenceInst(i) ||
           LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i);
}

static bool promote_is_intrinsic(LLVMValueRef i)
{
    return LLVMIsALoadInst(i) || LLVMIsAStoreInst(i) || LLVMIsAIntrinsicInst(i);
}

static bool promote_is_pointer(LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        type = LLVMGetElementType(type);
    return LLVMGetTypeKind(type) == LLVMPointerTypeKind;
}

/* Are all accesses of the window known? -1: no; else how many stores. */
static int promote_block_fits(const struct words *w, LLVMBasicBlockRef block)
{
    int stores = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
        struct gen_promote_access a;
        if (!promote_touches_memory(i))
            continue;
        bool known = gen_promote_access_of(w->cta, i, &a);
        stores += known && a.is_store;
        if (!known && !promote_is_intrinsic(i))
            return -1;
        for (int o = 0; !known && o < LLVMGetNumOperands(i); o++) {
            LLVMValueRef x = LLVMGetOperand(i, (unsigned)o);
            if (promote_is_pointer(LLVMTypeOf(x)) && gen_reaches_window(w->cta, x))
                return -1;
        }
    }
    return stores;
}

static void promote_take_load(struct words *w, LLVMValueRef i, const struct gen_promote_access *a)
{
    struct made *m = promote_made_new(w, i);
    for (unsigned l = 0; l < a->n; l++) {
        struct word *word = a->word[l] < 0 ? NULL : &w->words[a->word[l]];
        if (!word) {
            m->lanes[l] = a->value ? promote_lane_of(w, a->value, l) : (struct lane){NULL, 0};
            continue;
        }
        m->is_moved |= word->is_known;
        if (!word->is_known)
            *word = (struct word){{i, l}, true, false};
        m->lanes[l] = word->lane;
    }
}

/* Values are aligned to 8 bytes. */
static uint64_t promote_lane_key(const struct lane *lane)
{
    return (uint64_t)(uintptr_t)lane->value << 1 | lane->number;
}

static struct lane promote_at_home(struct words *w, struct lane lane)
{
    const struct lane *home =
        lane.value ? hd_map_get_u64(&w->homes, promote_lane_key(&lane)) : NULL;
    return home ? *home : lane;
}

static void promote_take_store(struct words *w, const struct gen_promote_access *a)
{
    for (unsigned l = 0; l < a->n; l++) {
        if (a->word[l] >= 0)
            w->words[a->word[l]] =
                (struct word){promote_at_home(w, promote_lane_of(w, a->value, l)), true, true};
    }
}

/* The same before NaNs were made canonical; false: that was not done with all of it. */
static bool promote_lanes_before(const struct made *m, struct lane *out)
{
    for (unsigned l = 0; l < m->n; l++) {
        out[l] = m->lanes[l];
        if (!out[l].value)
            continue;
        out[l].value = gen_before_canonical(out[l].value);
        if (!out[l].value)
            return false;
    }
    return true;
}

/* Operands that were moved are made out of what they are. */
static void promote_use_lanes(struct words *w, LLVMValueRef i)
{
    for (int o = 0; o < LLVMGetNumOperands(i); o++) {
        LLVMValueRef x = LLVMGetOperand(i, (unsigned)o);
        const struct made *m = promote_made_of(w, x);
        struct lane before[GEN_LANES];
        if (!m || !m->is_moved)
            continue;
        bool raw = gen_computes_floats(i) && promote_lanes_before(m, before);
        LLVMSetOperand(i, (unsigned)o,
                       promote_value_of(w, LLVMTypeOf(x), raw ? before : m->lanes, m->n, i));
    }
}

static bool promote_only_moves(LLVMValueRef i)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    return op == LLVMShuffleVector || op == LLVMInsertElement || op == LLVMExtractElement ||
           op == LLVMBitCast || op == LLVMSelect || op == LLVMStore || op == LLVMCall;
}

static bool promote_is_computed_with(LLVMValueRef i)
{
    LLVMUseRef use = LLVMGetFirstUse(i);
    while (use && promote_only_moves(LLVMGetUser(use)))
        use = LLVMGetNextUse(use);
    return use;
}

static bool promote_is_of_one(const struct made *m)
{
    LLVMValueRef one = NULL;
    for (unsigned l = 0; l < m->n; l++) {
        if (m->lanes[l].value && one && m->lanes[l].value != one)
            return false;
        one = m->lanes[l].value ? m->lanes[l].value : one;
    }
    return true;
}

/*
 * What is needed as a whole is put together here, once, and from then on words that it is stored to
 * are its lanes. Else who loads and moves it again would get it from more and more results.
 */
static void promote_put_together(struct words *w, LLVMValueRef i, struct made *m)
{
    LLVMValueRef x = promote_value_of(w, LLVMTypeOf(i), m->lanes, m->n, LLVMGetNextInstruction(i));
    for (unsigned l = 0; l < m->n; l++) {
        struct lane *home = hd_arena_new(&w->arena, struct lane);
        *home = (struct lane){x, l};
        if (!m->lanes[l].value)
            continue;
        w->no_memory |= !hd_map_put_u64(&w->homes, promote_lane_key(&m->lanes[l]), home);
        m->lanes[l] = *home;
    }
}

/* A permute that was there serves others; one that is needed elsewhere is made here. */
static void promote_note_made(struct words *w, LLVMValueRef i)
{
    struct made *m = promote_made_of(w, i);
    if (!m->is_moved) {
        struct hd_str key = promote_key_of(w, LLVMTypeOf(i), m->lanes, m->n);
        if (!hd_map_get(&w->values, key))
            w->no_memory |= !hd_map_put(&w->values, key, i);
        return;
    }
    if (promote_is_computed_with(i) && !promote_is_of_one(m))
        promote_put_together(w, i, m);
    promote_use_elsewhere(w, i, m);
}

/* The changed words from `first` on, `n` of them in a row. */
static void promote_write_back(struct words *w, LLVMValueRef window, unsigned first, unsigned n,
                               LLVMValueRef at)
{
    struct lane lanes[GEN_LANES];
    LLVMTypeRef i64 = LLVMTypeOf(window);
    LLVMTypeRef ptr = LLVMPointerTypeInContext(LLVMGetTypeContext(i64), 0);
    assert(n && n <= GEN_LANES);
    for (unsigned l = 0; l < n; l++)
        lanes[l] = w->words[first + l].lane;
    LLVMTypeRef type = n > 1 ? promote_vector_of(at, n) : promote_i32_of(at);
    LLVMValueRef x = promote_value_of(w, type, lanes, n, at);
    LLVMPositionBuilderBefore(w->b, at);
    LLVMValueRef to = LLVMBuildAdd(w->b, window, LLVMConstInt(i64, first * GEN_WORD_B, false), "");
    LLVMSetAlignment(LLVMBuildStore(w->b, x, LLVMBuildIntToPtr(w->b, to, ptr, "")), GEN_WORD_B);
}

/* How many words from a changed one on are stored at once. Where few are changed in a row, those
 * between that are known are stored as well. */
static unsigned promote_in_row(const struct words *w, unsigned first)
{
    unsigned row = 0, n = 0, most = HD_MIN(GEN_LANES, GEN_WORDS_MAX - first);
    while (row < most && w->words[first + row].is_changed)
        row++;
    for (unsigned i = row; row < GEN_LANES / 2 && i < most && w->words[first + i].is_known; i++)
        n = w->words[first + i].is_changed ? i + 1 : n;
    n = HD_MAX(n, row);
    while (!hd_is_pow2(n)) /* one register */
        n--;
    return n;
}

static void promote_write_all(struct words *w, LLVMValueRef window, LLVMValueRef at)
{
    for (unsigned i = 0, n; i < GEN_WORDS_MAX; i += n) {
        n = 1;
        if (!w->words[i].is_changed)
            continue;
        n = promote_in_row(w, i);
        promote_write_back(w, window, i, n, at);
    }
}

static void promote_erase_unused(struct words *w, LLVMBasicBlockRef block)
{
    LLVMValueRef before;
    for (LLVMValueRef i = LLVMGetLastInstruction(block); i; i = before) {
        before = LLVMGetPreviousInstruction(i);
        if (promote_made_of(w, i) && !LLVMGetFirstUse(i))
            LLVMInstructionEraseFromParent(i);
    }
}

/* Returns where the window begins, as a store has it. */
static LLVMValueRef promote_forward_in(struct words *w, LLVMBasicBlockRef block)
{
    LLVMValueRef next, window = NULL;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = next) {
        struct gen_promote_access a;
        next = LLVMGetNextInstruction(i);
        bool known = gen_promote_access_of(w->cta, i, &a);
        if (known && a.is_store) {
            promote_take_store(w, &a);
            window = gen_window_start(i);
            LLVMInstructionEraseFromParent(i);
        } else if (known) {
            promote_take_load(w, i, &a);
            promote_note_made(w, i);
        } else if (promote_take_move(w, i)) {
            promote_note_made(w, i);
        } else {
            promote_use_lanes(w, i);
        }
    }
    return window;
}

static bool promote_is_end(LLVMBasicBlockRef block)
{
    return LLVMIsAUnreachableInst(LLVMGetBasicBlockTerminator(block));
}

/* The block that control goes to, faults aside, if it comes from nowhere else; NULL: none. */
static LLVMBasicBlockRef promote_next_of(LLVMBasicBlockRef block)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    LLVMBasicBlockRef next = NULL;
    for (unsigned s = 0; LLVMIsABranchInst(last) && s < LLVMGetNumSuccessors(last); s++) {
        LLVMBasicBlockRef to = LLVMGetSuccessor(last, s);
        if (promote_is_end(to))
            continue;
        if (next)
            return NULL;
        next = to;
    }
    for (LLVMUseRef use = next ? LLVMGetFirstUse(LLVMBasicBlockAsValue(next)) : NULL; use;
         use = LLVMGetNextUse(use)) {
        if (LLVMGetUser(use) != last)
            return NULL;
    }
    return next;
}

/* As many blocks as fit; false: nothing is stored in them. */
static bool promote_blocks_take(struct words *w, LLVMBasicBlockRef block)
{
    bool stores = false;
    for (w->nblocks = 0; block && w->nblocks < MAX_BLOCKS; block = promote_next_of(block)) {
        int n = promote_block_fits(w, block);
        if (n < 0)
            break;
        w->blocks[w->nblocks++] = block;
        stores |= n > 0;
    }
    return stores;
}

static void promote_forward_all(struct words *w)
{
    LLVMValueRef window = NULL;
    for (unsigned i = 0; i < w->nblocks; i++) {
        LLVMValueRef from = promote_forward_in(w, w->blocks[i]);
        window = from ? from : window;
    }
    promote_write_all(w, window, LLVMGetBasicBlockTerminator(w->blocks[w->nblocks - 1]));
    for (unsigned i = w->nblocks; i-- > 0;)
        promote_erase_unused(w, w->blocks[i]);
}

static void promote_words_init(struct words *w, LLVMValueRef function)
{
    memset(w->words, 0, sizeof(w->words));
    hd_arena_init(&w->arena);
    hd_map_init(&w->made);
    hd_map_init(&w->homes);
    hd_map_init(&w->values);
    w->cta = LLVMGetParam(function, 0);
}

static void promote_words_fini(struct words *w)
{
    hd_map_fini(&w->values);
    hd_map_fini(&w->homes);
    hd_map_fini(&w->made);
    hd_arena_fini(&w->arena);
}

bool gen_promote_shared(struct gen_unit *u)
{
    struct words *w = hd_new(struct words);
    bool changed = false;
    if (!w) {
        u->no_memory = true;
        return false;
    }
    w->b = LLVMCreateBuilderInContext(u->ctx);
    LLVMValueRef f = LLVMGetNamedFunction(u->mod, "heddle_run_cta");
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
        if (strncmp(LLVMGetBasicBlockName(b), "unrolled", 8))
            continue;
        promote_words_init(w, f);
        if (promote_blocks_take(w, b)) {
            promote_forward_all(w);
            changed = true;
        }
        w->no_memory |= w->arena.failed;
        promote_words_fini(w);
    }
    u->no_memory |= w->no_memory;
    LLVMDisposeBuilder(w->b);
    hd_free(w);
    return changed;
}
