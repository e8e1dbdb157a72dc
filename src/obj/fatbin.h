/*
 * CUDA fat binaries: reading what programs embed and what cuModuleLoadData() is handed, choosing
 * the PTX to compile, and writing containers of our own.
 *
 * Three layers, outermost first:
 *  - wrapper (24 bytes, section .nvFatBinSegment): what __cudaRegisterFatBinary() receives. Version
 *    1 points to one container. Version 2 (relocatable device code) points to the device-linked
 *    container, which may be empty, and to a NULL-terminated array of per-object containers.
 *  - container: 16-byte header {u32 magic, u16 version, u16 header size, u64 body size}, then
 *    entries without a terminator.
 *  - entry: header of 64 bytes or more (with options record and source name behind it), then the
 *    payload, padded to 8 bytes: PTX text, an ELF cubin or LTO-IR; raw, an LZ4 block or a zstd
 * frame.
 *
 * Trust: nothing in an image is believed. Every read is checked against the size that the caller
 * gave or, for images given by bare pointer (OBJ_SIZE_UNKNOWN), against the size in the container
 * header. Errors are HD_BAD_IMAGE with the byte offset of what is wrong.
 *
 * Ownership: readers borrow the image, which must stay mapped while they are used. Decompressed
 * text belongs to the caller (hd_buf) or to the obj_ptx_list.
 *
 * Source: the layout as observed on public CUDA binaries; obj tests pin every offset.
 *
 *     struct obj_ptx_list list;
 *     HD_TRY(obj_image_load_ptx(image, OBJ_SIZE_UNKNOWN, (struct obj_target){.cc = 120}, &list));
 *     for (size_t i = 0; i < list.len; i++)
 *         parse(list.at[i].text, list.at[i].len);
 *     obj_ptx_list_fini(&list);
 */
#ifndef HD_OBJ_FATBIN_H
#define HD_OBJ_FATBIN_H

#include "base/status.h"
#include "base/str.h"

#define OBJ_SIZE_UNKNOWN SIZE_MAX

#define OBJ_WRAPPER_MAGIC 0x466243b1u
#define OBJ_FATBIN_MAGIC  0xba55ed50u

/* Decompressed payloads above this are refused: the largest PTX module known has 20 MB. */
#define OBJ_PAYLOAD_MAX_B (512u << 20)

/* What a `const void *image` is. name, text */
#define OBJ_IMAGE_KIND_LIST(X)                                                                     \
    X(UNKNOWN, "unknown data")                                                                     \
    X(WRAPPER, "fat binary wrapper")                                                               \
    X(FATBIN, "fat binary")                                                                        \
    X(PTX, "PTX text")                                                                             \
    X(CUBIN, "cubin (ELF image of machine code)")                                                  \
    X(HOST_ELF, "ELF file of the host")                                                            \
    X(BITCODE, "LLVM bitcode")

enum obj_image_kind {
#define X(name, text) OBJ_IMAGE_##name,
    OBJ_IMAGE_KIND_LIST(X)
#undef X
};

/* Payload kinds, the file's own numbers. name, value, text */
#define OBJ_ENTRY_KIND_LIST(X)                                                                     \
    X(PTX, 1, "ptx")                                                                               \
    X(CUBIN, 2, "cubin")                                                                           \
    X(LTOIR, 8, "lto-ir")

enum obj_entry_kind {
#define X(name, value, text) OBJ_ENTRY_##name = value,
    OBJ_ENTRY_KIND_LIST(X)
#undef X
};

/* name, text */
#define OBJ_CODEC_LIST(X)                                                                          \
    X(RAW, "raw")                                                                                  \
    X(LZ4, "lz4")                                                                                  \
    X(ZSTD, "zstd")                                                                                \
    X(OPAQUE, "opaque")

enum obj_codec {
#define X(name, text) OBJ_CODEC_##name,
    OBJ_CODEC_LIST(X)
#undef X
};

