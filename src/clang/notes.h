/*
 * What `__attribute__((annotate("kind", args)))` leaves in the IR of clang's front end:
 *
 *     @.str = private unnamed_addr constant [20 x i8] c"heddle.cluster_dims\00", ...
 *     @.args = private unnamed_addr constant { i32, i32 } { i32 2, i32 1 }, section "llvm.metadata"
 *     @llvm.global.annotations = ... [{ ptr, ptr, ptr, i32, ptr } { ptr @_Z1kPi, ptr @.str,
 *         ptr @.str1, i32 9, ptr @.args }, ...
 */
#ifndef HD_CLANG_NOTES_H
#define HD_CLANG_NOTES_H

#include "base/str.h"

struct clang_note {
    struct hd_str function, kind;
    const char *args; /* the text that defines them; "" when there are none */
};

struct clang_notes {
    const char *ir, *at, *end;
};

struct clang_notes clang_notes_of(const char *ir);
bool clang_notes_next(struct clang_notes *notes, struct clang_note *out);

/* What stands at "@name" or "@"name""; moves behind it. */
struct hd_str clang_symbol_at(const char **at);

#endif
