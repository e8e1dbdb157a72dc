/* Assembler, images, disassembler: what goes round comes back; mistakes are told with places. */
#include "isa/image.h"

#include "obj/fatbin.h"
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

/* All that a kernel of a compiler has. */
static const char made[] = ".arch 90\n"
                           ".key 00112233445566778899aabbccddeeff\n"
                           ".kernel \"odd name\"\n"
                           ".registers 6\n"
                           ".literal 0x4000000000000000\n"
                           ".literal table\n"
                           ".literal %room$1+0x18\n"
                           ".function \"odd name\" 0\n"
                           ".function helper there // by its label\n"
                           ".inlined f \"a b.cuh\" 3 4\n"
                           ".inlined \"\" \"a b.cuh\" 5 0 1\n"
                           "    .loc \"x\\x22y.cu\" 7\n"
                           "    LDC.64 R2, c[0x1][0x8] ;\n"
                           "    .loc \"a b.cuh\" 12 5 2\n"
                           "    CALL R2, there ;\n"
                           "    .loc\n"
                           "    EXIT ;\n"
                           "there: RET R2 ;\n";

#define SAME(a, b, vec)                                                                            \
    ((a)->vec.len == (b)->vec.len &&                                                               \
     (!(a)->vec.len || !memcmp((a)->vec.at, (b)->vec.at, (a)->vec.len * sizeof(*(a)->vec.at))))

