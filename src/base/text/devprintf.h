/*
 * The device's printf: formats what a kernel's vprintf(format, args) call asks for.
 *
 * `args` is the packed buffer that compilers make for it: every argument at its natural alignment,
 * 4 bytes for int and smaller, 8 for long, long long, double and pointers. Conversions are those of
 * the CUDA programming guide:
 *
 *     %[flags][width][.precision][h|hh|l|ll|z|j|t]{d i o u x X c s p e E f F g G a A %}
 *
 * with `*` for width or precision. Sizes are those of the device ABI (long is 8 bytes), whatever
 * the host's are. A conversion that is none of these is printed as it stands and takes no argument.
 *
 * Pure; any thread.
 */
#ifndef HD_BASE_TEXT_DEVPRINTF_H
#define HD_BASE_TEXT_DEVPRINTF_H

#include "base/str.h"

/* How to read device memory; false = no such address. */
struct hd_devprintf_memory {
    bool (*read)(void *ctx, uint64_t address, void *out, size_t size_B);
    void *ctx;
};

/*
 * Appends to `out`. memory NULL: addresses are host addresses and valid. Returns what vprintf
 * returns on the device: the number of arguments printed, -1 for a NULL format, -2 when memory
 * could not be read (what was formatted before stays in `out`).
 */
int hd_devprintf(struct hd_buf *out, const struct hd_devprintf_memory *memory, uint64_t format,
                 uint64_t args);

#endif
