/*
 * Libraries of NVIDIA's that Heddle does not have, so that programs which are linked with them
 * load: every function fails, and says its name once. Names are tables, spec/absent; a library's
 * source is made of one by scripts/absent_library.py and consists of the macros below. What a
 * library can answer truly, its version and the names of statuses, is written beside this file.
 */
#ifndef HD_API_ABSENT_ABSENT_H
#define HD_API_ABSENT_ABSENT_H

#include "api/lib_base/lib_base.h"

/* What the library belongs to, and which version's interface it has. */
extern const struct lib_info absent_info;

#define ABSENT_PRODUCT(product, cudart_version, ...)                                               \
    const struct lib_info absent_info = {                                                          \
        .name = product, .version = {__VA_ARGS__}, .cudart = cudart_version};

/* Returns 64 bits: a status, a null pointer, a size, or cuFile's structure of two numbers. */
#define ABSENT(name, answer)                                                                       \
    HD_EXPORT int64_t name(void);                                                                  \
    int64_t name(void)                                                                             \
    {                                                                                              \
        static _Atomic bool said;                                                                  \
        lib_refuse(&absent_info, #name, &said);                                                    \
        return answer;                                                                             \
    }

/* STATUS function(libraryPropertyType, int *): 0, or what it returns for a wrong argument. */
#define ABSENT_PROPERTY(function, invalid)                                                         \
    HD_EXPORT int function(int type, int *value);                                                  \
    int function(int type, int *value)                                                             \
    {                                                                                              \
        return value && lib_property(&absent_info, type, value) ? 0 : (invalid);                   \
    }

#endif
