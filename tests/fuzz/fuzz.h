/*
 * A fuzz target is one function. It may do anything but crash, leak, hang or read outside its
 * input; the bytes are not NUL-terminated. Returns 0.
 */
#ifndef HD_TESTS_FUZZ_H
#define HD_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B);

#endif
