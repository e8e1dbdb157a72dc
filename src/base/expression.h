/* Regular expressions that a user gave. */
#ifndef HD_BASE_EXPRESSION_H
#define HD_BASE_EXPRESSION_H

#include <regex.h>

#include "base/compiler.h"

/*
 * A POSIX extended regular expression, without places of matches. 0, or an error of regcomp();
 * REG_ESPACE as well when its repetitions of repetitions would take megabytes: the C library copies
 * what "+" and "{n}" repeat, so each of "a++++" doubles what is before it.
 */
int hd_regex_compile(regex_t *out, const char *text) HD_MUST_CHECK;

#endif
