/*
 * Names of C++ as people write them: "axpy(float *, int)" of "_Z4axpyPfi".
 *
 * The demangler is that of the C++ library, which every machine with a C++ program has; it is
 * opened when the first name needs it. Threads: any.
 */
#ifndef HD_BASE_DEMANGLE_H
#define HD_BASE_DEMANGLE_H

#include "base/str.h"

enum hd_demangle_how {
    HD_DEMANGLE_FULL,
    HD_DEMANGLE_SIMPLE, /* without result, template arguments and parameters: "axpy" */
};

/* Appends it. False: it is no name of C++, or there is no demangler; nothing is appended. */
bool hd_demangle(const char *name, enum hd_demangle_how how, struct hd_buf *out);
/* Appends it, or the name as it is. */
void hd_demangle_or_name(const char *name, enum hd_demangle_how how, struct hd_buf *out);

#endif
