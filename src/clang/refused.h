/*
 * Where clang has refused a name, in preprocessed text: its log names a file, a line and the name,
 * and line markers say which line of the text that is.
 *
 *     clang_refusals_t found = {0};
 *     bool ok = clang_refusals_read(text, log, &found);
 */
#ifndef HD_CLANG_REFUSED_H
#define HD_CLANG_REFUSED_H

#include <stdbool.h>

#include "base/vec.h"

enum clang_refused {
    CLANG_REFUSED_MEMBER,   /* of a dependent base class, called without `this->` */
    CLANG_REFUSED_TYPE,     /* without `typename`; the place is where its qualified name begins */
    CLANG_REFUSED_VARIABLE, /* of a class that is not literal, in a constexpr function */
    CLANG_REFUSED_EARLIER   /* a declaration that is constexpr, unlike a later one */
};

struct clang_refusal {
    enum clang_refused what;
    const char *at; /* in the text */
};
typedef HD_VEC(struct clang_refusal) clang_refusals_t;

/*
 * In the text's order. The log is without colours. `out_lost`: a name is not on its line, as where
 * a macro has put it there; clang tells the line of the text when it compiles the text. False: out
 * of memory.
 */
bool clang_refusals_read(const char *text, const char *log, clang_refusals_t *out, bool *out_lost)
    HD_MUST_CHECK;

#endif
