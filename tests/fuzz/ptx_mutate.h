/*
 * Mutations for targets that read PTX: bytes turned at random rarely stay PTX, so most of these
 * work on whole words and statements. Include it in one file of a target.
 */
#ifndef HD_TESTS_FUZZ_PTX_MUTATE_H
#define HD_TESTS_FUZZ_PTX_MUTATE_H

#include <string.h>

#include "base/compiler.h"
#include "fuzz/fuzz.h"

static uint64_t random_below(uint64_t *state, uint64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return n ? (*state >> 33) % n : 0;
}

struct span {
    size_t at, len;
};

static bool is_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '%' ||
           c == '_' || c == ':';
}

/* The word, or the statement up to its ';', around a random place. */
static struct span pick(const uint8_t *text, size_t size_B, bool word, uint64_t *state)
{
    size_t at = random_below(state, size_B), end;
    if (word) {
        while (at && is_word(text[at - 1]))
            at--;
        for (end = at; end < size_B && is_word(text[end]);)
            end++;
    } else {
        while (at && text[at - 1] != ';' && text[at - 1] != '{' && text[at - 1] != '\n')
            at--;
        for (end = at; end < size_B && text[end] != ';';)
            end++;
        end += end < size_B;
    }
    return (struct span){at, end - at};
}

/* Replaces `old` by `len` bytes; 0 when there is no room. */
static size_t splice(uint8_t *text, size_t size_B, size_t max_B, struct span old,
                     const uint8_t *bytes, size_t len)
{
    if (size_B - old.len + len > max_B)
        return 0;
    memmove(text + old.at + len, text + old.at + old.len, size_B - old.at - old.len);
    memcpy(text + old.at, bytes, len);
    return size_B - old.len + len;
}

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size_B, size_t max_B) __attribute__((weak));

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size_B, size_t max_B, unsigned seed)
{
    static const char *const words[] = {"f32",    "f64",    "f16", "s32", "u32",   "b32",
                                        "u64",    "b64",    "b16", "s16", "pred",  "b128",
                                        "-1",     "0x20",   "v2",  "v4",  "f16x2", "bf16",
                                        "shared", "global", "sat", "ftz", "rz"};
    uint64_t state = seed;
    uint8_t copy[256];
    uint64_t kind = random_below(&state, 8);
    if (kind < 2 || size_B < 2)
        return LLVMFuzzerMutate(bytes, size_B, max_B);
    bool word = kind < 5;
    struct span from = pick(bytes, size_B, word, &state), to = pick(bytes, size_B, word, &state);
    size_t len = HD_MIN(from.len, sizeof(copy)), n;
    memcpy(copy, bytes + from.at, len);
    if (kind == 2) {
        const char *text = words[random_below(&state, HD_COUNT_OF(words))];
        n = splice(bytes, size_B, max_B, to, (const uint8_t *)text, strlen(text));
    } else if (kind == 5) { /* one statement less */
        n = splice(bytes, size_B, max_B, to, copy, 0);
    } else if (kind == 6) { /* one more */
        n = splice(bytes, size_B, max_B, (struct span){to.at, 0}, copy, len);
    } else {
        n = splice(bytes, size_B, max_B, to, copy, len);
    }
    return n ? n : LLVMFuzzerMutate(bytes, size_B, max_B);
}

#endif
