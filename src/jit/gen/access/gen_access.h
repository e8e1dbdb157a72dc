/*
 * Where the lanes of a load or store access memory: gen_access.c makes it, gen_mem.c uses it.
 */
#ifndef HD_JIT_GEN_ACCESS_GEN_ACCESS_H
#define HD_JIT_GEN_ACCESS_GEN_ACCESS_H

#include "jit/gen/gen.h"

/* Where the lanes access memory; offsets of vector elements are added per element. */
enum gen_access_kind { GEN_ACCESS_U, GEN_ACCESS_A, GEN_ACCESS_INDEX, GEN_ACCESS_V };

struct gen_access {
    enum gen_access_kind kind;
    LLVMValueRef base[GEN_HALVES];  /* U, INDEX: [0] i64; A: i64 per half */
    int64_t stride;                 /* A; bytes */
    LLVMValueRef index[GEN_HALVES]; /* INDEX: <16 x i32>; V: <16 x i64> */
    int64_t scale;                  /* INDEX */
    bool index_signed;
    bool strong;           /* not weak: each lane's access happens as written */
    int64_t offset;        /* constant bytes */
    LLVMValueRef wraps;    /* A of an affine index: i1 "not contiguous after all", or NULL */
    LLVMValueRef alt_base; /* then the INDEX form, for the slow path */
    enum gen_access_kind alt_kind;
    LLVMValueRef
        alt_index[GEN_HALVES];   /* of a guess: the form it came from; NULL = from the shape */
    const struct ir_value *line; /* of a guess: lanes are in line unless `wraps`; else NULL */
};

static inline LLVMValueRef gen_ptr_at(struct gen *g, LLVMValueRef address, int64_t offset)
{
    LLVMValueRef p = LLVMBuildIntToPtr(g->b, address, g->t->ptr, "");
    return gen_gep(g, p, (uint64_t)offset);
}

struct gen_access gen_access_of(struct gen *g, const struct ir_instr *in);

/* Takes lane addresses for contiguous, which `wraps` tests at run time; `a` may stay as it is. */
void gen_access_guess(struct gen *g, const struct ir_instr *in, struct gen_access *a,
                      uint64_t size_B);

/* The form that is always right, for the cold side of `wraps`. */
void gen_access_to_index(struct gen *g, struct gen_access *a, const struct ir_instr *in);

/* At the start of that side: what is left to make and check of it there. */
void gen_access_stray(struct gen *g, struct gen_access *a, uint64_t size_B);

/*
 * What is an error on a GPU, so it is one here: a misaligned access of an active lane, and in
 * strict code one of memory that a discrete GPU cannot reach. size_B: of all elements together.
 */
void gen_access_check(struct gen *g, const struct ir_instr *in, struct gen_access *a,
                      uint64_t size_B);

/* gen_strict.c: only the latter. */
void gen_strict_check(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                      uint64_t size_B);

/* <16 x i64> per half. */
void gen_access_addresses(struct gen *g, const struct gen_access *a, LLVMValueRef out[GEN_HALVES]);

/* <16 x ptr> of half h, `more` bytes on. */
LLVMValueRef gen_access_lanes(struct gen *g, const struct gen_access *a, int h, int64_t more);

/* gen_prefetch.c: what an access by lines needs in the loop's next iteration, or in the CTAs that
 * follow. */
void gen_prefetch_next(struct gen *g, const struct ir_instr *in, const struct gen_access *a);
/* Bytes (i64) to what a load of global memory reads in the loop's next iteration; 0: not known, or
 * not to be prefetched. */
LLVMValueRef gen_prefetch_distance(struct gen *g, const struct ir_instr *in);
/* The parameter that an address is made from by sums; NULL: none. */
const struct ir_value *gen_root_of(const struct ir_value *address);

/* gen_nontemporal.c: may the store go past the caches? Does it (i1)? */
bool gen_nontemporal_fits(const struct gen *g, const struct ir_instr *in,
                          const struct gen_access *a);
LLVMValueRef gen_nontemporal_test(struct gen *g, const struct gen_access *a);

/* gen_pieces.c: 16 bytes for each lane, at addresses that nothing is known of; checked before. */
bool gen_are_pieces(const struct gen *g, const struct ir_instr *in, const struct gen_access *a);
/* n elements each: vectors of half-warps. */
void gen_pieces_load(struct gen *g, const struct gen_access *a, LLVMTypeRef elem, unsigned n,
                     LLVMValueRef out[][GEN_HALVES]);
void gen_pieces_store(struct gen *g, const struct gen_access *a, LLVMValueRef x[][GEN_HALVES],
                      unsigned n);

/* The same for four words each of the lanes of half a warp, all of which run. */
bool gen_are_fours(const struct gen *g, const struct ir_instr *in, const struct gen_access *a);
void gen_fours_load(struct gen *g, const struct gen_access *a, LLVMValueRef out[][GEN_HALVES]);
void gen_fours_store(struct gen *g, const struct gen_access *a, LLVMValueRef x[][GEN_HALVES]);

/* i1: any lane of half h is active. */
LLVMValueRef gen_half_active(struct gen *g, int h);

#endif
