/*
 * Images of machine code: what compiler and assembler make, and a device loads. An ELF-64 file that
 * is an image of obj/linked.h as well, so that whoever takes only PTX takes the same file:
 *
 *     .heddle.ptx           the program's PTX (obj/linked.h); empty where there is none
 *     .heddle.isa           version of the set, machine, validity key: struct isa_image_head
 *     .text.NAME            the words of kernel NAME and of all that it may call; a symbol NAME
 *     .heddle.info.NAME     its properties: pairs of 32-bit numbers, enum isa_property and a value
 *     .heddle.tables.NAME   literals, relocations, functions, lines and their names, in this order
 *
 * Any bytes may be read: what does not fit is HD_BAD_IMAGE with the reason, and when
 * isa_image_read() succeeds every word of every kernel is an instruction and every table refers to
 * what is there.
 */
#ifndef HD_ISA_IMAGE_H
#define HD_ISA_IMAGE_H

#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "isa/abi.h"
#include "isa/isa.h"

enum {
    ISA_VERSION = 1,
    ISA_MOST_WORDS = 1 << 24, /* of a kernel */
    ISA_MOST_KERNELS = 20000, /* of an image: ELF counts sections in 16 bits */
    ISA_KEY_BYTES = 16,
    ISA_ARCH = 120, /* of images that no program was assembled to */
    ISA_MOST_ARCH = 255,
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
    X(FEATURES, "features", UINT32_MAX, "features of the machine that it needs, a bit each")       \
    X(SPILLED, "spilled", 524288, "bytes of local memory that registers are spilled to")           \
    X(SPILL_STORES, "spill_stores", UINT32_MAX,                                                    \
      "bytes that its stores of spilled registers write")                                          \
    X(SPILL_LOADS, "spill_loads", UINT32_MAX, "bytes that its loads of spilled registers read")    \
    X(PROFILE, "profile", UINT32_MAX, "hash of the profile that it was made with; 0: none")

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

/* Code of a function that was inlined. Names here and below are offsets in isa_kernel.names. */
struct isa_inline {
    uint32_t func;
    uint32_t file; /* of the call: a name's offset + 1; 0: none, and the rest is 0 */
    uint32_t line, col;
    uint32_t inlined; /* number, from 1, of an earlier one that the call is in; 0: none */
};

/* As struct isa_code (abi.h), but for names in place of the compiler's numbers. */
struct isa_kernel {
    char *name;
    uint32_t properties[ISA_PROPERTIES];
    HD_VEC(struct isa_word) words;
    HD_VEC(uint8_t) literals;              /* whole ones of eight bytes */
    HD_VEC(struct isa_reloc) relocs;       /* rising; `var`: its name */
    HD_VEC(struct isa_function) functions; /* `index`: its name */
    HD_VEC(struct isa_inline) inlines;
    HD_VEC(struct isa_line) lines; /* rising; file: as above; inlined: a number, from 1 */
    HD_VEC(char) names;            /* each with a 0 behind it */
};

struct isa_image {
    HD_VEC(struct isa_kernel) kernels;
    struct hd_map by_name; /* values: indices + 1 */
    unsigned arch;         /* compute capability that a program was assembled for: 90 */
    /* Says of which program, by which compiler the code is; zero: nobody says. */
    uint8_t key[ISA_KEY_BYTES];
    /* What .heddle.ptx holds; borrowed of who made the image, or of the bytes that were read. */
    const void *ptx;
    size_t ptx_B;
};

void isa_image_init(struct isa_image *image);
void isa_image_fini(struct isa_image *image);
struct isa_kernel *isa_image_find(const struct isa_image *image, struct hd_str name);
/* A kernel of that name, which no other has, at the end; NULL without memory. Kernels move then. */
struct isa_kernel *isa_image_add(struct isa_image *image, struct hd_str name);
/* Takes the last kernel away again. */
void isa_image_drop(struct isa_image *image);
/* The offset of a name in the kernel's, which it is added to; UINT32_MAX without memory. */
uint32_t isa_kernel_name(struct isa_kernel *kernel, struct hd_str name);
static inline const char *isa_kernel_text(const struct isa_kernel *kernel, uint32_t name)
{
    assert(name < kernel->names.len);
    return &kernel->names.at[name];
}
/* NULL, or what of a kernel's tables refers to what is not there. */
const char *isa_kernel_check(const struct isa_kernel *kernel);
/* Where a word comes from; NULL: nobody says. */
const struct isa_line *isa_kernel_line(const struct isa_kernel *kernel, uint32_t word);
static inline bool isa_image_has_key(const struct isa_image *image)
{
    static const uint8_t none[ISA_KEY_BYTES];

    return memcmp(image->key, none, ISA_KEY_BYTES) != 0;
}

/* HD_NOT_SUPPORTED: more kernels than ISA_MOST_KERNELS. HD_NO_MEMORY. */
enum hd_status isa_image_write(const struct isa_image *image, struct hd_buf *out) HD_MUST_CHECK;
/* HD_BAD_IMAGE, HD_BAD_VERSION, HD_NO_MEMORY; on success isa_image_fini() frees it. size_B: not
 * OBJ_SIZE_UNKNOWN. */
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

/* What is said of an image before its kernels: architecture and key. */
void isa_disassemble_head(const struct isa_image *image, struct hd_buf *out);
/* The text of a kernel, which isa_assemble() reads. `listing`: enum isa_listing. */
void isa_disassemble(const struct isa_kernel *kernel, unsigned listing, struct hd_buf *out);

#endif
