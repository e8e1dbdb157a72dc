/* Core dumps as ELF files: what is in them and where. Source: System V ABI, chapters 4 and 5. */
#include "dbg/dump/dump_file.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

static enum hd_status damaged(const char *what)
{
    return hd_error(HD_CORRUPT, "the core dump is damaged or cut off: %s", what);
}

/* Are `count` things of `size_B` bytes there? */
static bool holds(const struct dump_file *file, uint64_t offset, uint64_t count, uint64_t size_B)
{
    return offset <= file->size_B && count <= (file->size_B - offset) / size_B;
}

static enum hd_status header_read(const struct dump_file *file, Elf64_Ehdr *out)
{
    if (file->size_B < sizeof(*out) || memcmp(file->bytes, ELFMAG, SELFMAG) != 0)
        return hd_error(HD_BAD_IMAGE, "it is no core dump");
    memcpy(out, file->bytes, sizeof(*out));
    if (out->e_ident[EI_CLASS] != ELFCLASS64 || out->e_ident[EI_DATA] != ELFDATA2LSB ||
        out->e_type != ET_CORE || out->e_machine != DUMP_MACHINE)
        return hd_error(HD_BAD_IMAGE, "it is no core dump of kernels");
    return out->e_phentsize == sizeof(Elf64_Phdr) ? HD_OK : damaged("program headers");
}

/* More than the header can say are counted in section 0. */
static bool count_read(const struct dump_file *file, const Elf64_Ehdr *header, uint64_t *out_count)
{
    Elf64_Shdr section;

    *out_count = header->e_phnum;
    if (header->e_phnum != PN_XNUM)
        return true;
    if (!holds(file, header->e_shoff, 1, sizeof(section)))
        return false;
    memcpy(&section, file->bytes + header->e_shoff, sizeof(section));
    *out_count = section.sh_info;
    return true;
}

static enum hd_status segment_add(struct dump_file *file, const Elf64_Phdr *h)
{
    if (!holds(file, h->p_offset, h->p_filesz, 1))
        return damaged("memory that is not in the file");
    if (h->p_type == PT_NOTE && !file->notes.at) {
        file->notes.at = file->bytes + h->p_offset;
        file->notes.end = file->notes.at + h->p_filesz;
    }
    if (h->p_type != PT_LOAD || !h->p_filesz)
        return HD_OK;
    if (h->p_vaddr + h->p_filesz < h->p_vaddr)
        return damaged("memory behind the last address");
    file->segments[file->nsegments++] =
        (struct dump_segment){h->p_vaddr, h->p_filesz, file->bytes + h->p_offset};
    return HD_OK;
}

static int by_address(const void *a, const void *b)
{
    const struct dump_segment *x = a, *y = b;

    return x->va < y->va ? -1 : x->va > y->va;
}

static enum hd_status segments_read(struct dump_file *file)
{
    Elf64_Ehdr header;
    Elf64_Phdr h;
    uint64_t count;

    HD_TRY(header_read(file, &header));
    if (!count_read(file, &header, &count) || !holds(file, header.e_phoff, count, sizeof(h)))
        return damaged("program headers");
    file->segments = hd_alloc_array(count + 1, sizeof(*file->segments));
    if (!file->segments)
        return hd_error(HD_NO_MEMORY, "a core dump");
    for (uint64_t i = 0; i < count; i++) {
        memcpy(&h, file->bytes + header.e_phoff + i * sizeof(h), sizeof(h));
        HD_TRY(segment_add(file, &h));
    }
    qsort(file->segments, file->nsegments, sizeof(*file->segments), by_address);
    for (size_t i = 1; i < file->nsegments; i++)
        if (file->segments[i].va - file->segments[i - 1].va < file->segments[i - 1].size_B)
            return damaged("memory that is there twice");
    return file->notes.at ? HD_OK : damaged("it has no notes");
}

enum hd_status dump_file_open(const char *bytes, size_t size_B, struct dump_file *out_file)
{
    *out_file = (struct dump_file){.bytes = bytes, .size_B = size_B};
    enum hd_status status = segments_read(out_file);
    if (status != HD_OK)
        dump_file_close(out_file);
    return status;
}

void dump_file_close(struct dump_file *file)
{
    hd_free(file->segments);
    *file = (struct dump_file){0};
}

/* Names and bodies are filled up to a multiple of four. */
static bool skip(struct dump_in *in, uint64_t size_B, struct dump_in *out)
{
    uint64_t left_B = (uint64_t)(in->end - in->at);

    assert(in->at <= in->end);
    in->failed = in->failed || size_B > left_B;
    if (in->failed)
        return false;
    *out = (struct dump_in){.at = in->at, .end = in->at + size_B};
    in->at += HD_MIN(hd_align_up(size_B, 4), left_B);
    return true;
}

bool dump_file_note(struct dump_file *file, uint32_t *out_type, struct dump_in *out_body)
{
    struct dump_in *in = &file->notes, name;
    Elf64_Nhdr h;

    while (in->at < in->end && !in->failed) {
        dump_get(in, &h, sizeof(h));
        if (!skip(in, h.n_namesz, &name) || !skip(in, h.n_descsz, out_body))
            return false;
        *out_type = h.n_type;
        if (h.n_namesz == sizeof(DUMP_OWNER) && !memcmp(name.at, DUMP_OWNER, sizeof(DUMP_OWNER)))
            return true;
    }
    return false;
}

const char *dump_file_at(const struct dump_file *file, uint64_t va, uint64_t *out_left_B)
{
    size_t low = 0, high = file->nsegments;

    while (low < high) { /* the first one that ends behind va */
        size_t mid = low + (high - low) / 2;
        if (file->segments[mid].va + file->segments[mid].size_B <= va)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == file->nsegments || file->segments[low].va > va)
        return NULL;
    assert(va - file->segments[low].va < file->segments[low].size_B);
    *out_left_B = file->segments[low].size_B - (va - file->segments[low].va);
    return file->segments[low].bytes + (va - file->segments[low].va);
}