/* Bits of the entry's flag word that have a known meaning. */
enum obj_entry_flag {
    OBJ_FLAG_64BIT = 0x1,
    OBJ_FLAG_DEBUG = 0x2, /* compiled with -G */
    OBJ_FLAG_LINUX = 0x10,
    OBJ_FLAG_LZ4 = 0x2000,
    OBJ_FLAG_ZSTD = 0x8000,
    OBJ_FLAG_LTOIR = 0x10000,
    OBJ_FLAG_ARCH_SPECIFIC = 0x100000,  /* compute_90a */
    OBJ_FLAG_FAMILY_SPECIFIC = 0x200000 /* compute_100f */
};

/* One container: its header has been checked, its entries have not. */
struct obj_fatbin {
    const uint8_t *bytes;
    size_t size_B;  /* header and body */
    size_t first_B; /* offset of the first entry */
};

/* One entry, all offsets checked to lie inside the container. */
struct obj_entry {
    unsigned kind; /* enum obj_entry_kind; unknown kinds are passed on, not refused */
    unsigned arch; /* 75, 90, 120 */
    char variant;  /* 0, 'a' (that architecture only) or 'f' (that family only) */
    uint16_t version_major, version_minor; /* PTX ISA version, or the cubin's format */
    uint64_t flags;
    enum obj_codec codec;
    struct hd_str source;   /* "saxpy.cu"; empty when not recorded */
    struct hd_str options;  /* ptxas options as text or, with sm_100+ cubins, a binary record */
    const uint8_t *payload; /* as stored */
    size_t stored_B;        /* without padding for compressed payloads, with it for raw ones */
    size_t raw_B;           /* decompressed size */
    size_t offset_B;        /* of the entry's header in the container, for messages */
    size_t end_B;           /* of the entry in the container */
};

/* An opened image: one linked container and, for wrapper version 2, the parts it was linked
 * from. */
struct obj_image {
    enum obj_image_kind kind;
    struct obj_fatbin fatbin; /* WRAPPER, FATBIN */
    const void *const *parts; /* WRAPPER version 2: containers given by bare pointer */
    size_t part_count;
    const uint8_t *bytes; /* other kinds: the image itself */
    size_t size_B;        /* of PTX: without the NUL; of CUBIN: OBJ_SIZE_UNKNOWN if unknown */
};

/* The device that code is chosen for. */
struct obj_target {
    unsigned cc;             /* compute capability * 10: 120 is 12.0 */
    bool accept_any_variant; /* take 90a on a 12.0 device when nothing else fits */
};

/* One PTX module, ready to parse. */
struct obj_ptx {
    char *text; /* NUL-terminated; owned by the list */
    size_t len;
    unsigned arch;
    char variant;
    uint64_t flags;
    char *source;  /* never NULL; owned by the list */
    char *options; /* never NULL; owned by the list */
};

/* More than one element: relocatable modules that have to be linked with each other. */
struct obj_ptx_list {
    struct obj_ptx *at;
    size_t len;
    size_t cap;
    /* The image that all of them are from, if it has machine code for Heddle's own GPU too
     * (obj/linked.h); else NULL. The list's. */
    void *image;
    size_t image_B;
};

/*
 * Recognises an image from its first bytes; reads no further than the magic needs, and for PTX no
 * further than the first directive or NUL. Never fails. PTX may begin with blank lines and
 * comments.
 */
enum obj_image_kind obj_image_identify(const void *image, size_t size_B);
const char *obj_image_kind_text(enum obj_image_kind kind);

/* Opens any image. HD_BAD_IMAGE names what was found when it is none of the known kinds. */
enum hd_status obj_image_open(const void *image, size_t size_B, struct obj_image *out_image)
    HD_MUST_CHECK;

/*
 * The whole way from an image to PTX: opens it, chooses for the target, decompresses. For a version
 * 2 wrapper whose linked container holds no PTX the result is one module per part; NVIDIA's device
 * runtime library is left out (its functions are built in).
 * HD_NO_IMAGE: no PTX fits; the message lists what is there and how to rebuild.
 */
