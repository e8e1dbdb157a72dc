/*
 * Images of machine code: what compiler and assembler make, and a device loads. An ELF-64 file:
 *
 *     .text.NAME          the words of kernel NAME, and a symbol NAME for them
 *     .heddle.info.NAME   its properties: pairs of 32-bit numbers, enum isa_property and a value
 *
 * e_machine is ISA_ELF_MACHINE, e_flags the version of the instruction set. Any bytes may be read:
 * what does not fit is HD_BAD_IMAGE with the reason, and every word of every kernel is an
 * instruction when isa_image_read() succeeds.
 */
#ifndef HD_ISA_IMAGE_H
#define HD_ISA_IMAGE_H

#include "base/map.h"
#include "base/vec.h"
#include "isa/isa.h"

enum {
    ISA_VERSION = 1,
    ISA_ELF_MACHINE = 0x4844, /* "HD"; not one of the registered numbers */
    ISA_MOST_WORDS = 1 << 24, /* of a kernel */
};

/* name, text of the directive, largest value, doc */
#define ISA_PROPERTY_LIST(X)                                                                       \
    X(REGISTERS, "registers", 255, "registers of a thread")                                        \
    X(UNIFORM, "uniform", 63, "uniform registers of a warp")                                       \
    X(BARRIERS, "barriers", 16, "barriers of the CTA")                                             \
    X(SHARED, "shared", 232448, "bytes of shared memory that it declares")                         \
    X(LOCAL, "local", 524288, "bytes of local memory of a thread, without calls")                  \
    X(PARAM, "param", 32764, "bytes of parameters")                                                \
    X(THREADS, "threads", 1024, "threads of a CTA at most; 0: any")                                \
    X(FEATURES, "features", UINT32_MAX, "features of the machine that it needs, a bit each")

enum isa_property {
#define ISA_PROPERTY(name, text, most, doc) ISA_PROPERTY_##name,
    ISA_PROPERTY_LIST(ISA_PROPERTY)
#undef ISA_PROPERTY
        ISA_PROPERTIES
};

struct isa_property_row {
    const char *text;
    uint32_t most;
    const char *doc;
};

extern const struct isa_property_row isa_properties[ISA_PROPERTIES];

struct isa_kernel {
    char *name;
    uint32_t properties[ISA_PROPERTIES];
    HD_VEC(struct isa_word) words;
};

struct isa_image {
    HD_VEC(struct isa_kernel) kernels;
    struct hd_map by_name; /* values: indices + 1 */
};

void isa_image_init(struct isa_image *image);
void isa_image_fini(struct isa_image *image);
struct isa_kernel *isa_image_find(const struct isa_image *image, struct hd_str name);
/* A kernel of that name, which no other has, at the end; NULL without memory. Kernels move then. */
struct isa_kernel *isa_image_add(struct isa_image *image, struct hd_str name);

/* HD_NO_MEMORY. */
enum hd_status isa_image_write(const struct isa_image *image, struct hd_buf *out) HD_MUST_CHECK;
/* HD_BAD_IMAGE, HD_BAD_VERSION, HD_NO_MEMORY; on success isa_image_fini() frees it. */
enum hd_status isa_image_read(const void *bytes, size_t size_B, struct isa_image *out_image)
    HD_MUST_CHECK;

/* ---- text */

/*
 * Assembles `text`, which ends with a 0; `name` is that of its file in messages. Each mistake is a
 * line "NAME:LINE:COLUMN: error: why" of out_messages, and there is no image then: HD_BAD_ARG.
 * docs/isa.md has the form.
 */
enum hd_status isa_assemble(const char *text, const char *name, struct isa_image *out_image,
                            struct hd_buf *out_messages) HD_MUST_CHECK;

enum isa_listing {
    ISA_LISTING_CONTROL = 1, /* with control fields: what the assembler needs for the same words */
    ISA_LISTING_WORDS = 2,   /* with addresses and words, as comments */
};

/* The text of a kernel, which isa_assemble() reads. `listing`: enum isa_listing. */
void isa_disassemble(const struct isa_kernel *kernel, unsigned listing, struct hd_buf *out);

#endif