static bool same_kernels(const struct isa_image *a, const struct isa_image *b)
{
    if (a->kernels.len != b->kernels.len)
        return false;
    for (size_t i = 0; i < a->kernels.len; i++) {
        const struct isa_kernel *x = &a->kernels.at[i], *y = &b->kernels.at[i];

        if (strcmp(x->name, y->name) || !SAME(x, y, words) || !SAME(x, y, literals) ||
            !SAME(x, y, relocs) || !SAME(x, y, functions) || !SAME(x, y, inlines) ||
            !SAME(x, y, lines) || !SAME(x, y, names) ||
            memcmp(x->properties, y->properties, sizeof(x->properties)))
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

/* The bytes of what `text` is assembled to. */
static void file_of(const char *text, struct hd_buf *out)
{
    struct hd_buf messages;
    struct isa_image image;

    hd_buf_init(&messages);
    hd_buf_init(out);
    if (!ok(isa_assemble(text, "f", &image, &messages) == HD_OK, "it is assembled")) {
        diag("%s", messages.ptr);
        exit(1);
    }
    ok(isa_image_write(&image, out) == HD_OK, "and written");
    isa_image_fini(&image);
    hd_buf_fini(&messages);
}

static void test_tables(void)
{
    struct hd_buf file, text, again;
    struct obj_ptx_list list;
    struct isa_image image;
    const struct isa_kernel *k;
    const struct isa_line *line;

    file_of(made, &file);
    hd_buf_init(&text);
    eq_u64(isa_image_read(file.ptr, file.len, &image), HD_OK, "tables are read");
    k = &image.kernels.at[0];
    eq_u64(image.arch, 90, "the architecture");
    ok(isa_image_has_key(&image) && image.key[1] == 0x11 && image.key[15] == 0xff, "the key");
    eq_str(k->name, "odd name", "a name in quotes");
    eq_u64(k->literals.len, 24, "three literals");
    ok(k->relocs.len == 2 && k->relocs.at[1].offset_B == 16, "two of them addresses");
    eq_str(isa_kernel_text(k, k->relocs.at[1].var), "%room$1", "of variables");
    eq_u64(k->literals.at[16], 0x18, "and an offset");
    ok(k->functions.len == 2 && k->functions.at[1].offset == 0x30, "a function at its label");
    line = isa_kernel_line(k, 1);
    eq_u64(line ? line->line : 0, 12, "a line");
    eq_str(line ? isa_kernel_text(k, line->file - 1) : "", "a b.cuh", "of a file");
    ok(line && line->inlined == 2 && k->inlines.at[1].inlined == 1, "inlined, twice");
    eq_str(isa_kernel_text(k, isa_kernel_line(k, 0)->file - 1), "x\"y.cu", "a file with a quote");
    ok(!isa_kernel_line(k, 3), "and a word of nowhere");
    isa_disassemble_head(&image, &text);
    isa_disassemble(k, ISA_LISTING_CONTROL, &text);
    file_of(text.ptr, &again);
    ok(again.len == file.len && !memcmp(again.ptr, file.ptr, file.len),
       "the listing is assembled to the same bytes");
    eq_u64(obj_image_load_ptx(file.ptr, file.len, (struct obj_target){.cc = 120}, &list),
           HD_NO_IMAGE, "there is no PTX for who needs some");
    ok(strstr(hd_error_message(), "Heddle's own GPU") != NULL, "and it is told why: %s",
       hd_error_message());
    isa_image_fini(&image);
    hd_buf_fini(&file);
    hd_buf_fini(&text);
    hd_buf_fini(&again);
}

/* Written with tables that a change made wrong, and read. */
static void test_bad_table(void (*change)(struct isa_kernel *kernel), const char *why)
{
    struct isa_image image, read;
    struct hd_buf file, messages;

    hd_buf_init(&file);
    hd_buf_init(&messages);
    if (isa_assemble(made, "f", &image, &messages) != HD_OK)
        exit(1);
    change(&image.kernels.at[0]);
    ok(isa_image_write(&image, &file) == HD_OK &&
           isa_image_read(file.ptr, file.len, &read) == HD_BAD_IMAGE,
       "refused: %s", why);
    ok(strstr(hd_error_message(), why) != NULL, "with the reason: %s", hd_error_message());
    isa_image_fini(&image);
    hd_buf_fini(&file);
    hd_buf_fini(&messages);
}

#define CHANGES(X)                                                                                 \
    X(odd_literals, k->literals.len--, "literals have eight bytes each")                           \
    X(endless_name, k->names.at[k->names.len - 1] = 'x', "the last name has no end")               \
    X(odd_reloc, k->relocs.at[0].offset_B = 4, "a relocation is of no literal")                    \
    X(far_reloc, k->relocs.at[1].offset_B = 24, "a relocation is of no literal")                   \
    X(same_reloc, k->relocs.at[1].offset_B = 8, "relocations are not in order")                    \
    X(var, k->relocs.at[0].var = (uint32_t)k->names.len, "a variable's name is not there")         \
    X(odd_function, k->functions.at[1].offset = 8, "a function begins where there is no code")     \
    X(far_function, k->functions.at[1].offset = 0x40, "a function begins where there is no code")  \
    X(function, k->functions.at[0].index = UINT32_MAX, "a function's name is not there")           \
    X(inlined, k->inlines.at[0].func = (uint32_t)k->names.len,                                     \
      "an inlined function's name is not there")                                                   \
    X(own_call, k->inlines.at[0].inlined = 1, "an inlined call is not there")                      \
    X(file, k->inlines.at[1].file = (uint32_t)k->names.len + 1, "a file's name is not there")      \
    X(late_line, k->lines.at[2].word = 4, "a line is of no instruction")                           \
    X(same_line, k->lines.at[1].word = 0, "lines are not in order")                                \
    X(no_file, k->lines.at[0].file = 0, "a line is of no file")                                    \
    X(line_file, k->lines.at[0].file = UINT32_MAX, "a file's name is not there")                   \
    X(call, k->lines.at[1].inlined = 3, "an inlined call is not there")
#define X(name, code, why)                                                                         \
    static void change_##name(struct isa_kernel *k)                                                \
    {                                                                                              \
        code;                                                                                      \
    }
CHANGES(X)
#undef X

static void test_bad_tables(void)
{
#define X(name, code, why) test_bad_table(change_##name, why);
    CHANGES(X)
#undef X
}

static void test_wrong(const char *text, const char *want)
{
    struct hd_buf messages;
    struct isa_image image;

    hd_buf_init(&messages);
    ok(isa_assemble(text, "f", &image, &messages) == HD_BAD_ARG, "%.*s: refused",
       (int)strcspn(want, "\n"), want);
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
    test_wrong(".literal 3",
               "f:1:1: error: this belongs to a kernel: `.kernel NAME` comes first\n");
    test_wrong(".kernel \"a", "f:1:9: error: the name has no end\n");
    test_wrong(".kernel \"\\x0g\"", "f:1:10: error: \\x and two digits are expected here\n");
    test_wrong(".key 0123", "f:1:6: error: a key has 32 digits\n");
    test_wrong(".arch 256",
               "f:1:7: error: a number from 0 to 255 is expected here: a compute capability\n");
    test_wrong(".kernel a\n.literal =", "f:2:10: error: the name of a variable is expected here\n");
    test_wrong(".kernel a\n.literal 1 2", "f:2:12: error: the line should end here\n");
    test_wrong(".kernel a\n.function f x\nEXIT",
               "f:2:13: error: a number from 0 to 4294967295 is expected here: where the function "
               "begins, or a label\n");
    test_wrong(".kernel a\nEXIT\n.loc \"f\" 1",
               "f:3:1: error: kernel a: a line is of no instruction\n");
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
    test_bad_image(&file, 9, 0, HD_BAD_IMAGE, "an image that others wrote is refused");
    test_bad_image(&file, 64, 2, HD_BAD_VERSION, "a later version is refused");
    test_bad_image(&file, 64 + 8, 'z', HD_BAD_VERSION, "code for another machine is refused");
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
    test_tables();
    test_bad_tables();
    test_images();
    return done();
}