enum hd_status obj_image_load_ptx(const void *image, size_t size_B, struct obj_target target,
                                  struct obj_ptx_list *out_list) HD_MUST_CHECK;
/*
 * The same for relocatable modules: adds what every container of a section holds for the target to
 * the list. Empty containers and NVIDIA's device runtime library add nothing.
 */
enum hd_status obj_fatbins_load(const void *bytes, size_t size_B, struct obj_target target,
                                struct obj_ptx_list *list) HD_MUST_CHECK;
void obj_ptx_list_fini(struct obj_ptx_list *list);

/* Checks a container's header. size_B is what is known to be readable, or OBJ_SIZE_UNKNOWN. */
enum hd_status obj_fatbin_open(const void *bytes, size_t size_B, struct obj_fatbin *out_fatbin)
    HD_MUST_CHECK;

/*
 * Reads the entry at *cursor_B (0 = the first) and advances it. HD_NOT_FOUND, without a message, at
 * the end; HD_BAD_IMAGE when the entry does not fit.
 */
enum hd_status obj_fatbin_next(const struct obj_fatbin *fatbin, size_t *cursor_B,
                               struct obj_entry *out_entry) HD_MUST_CHECK;

/*
 * Finds the next container at or after offset *at_B (multiples of 8) of a section's bytes; sets
 * *at_B behind it. False at the end. For tools: programs only load what they register.
 */
bool obj_fatbin_scan(const void *bytes, size_t size_B, size_t *at_B, struct obj_fatbin *out_fatbin);

/*
 * The best PTX entry of a container: highest arch not above target.cc; 'a' entries only for exactly
 * that cc, 'f' entries only within the family (same major, not older), more specific ones first.
 * HD_NO_IMAGE with the list of what there is.
 */
enum hd_status obj_fatbin_choose(const struct obj_fatbin *fatbin, struct obj_target target,
                                 struct obj_entry *out_entry) HD_MUST_CHECK;

/* Is it an image of obj/linked.h, kept as machine code is? */
bool obj_entry_is_linked(const struct obj_entry *entry);
/* Machine code of no function: what nvcc's device linker puts into programs without kernels. */
bool obj_entry_is_empty(const struct obj_entry *entry);
/* Appends the decompressed payload to an empty buffer; PTX is cut at its NUL. */
enum hd_status obj_entry_read(const struct obj_entry *entry, struct hd_buf *out_buf) HD_MUST_CHECK;

/* "ptx", "cubin", "lto-ir", "kind 64" written to a caller's buffer of at least 16 bytes. */
const char *obj_entry_kind_text(unsigned kind, char *buf, size_t buf_B);
const char *obj_codec_text(enum obj_codec codec);

/* Architecture number of a cubin: from the ELF header's flags; 0 when it is not one. */
unsigned obj_cubin_arch(const void *bytes, size_t size_B);

/* What goes into a new container. */
struct obj_fatbin_source {
    enum obj_entry_kind kind;
    unsigned arch;
    char variant;                          /* 0, 'a', 'f' */
    uint16_t version_major, version_minor; /* of PTX: 8, 5 */
    uint64_t flags;                        /* beyond 64BIT|LINUX, which are always set */
    const void *payload;                   /* PTX: text, a NUL is added */
    size_t size_B;
    const char *source_name; /* or NULL */
    const char *options;     /* or NULL */
};

/*
 * Appends one container with `count` entries to `out`; codec RAW, LZ4 or ZSTD. The result is what
 * clang's -fcuda-include-gpubinary and cuModuleLoadData() take. HD_NO_MEMORY, HD_BAD_ARG.
 */
enum hd_status obj_fatbin_write(const struct obj_fatbin_source *sources, size_t count,
                                enum obj_codec codec, struct hd_buf *out) HD_MUST_CHECK;

#endif
