/*
 * What compiled code depends on: the one list from which every key of the code cache is made.
 *
 * A cache entry is served to whoever asks with the same key, so whatever can change the code must
 * be a row here. A row that is left zero says "does not apply to this entry" (the optimised IR of a
 * kernel knows no CPU); `stage` keeps entries of different kinds apart. Adding an input is adding a
 * row: the key, and the test that changes every input and expects another key, follow.
 *
 *     struct obj_fingerprint print;
 *     obj_fingerprint_init(&print, "object");   // sources, environment
 *     print.program = key_of_the_ptx;
 *     print.kernel = "saxpy";
 *     struct obj_cache_key key = obj_fingerprint_key(&print);
 *
 * Plain data; strings are borrowed until obj_fingerprint_key().
 */
#ifndef HD_OBJ_FINGERPRINT_H
#define HD_OBJ_FINGERPRINT_H

#include "obj/cache.h"

/* kind (STR, U64 or KEY), name, doc */
#define OBJ_FINGERPRINT_LIST(X)                                                                    \
    X(STR, stage, "what the entry is: program, checked, object, isa")                              \
    X(U64, sources, "hash of Heddle's own sources and tables that take part in compiling")         \
    X(STR, skip_passes, "HEDDLE_SKIP_PASS")                                                        \
    X(STR, codegen, "HEDDLE_CODEGEN")                                                              \
    X(U64, options, "struct compile_options")                                                      \
    X(KEY, program, "the PTX of all linked units, with names, in order")                           \
    X(STR, kernel, "name of the kernel")                                                           \
    X(U64, launch_class, "enum jit_launch_class")                                                  \
    X(U64, form, "how much code generation may do: form or tier")                                  \
    X(U64, path, "enum jit_path")                                                                  \
    X(U64, strict, "whether generated code checks what it touches")                                \
    X(STR, features, "CPU features beyond the path's")                                             \
    X(U64, registers, "how many registers of a thread code may use; 0: as the kernel says")        \
    X(U64, profile, "hash of the profile by which code is laid out; 0: none")                      \
    X(STR, tuning, "what was chosen for the kernel: a tune_point")                                 \
    X(STR, llvm, "version and identity of the code generator's LLVM")

struct obj_fingerprint {
#define OBJ_FINGERPRINT_TYPE_STR const char *
#define OBJ_FINGERPRINT_TYPE_U64 uint64_t
#define OBJ_FINGERPRINT_TYPE_KEY struct obj_cache_key
#define X(kind, name, doc)       OBJ_FINGERPRINT_TYPE_##kind name;
    OBJ_FINGERPRINT_LIST(X)
#undef X
};

/* All zero, but for what does not depend on the caller: sources and environment. */
void obj_fingerprint_init(struct obj_fingerprint *print, const char *stage);
struct obj_cache_key obj_fingerprint_key(const struct obj_fingerprint *print);

#endif
