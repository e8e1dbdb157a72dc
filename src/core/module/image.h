/*
 * Images: what a fat binary, a file of PTX or a linked program is once it is loaded.
 *
 * An image says at once what there is (entries: kernels; variables). The code of an entry is made
 * when somebody asks for it, once, and then shared by the modules of all contexts. An entry whose
 * code cannot be made says so on stderr the first time, and fails with the same message ever after;
 * the other entries are not affected.
 *
 * Owners: counted references; entries, declarations and code live as long as the image.
 * Threads: any; different entries are compiled at the same time, one entry by one thread.
 */
#ifndef HD_CORE_MODULE_IMAGE_H
#define HD_CORE_MODULE_IMAGE_H

#include "base/status.h"

struct core_device;
struct core_image;
struct hal_native;
struct heddle_native;
struct ir_module;

struct core_param {
    const char *name;
    uint32_t offset_B; /* in the parameter block */
    uint32_t size_B;
};

/* A kernel: what the API and launches need to know of it, whoever compiled it. */
struct core_entry {
    const char *name;
    uint32_t index;    /* its number in the program: hal.h, kernel_get */
    uint32_t position; /* among the image's entries */
    uint32_t nparams;
    const struct core_param *params;
    uint32_t params_B;
    uint32_t reqntid[3];      /* required block; 0 = any */
    uint64_t max_threads;     /* of a block, by the kernel's launch bounds; 0 = not given */
    uint32_t max_regs;        /* of a thread; 0 = not given */
    uint32_t cluster[3];      /* required cluster; 0 = none */
    bool explicit_cluster;    /* launches must say their cluster size */
    bool blocks_are_clusters; /* grids count clusters */
    uint32_t max_cluster;     /* most CTAs of a cluster; 0 = as many as the device allows */
    /* The host's function that devices run instead where they can; NULL: there is none. */
    const struct hal_native *native;
    bool is_only_native; /* its code is none */
};

/* Any image the API takes; size_B may be SIZE_MAX. */
enum hd_status core_image_load(const void *image, size_t size_B, struct core_image **out_image)
    HD_MUST_CHECK;
/*
 * The image of a native kernel (heddle/native.h): the PTX that stands in for the function, or one
 * that only says what the parameters are. *out_entry: the kernel's, whose name is the native one.
 * HD_BAD_ARG, and what is wrong with the PTX.
 */
enum hd_status core_image_load_native(const struct heddle_native *desc,
                                      struct core_image **out_image,
                                      const struct core_entry **out_entry) HD_MUST_CHECK;
/* From now on launches of its native kernel fail, also those that were made before. */
void core_image_withdraw_native(struct core_image *image);
void core_image_ref(struct core_image *image);
void core_image_unref(struct core_image *image);

/* NULL: no debugger knows it. */
struct dbg_program;
struct dbg_program *core_image_debugged(const struct core_image *image);
/* How a kernel is compiled: as launches usually run it, or beside that for who looks at it. */
enum core_form {
    CORE_FORM_PLAIN,
    CORE_FORM_DEBUG,   /* can be stopped anywhere (debug.h, coredump.h) */
    CORE_FORM_COUNTED, /* counts what it executes (counted.h) */
    CORE_FORM_COUNT
};

/*
 * The same entries, compiled in another form; made when it is first asked for. Lives as long as the
 * image. HD_NO_MEMORY.
 */
enum hd_status core_image_form(struct core_image *image, enum core_form form,
                               struct core_image **out_image) HD_MUST_CHECK;

/* The texts of PTX that it was made of, for a debugger; its own. NULL: no memory. */
struct dbg_text;
const struct dbg_text *core_image_texts(struct core_image *image, size_t *out_count);

/* Entries in source order. */
uint32_t core_image_count(const struct core_image *image);
const struct core_entry *core_image_entry(const struct core_image *image, uint32_t position);
/* NULL when there is none. */
const struct core_entry *core_image_find(const struct core_image *image, const char *name);
/* The same by core_entry.index. */
const struct core_entry *core_image_find_index(const struct core_image *image, uint64_t index);
/* The virtual architecture it was written for, e.g. 75. */
unsigned core_image_arch(const struct core_image *image);
/* 16 bytes that identify the content. */
const uint8_t *core_image_key(const struct core_image *image);
/* 16 bytes that identify its code for a device. */
void core_image_code_key(const struct core_image *image, const struct core_device *device,
                         uint8_t out_key[16]);
/*
 * Code of its kernels that an assembler made, and 16 bytes that its key has to say: for
 * hal_program.assembled. NULL: there is none, or not of this form. The image's.
 */
const void *core_image_assembled(const struct core_image *image, const struct core_device *device,
                                 size_t *out_size_B, uint8_t out_key[16]);
/* The PTX of a program of one unit, NULL of one that was linked. The image's. */
const char *core_image_ptx(const struct core_image *image);
/* Declarations of functions and variables, the latter with their initial images. */
const struct ir_module *core_image_decls(const struct core_image *image);
/* What the entry needs, without making its code. HD_BAD_PTX, HD_NO_MEMORY. */
struct ir_kernel_sizes;
enum hd_status core_image_sizes(const struct core_image *image, const struct core_entry *entry,
                                struct ir_kernel_sizes *out_sizes) HD_MUST_CHECK;
/*
 * The entry's code for devices of the same kind as `device`; waits while another thread makes it.
 * The first error is the answer for good, lack of memory excepted.
 */
enum hd_status core_image_code(struct core_image *image, const struct core_entry *entry,
                               const struct core_device *device, const struct ir_module **out_code)
    HD_MUST_CHECK;

/* Why core_image_code() failed, if it did: HD_OK when nobody asked for the code yet. */
enum hd_status core_image_code_error(struct core_image *image, const struct core_entry *entry,
                                     const struct core_device *device) HD_MUST_CHECK;

#endif
