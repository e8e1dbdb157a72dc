/*
 * A fuzz target is one function. It may do anything but crash, leak, hang or read outside its
 * input; the bytes are not NUL-terminated. Returns 0.
 */
#ifndef HD_TESTS_FUZZ_H
#define HD_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B);
/* Optional: a target's own way of changing an input in place, in max_B bytes; the new size. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size_B, size_t max_B, unsigned seed);

#endif
