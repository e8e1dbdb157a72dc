/*
 * Words of a text as shells separate them: blanks and line ends between them, quotes of both kinds
 * keep blanks, and a backslash keeps what follows, except between single quotes.
 */
#ifndef HD_BASE_TEXT_WORDS_H
#define HD_BASE_TEXT_WORDS_H

#include "base/str.h"

/* Appends the next word at *at to an empty buffer and moves *at behind it; false at the end. */
bool hd_word_next(const char **at, struct hd_buf *out_word);

#endif
