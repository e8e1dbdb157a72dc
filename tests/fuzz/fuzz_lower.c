/*
 * PTX text through the whole front half of the compiler: parse, check, lower, validate, optimise
 * (validating after every pass), lay out windows. What lowering accepts must be valid IR, and its
 * text must read back.
 *
 * Bytes turned at random rarely stay PTX, so half of the mutations work on whole lines and words.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "fuzz/fuzz.h"
#include "lower/lower.h"
#include "opt/opt.h"

#define INSTRS_MAX 3000 /* inlining may grow a program by design */

static void die(const char *what, struct ir_module *module)
{
    struct hd_buf text = {0};
    fprintf(stderr, "%s: %s\n", what, hd_error_message());
    ir_print_module(module, &text);
    fprintf(stderr, "%s\n", text.ptr ? text.ptr : "");
    abort();
}

static void read_again(struct ir_module *module)
{
    struct hd_buf text = {0};
    struct ir_module *again = NULL;
    ir_print_module(module, &text);
    if (text.ptr && ir_read_module(text.ptr, text.len, "again", &again) != HD_OK)
        die("the printed IR does not read", module);
    ir_module_destroy(again);
    hd_buf_fini(&text);
}

static size_t count_instrs(const struct ir_module *module)
{
    size_t n = 0;
    ir_foreach_func(func, module) {
        for (uint32_t b = 0; b < func->nblocks; b++) {
            ir_foreach_instr(instr, func->blocks[b])
                n++;
        }
    }
    return n;
}

static void compile(const struct ptx_module *ptx)
{
    struct opt_options options = {.validate = true};
    struct ir_module *module = NULL;
    if (lower_ptx(&ptx, 1, "fuzz", &module) != HD_OK)
        return;
    if (ir_validate(module) != HD_OK)
        die("lowering made invalid IR", module);
    read_again(module);
    if (count_instrs(module) < INSTRS_MAX) {
        enum hd_status status = opt_run(module, &options);
        if (status == HD_BAD_IR)
            die("a pass broke the IR", module);
        if (status == HD_OK)
            (void)!ir_layout_windows(module);
    }
    ir_module_destroy(module);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    struct hd_arena arena;
    struct ptx_module *module;

    hd_arena_init(&arena);
    if (ptx_parse(&arena, (const char *)bytes, size_B, "fuzz", &module) == HD_OK &&
        ptx_check(module) == HD_OK)
        compile(module);
    hd_arena_fini(&arena);
    return 0;
}

/* ---- mutation of words and statements; libFuzzer's interface */

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
