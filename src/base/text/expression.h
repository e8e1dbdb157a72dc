/* Regular expressions that a user gave. */
#ifndef HD_BASE_TEXT_EXPRESSION_H
#define HD_BASE_TEXT_EXPRESSION_H

#include <regex.h>

#include "base/compiler.h"

/*
 * A POSIX extended regular expression, without places of matches. 0, or an error of regcomp();
 * REG_ESPACE as well when the C library would take megabytes or seconds for it: it copies what "+"
 * and "{n}" repeat, so each of "a++++" doubles what is before it, and it walks every way through
 * a sequence of things that may be empty, "((a*|b*)(a*|b*)...)*".
 */
int hd_regex_compile(regex_t *out, const char *text) HD_MUST_CHECK;

#endif
