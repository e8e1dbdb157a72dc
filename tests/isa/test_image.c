/* Assembler, images, disassembler: what goes round comes back; mistakes are told with places. */
#include "isa/image.h"

#include <elf.h>

#include "support/tap.h"

static const char program[] = ".kernel sum // comment\n"
                              ".registers 12\n"
                              ".param 16\n"
                              "    [B------:R-:W0:-:S01] S2R R0, SR_TID_X ;\n"
                              "loop: [B0-----:R-:W-:-:S04] IADD3 R1, R1, R0.reuse, RZ ; // adds\n"
                              "\n"
                              "    [B------:R-:W-:-:S13] ISETP.LT.AND P0, R1, 0x20 ;\n"
                              "    [B------:R-:W-:Y:S05] @P0 BRA loop ;\n"
                              "    BRA end\n"
                              "end:\n"
                              "    EXIT\n"
                              ".kernel other\n"
                              "loop: BRA loop\n";

static bool same_kernels(const struct isa_image *a, const struct isa_image *b)
{
    if (a->kernels.len != b->kernels.len)
        return false;
    for (size_t i = 0; i < a->kernels.len; i++) {
        const struct isa_kernel *x = &a->kernels.at[i], *y = &b->kernels.at[i];

        if (strcmp(x->name, y->name) || x->words.len != y->words.len ||
            memcmp(x->properties, y->properties, sizeof(x->properties)) ||
            memcmp(x->words.at, y->words.at, x->words.len * ISA_WORD_BYTES))
            return false;
    }
    return true;
}

static void test_round(void)
{
    struct isa_image image, read, again;
    struct hd_buf messages, file, text;

    hd_buf_init(&messages);
    hd_buf_init(&file);
    hd_buf_init(&text);
    if (!ok(isa_assemble(program, "sum.s", &image, &messages) == HD_OK, "a program is assembled"))
        diag("%s", messages.ptr);
    eq_u64(image.kernels.len, 2, "it has two kernels");
    eq_u64(image.kernels.at[0].words.len, 6, "the first has six words");
    eq_u64(image.kernels.at[0].properties[ISA_PROPERTY_REGISTERS], 12, "and twelve registers");
    ok(isa_image_write(&image, &file) == HD_OK, "an image is written");
    ok(isa_image_read(file.ptr, file.len, &read) == HD_OK && same_kernels(&image, &read),
       "it reads as what was written");
    for (size_t i = 0; i < read.kernels.len; i++)
        isa_disassemble(&read.kernels.at[i], ISA_LISTING_CONTROL | ISA_LISTING_WORDS, &text);
    ok(strstr(text.ptr, "L_10:\n") && strstr(text.ptr, "@P0 BRA 0x10 ;"), "the listing has labels");
    ok(isa_assemble(text.ptr, "listing", &again, &messages) == HD_OK &&
           same_kernels(&image, &again),
       "the listing is assembled to the same words");
    isa_image_fini(&image);
    isa_image_fini(&read);
    isa_image_fini(&again);
    hd_buf_fini(&messages);
    hd_buf_fini(&file);
    hd_buf_fini(&text);
}

static void test_wrong(const char *text, const char *want)
{
    struct hd_buf messages;
    struct isa_image image;

    hd_buf_init(&messages);
    ok(isa_assemble(text, "f", &image, &messages) == HD_BAD_ARG, "%s is refused", want);
    eq_str(messages.ptr ? messages.ptr : "", want, "with this message");
    hd_buf_fini(&messages);
}

static void test_messages(void)
{
    test_wrong("EXIT",
               "f:1:1: error: an instruction belongs to a kernel: `.kernel NAME` comes first\n");
    test_wrong(".registers 3",
               "f:1:1: error: this belongs to a kernel: `.kernel NAME` comes first\n");
    test_wrong("x: EXIT",
               "f:1:1: error: a label belongs to a kernel: `.kernel NAME` comes first\n"
               "f:1:4: error: an instruction belongs to a kernel: `.kernel NAME` comes first\n");
    test_wrong(".kernel", "f:1:8: error: the name of a kernel is expected here\n");
    test_wrong(".kernel a\n.kernel a", "f:2:9: error: there is a kernel `a` before\n");
    test_wrong(".kernel a\nx: EXIT\nx: EXIT", "f:3:1: error: there is a label `x` before\n");
    test_wrong(".kernel a\n.registers 256",
               "f:2:12: error: a number from 0 to 255 is expected here: registers of a thread\n");
    test_wrong(".kernel a\n.stack 1", "f:2:1: error: there is no directive `.stack`\n");
    test_wrong(".kernel a\n  EXIT ; EXIT", "f:2:8: error: a line has one instruction\n");
    test_wrong(".kernel a\n  MOV R1\n  BRA x\n",
               "f:2:9: error: a register, a constant or a number is expected here\nf:3:7: error: "
               "there is no label `x`\n");
}

/* An image with a change at one place. */
static void test_bad_image(const struct hd_buf *file, size_t at, uint8_t value, enum hd_status want,
                           const char *what)
{
    struct isa_image image;
    char *bytes = malloc(file->len);
    enum hd_status status;

    memcpy(bytes, file->ptr, file->len);
    bytes[at] = (char)value;
    status = isa_image_read(bytes, file->len, &image);
    eq_u64(status, want, "%s", what);
    if (status == HD_OK)
        isa_image_fini(&image);
    free(bytes);
}

static void test_images(void)
{
    struct isa_image image, read;
    struct hd_buf messages, file;
    size_t size, code = 128; /* of the first kernel: the first multiple of 128 behind the head */

    hd_buf_init(&messages);
    hd_buf_init(&file);
    if (isa_assemble(program, "sum.s", &image, &messages) != HD_OK ||
        isa_image_write(&image, &file) != HD_OK)
        return;
    isa_image_fini(&image);
    test_bad_image(&file, 18, 62, HD_BAD_IMAGE, "an image of another machine is refused");
    test_bad_image(&file, 48, 2, HD_BAD_VERSION, "a later version is refused");
    test_bad_image(&file, code, 0xff, HD_BAD_IMAGE, "a word that is no instruction is refused");
    test_bad_image(&file, code + 6 * ISA_WORD_BYTES, 99, HD_BAD_VERSION,
                   "an unknown property is refused");
    test_bad_image(&file, code + 6 * ISA_WORD_BYTES + 5, 1, HD_BAD_IMAGE,
                   "300 registers are refused");
    for (size = 0; size < file.len && isa_image_read(file.ptr, size, &read) != HD_OK; size++)
        continue;
    eq_u64(size, file.len, "an image that ends early is refused");
    hd_buf_fini(&messages);
    hd_buf_fini(&file);
}

int main(void)
{
    test_round();
    test_messages();
    test_images();
    return done();
}
