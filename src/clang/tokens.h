/*
 * Tokens of preprocessed C++: names, numbers, strings, single signs. What changes a source before
 * clang sees it steps over them, so that nothing in strings and names is taken for something else.
 *
 *     for (const char *at = text; *at; at = clang_behind_token(at, text)) ...
 */
#ifndef HD_CLANG_TOKENS_H
#define HD_CLANG_TOKENS_H

#include <stdbool.h>

bool clang_is_of_name(char c);
/* Behind the token at `at`; of a line marker or a pragma, behind the line. */
const char *clang_behind_token(const char *at, const char *text);
const char *clang_skip_blanks(const char *at);
const char *clang_back_over_blanks(const char *at, const char *text);
/* Does the text up to `at` end with the word? */
bool clang_ends_with(const char *at, const char *text, const char *word);
/* The first of `what` outside of brackets; NULL. */
const char *clang_find_outside(const char *at, const char *text, const char *what);

#endif
