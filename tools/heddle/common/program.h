/*
 * What an executable, library or device image holds, for `heddle run` and `heddle doctor`: how it
 * uses the CUDA runtime and which device code is inside. Reads files only; nothing is executed.
 */
#ifndef HEDDLE_TOOLS_PROGRAM_H
#define HEDDLE_TOOLS_PROGRAM_H

#include "base/vec.h"
#include "obj/fatbin.h"
#include "obj/program.h"

/* One entry of one fat binary. Views point into the file's mapping. */
struct program_image {
    struct obj_entry entry;
    struct obj_fatbin fatbin; /* that it is in; bytes is NULL for bare PTX and cubins */
    const char *section;      /* ".nv_fatbin", "__nv_relfatbin", or "" for a bare image */
    size_t container;         /* counted from 0 in the file */
    uint64_t offset_B;        /* of the entry in its section */
};

struct program {
    const char *path;
    enum obj_image_kind kind; /* HOST_ELF, or a bare image: FATBIN, PTX, CUBIN */
    struct obj_elf elf;       /* HOST_ELF */
    struct hd_buf file;       /* bare images */
    enum obj_runtime runtime;
    unsigned cuda_version; /* 0 unknown */
    HD_VEC(struct program_image) images;
    size_t containers;
    bool damaged; /* a fat binary does not read to its end; hd_error_message() tells */
};

/*
 * HD_NOT_FOUND, HD_IO; HD_BAD_IMAGE for a file that is neither ELF nor a device image (scripts).
 * Release with program_close() on success only.
 */
enum hd_status program_open(const char *path, struct program *out_program) HD_MUST_CHECK;
void program_close(struct program *program);

/*
 * Calls for each module of PTX in an image of Heddle's (obj_entry_is_linked()). True if it has code
 * for Heddle's own GPU besides.
 */
typedef void program_ptx_fn(void *user, const struct obj_entry *entry);
bool program_image_modules(const struct hd_buf *image, program_ptx_fn *call, void *user);

/* Does the file begin as ELF files do? False where it cannot be read. */
bool program_is_elf(const char *path);
/* A program that no loader puts together: there is no way to put libraries of ours into it. */
bool program_is_static(const struct program *program);
/* Is there device code of any kind? An entry without a function is none. */
bool program_has_code(const struct program *program);
/* PTX entries that a device of this compute capability * 10 takes; all PTX when cc is 0. */
size_t program_count_usable(const struct program *program, unsigned cc);
/* "cubin sm_75, cubin sm_90" of the distinct entries, for messages. */
void program_describe_images(const struct program *program, struct hd_buf *out_text);

#endif
