/* Words, images, text of the ISA: the first byte says which. What is taken comes back as it is. */
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "isa/image.h"

#include <string.h>

static void fuzz_words(const uint8_t *bytes, size_t size_B)
{
    for (; size_B >= ISA_WORD_BYTES; bytes += ISA_WORD_BYTES, size_B -= ISA_WORD_BYTES) {
        struct isa_insn insn;
        struct isa_word word, back;

        memcpy(&word, bytes, sizeof(word));
        if (isa_decode(word, &insn))
            continue;
        if (isa_encode(&insn, &back) || back.lo != word.lo || back.hi != word.hi)
            __builtin_trap();
    }
}

static bool same_kernel(const struct isa_kernel *a, const struct isa_kernel *b)
{
#define SAME(vec)                                                                                  \
    (a->vec.len == b->vec.len &&                                                                   \
     (!a->vec.len || !memcmp(a->vec.at, b->vec.at, a->vec.len * sizeof(*a->vec.at))))
    return !strcmp(a->name, b->name) &&
           !memcmp(a->properties, b->properties, sizeof(a->properties)) && SAME(words) &&
           SAME(literals) && a->relocs.len == b->relocs.len &&
           a->functions.len == b->functions.len && a->inlines.len == b->inlines.len &&
           a->lines.len == b->lines.len;
}

/* The listing of an image, assembled: an image of the same listing. */
static void fuzz_listing(const struct isa_image *image, const struct hd_buf *text)
{
    struct hd_buf messages, again;
    struct isa_image other;

    hd_buf_init(&messages);
    hd_buf_init(&again);
    if (isa_assemble(text->ptr, "listing", &other, &messages) != HD_OK)
        __builtin_trap();
    isa_disassemble_head(&other, &again);
    for (size_t i = 0; i < other.kernels.len; i++) {
        if (!same_kernel(&image->kernels.at[i], &other.kernels.at[i]))
            __builtin_trap();
        isa_disassemble(&other.kernels.at[i], ISA_LISTING_CONTROL | ISA_LISTING_WORDS, &again);
    }
    if (strcmp(again.ptr, text->ptr))
        __builtin_trap();
    isa_image_fini(&other);
    hd_buf_fini(&messages);
    hd_buf_fini(&again);
}

/* Written and read again, an image is what it was; so is its listing. */
static void fuzz_image(const struct isa_image *image)
{
    struct hd_buf file, text;
    struct isa_image read;

    hd_buf_init(&file);
    hd_buf_init(&text);
    if (isa_image_write(image, &file) != HD_OK ||
        isa_image_read(file.ptr, file.len, &read) != HD_OK ||
        read.kernels.len != image->kernels.len)
        __builtin_trap();
    isa_disassemble_head(image, &text);
    for (size_t i = 0; i < read.kernels.len; i++) {
        const struct isa_kernel *a = &image->kernels.at[i], *b = &read.kernels.at[i];

        if (!same_kernel(a, b) || a->names.len != b->names.len)
            __builtin_trap();
        isa_disassemble(a, ISA_LISTING_CONTROL | ISA_LISTING_WORDS, &text);
    }
    fuzz_listing(image, &text);
    isa_image_fini(&read);
    hd_buf_fini(&file);
    hd_buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    struct hd_buf messages;
    struct isa_image image;
    char *text;

    if (!size_B || !(text = hd_alloc(size_B))) /* no byte more: who reads on is seen */
        return 0;
    memcpy(text, bytes + 1, size_B - 1);
    text[size_B - 1] = '\0';
    hd_buf_init(&messages);
    if (bytes[0] % 3 == 0)
        fuzz_words(bytes + 1, size_B - 1);
    if ((bytes[0] % 3 == 1 && isa_image_read(bytes + 1, size_B - 1, &image) == HD_OK) ||
        (bytes[0] % 3 == 2 && isa_assemble(text, "f", &image, &messages) == HD_OK)) {
        fuzz_image(&image);
        isa_image_fini(&image);
    }
    hd_free(text);
    hd_buf_fini(&messages);
    return 0;
}
