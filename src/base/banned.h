/*
 * Banned calls, included in front of every C file by the build (-include). Each has a safer or
 * clearer replacement; naming one is a compile error. Standard headers come first, because poison
 * would otherwise fire inside them.
 */
#if !defined(HD_BASE_BANNED_H) && !defined(__ASSEMBLER__)
#define HD_BASE_BANNED_H

#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef strcpy
#undef strcat
#undef sprintf
#undef vsprintf
#undef strtok
#undef atoi
#undef atol
#undef atoll
#undef atof
#undef gets
#undef alloca

/* strcpy, strcat, sprintf, vsprintf: snprintf or struct hd_buf. */
#pragma GCC poison strcpy strcat sprintf vsprintf
/* strtok: struct hd_str. */
#pragma GCC poison strtok
/* atoi and friends cannot report an error: hd_str_to_u64() or strtol(). */
#pragma GCC poison atoi atol atoll atof
/* gets has no bound; alloca has no failure. */
#pragma GCC poison gets alloca

#endif
