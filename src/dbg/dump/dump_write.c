/* The file of a core dump (dump_file.h): notes about what stands still, then memory. */
#include "dbg/dump/dump_private.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "dbg/dump/dump_file.h"

#ifndef HEDDLE_VERSION
#error "the version goes into the file"
#endif

enum { PAGE_B = 4096, PIECE_B = 64 << 20 };

/* What is being written. */
struct writer {
    const struct dump_state *state;
    const struct dump_wish *wish;
    struct hd_buf notes;
    struct dump_ranges ranges;
    bool failed; /* memory is short */
    HD_VEC(const struct dump_program *) programs;
    HD_VEC(const struct interp_launch *) launches;
};

/* ---- notes */

static size_t write_note_begin(struct writer *w, enum dump_note type)
{
    Elf64_Nhdr h = {.n_namesz = sizeof(DUMP_OWNER), .n_type = type};

    hd_buf_append(&w->notes, &h, sizeof(h));
    hd_buf_append(&w->notes, DUMP_OWNER "\0", (sizeof(DUMP_OWNER) + 3) / 4 * 4);
    return w->notes.len;
}

static void write_note_end(struct writer *w, size_t begin)
{
    uint64_t size_B = w->notes.len - begin;
    uint32_t field = (uint32_t)size_B;

    assert(w->notes.failed || begin <= w->notes.len);
    w->failed |= w->notes.failed || size_B > UINT32_MAX;
    if (w->failed)
        return;
    memcpy(w->notes.ptr + begin - (sizeof(DUMP_OWNER) + 3) / 4 * 4 - sizeof(Elf64_Nhdr) +
               offsetof(Elf64_Nhdr, n_descsz),
           &field, sizeof(field));
    hd_buf_append(&w->notes, "\0\0\0", (4 - size_B % 4) % 4);
}

static uint32_t write_block_of(const struct writer *w, const struct interp_thread *t)
{
    uint32_t n = 0;

    for (size_t i = 0; t && i < w->state->ctas.len; i++) {
        if (w->state->ctas.at[i]->cta == interp_debug_cta(t))
            return w->state->ctas.at[i]->stands ? n : DUMP_NOBODY;
        n += w->state->ctas.at[i]->stands;
    }
    return DUMP_NOBODY;
}

static void write_process(struct writer *w, const struct dump_fault *fault)
{
    size_t begin = write_note_begin(w, DUMP_NOTE_PROCESS);
    uint32_t block = write_block_of(w, fault->t);
    char exe[4096];
    ssize_t exe_B = readlink("/proc/self/exe", exe, sizeof(exe));

    dump_put_u32(&w->notes, DUMP_FORMAT);
    dump_put_text(&w->notes, HEDDLE_VERSION);
    dump_put_u64(&w->notes, (uint64_t)time(NULL));
    dump_put_u32(&w->notes, (uint32_t)getpid());
    dump_put_bytes(&w->notes, exe, exe_B > 0 ? (size_t)exe_B : 0);
    dump_put_u32(&w->notes, w->wish->flags);
    dump_put_u32(&w->notes, fault->exception);
    dump_put_u32(&w->notes, fault->signal);
    dump_put_text(&w->notes, fault->text);
    dump_put_u32(&w->notes, block);
    dump_put_u32(&w->notes, block == DUMP_NOBODY ? 0 : interp_debug_index(fault->t));
    write_note_end(w, begin);
}

static void write_program(struct writer *w, const struct dump_program *p)
{
    size_t begin = write_note_begin(w, DUMP_NOTE_PROGRAM);

    dump_put_u32(&w->notes, (uint32_t)p->ntexts);
    for (size_t i = 0; i < p->ntexts; i++) {
        dump_put_text(&w->notes, p->texts[i].name);
        dump_put_bytes(&w->notes, p->texts[i].ptx, p->texts[i].len);
    }
    dump_put_u32(&w->notes, (uint32_t)p->variables.len);
    for (size_t i = 0; i < p->variables.len; i++) {
        dump_put_text(&w->notes, p->variables.at[i].name);
        dump_put_u64(&w->notes, p->variables.at[i].va);
        dump_put_u32(&w->notes, p->variables.at[i].is_managed);
    }
    write_note_end(w, begin);
}

static void write_launch(struct writer *w, const struct interp_launch *l, uint32_t program,
                         uint64_t local_B)
{
    size_t begin = write_note_begin(w, DUMP_NOTE_LAUNCH);

    dump_put_u32(&w->notes, program);
    dump_put_text(&w->notes, l->kernel->name);
    dump_put_u64(&w->notes, l->grid_id);
    dump_put_triple(&w->notes, l->grid);
    dump_put_triple(&w->notes, l->block);
    dump_put_triple(&w->notes, l->cluster);
    dump_put_u32(&w->notes, l->dynamic_shared_B);
    dump_put_u64(&w->notes, local_B);
    dump_put_u32(&w->notes, l->nsms);
    dump_put_bytes(&w->notes, l->params, l->kernel->param_size_B);
    write_note_end(w, begin);
}

/* Which one it is in the file; it is written when it is met first. */
static uint32_t write_program_number(struct writer *w, const struct dump_program *p)
{
    assert(p);
    for (size_t i = 0; i < w->programs.len; i++)
        if (w->programs.at[i] == p)
            return (uint32_t)i;
    w->failed |= !hd_vec_push(&w->programs, p);
    write_program(w, p);
    return (uint32_t)w->programs.len - 1;
}

static uint32_t write_launch_number(struct writer *w, const struct interp_cta *cta,
                                    const struct dump_program *p)
{
    const struct interp_launch *l = interp_debug_launch(cta);
    uint32_t program = write_program_number(w, p);
    uint64_t local_B;

    for (size_t i = 0; i < w->launches.len; i++)
        if (w->launches.at[i]->grid_id == l->grid_id && w->launches.at[i]->kernel == l->kernel)
            return (uint32_t)i;
    w->failed |= !hd_vec_push(&w->launches, l);
    (void)interp_debug_local(interp_debug_thread(cta, 0), &local_B);
    write_launch(w, l, program, local_B);
    return (uint32_t)w->launches.len - 1;
}

static void write_registers(struct hd_buf *out, const struct interp_thread *t, unsigned frame,
                            uint32_t nregs)
{
    uint64_t value[2];
    uint32_t n = 0;

    for (uint32_t r = 0; r < nregs; r++)
        n += interp_debug_reg(t, frame, r, value);
    dump_put_u32(out, n);
    for (uint32_t r = 0; r < nregs; r++) {
        if (!interp_debug_reg(t, frame, r, value))
            continue;
        dump_put_u32(out, r);
        dump_put_u64(out, value[0]);
        dump_put_u64(out, value[1]);
    }
}

static void write_thread(struct hd_buf *out, const struct interp_thread *t)
{
    unsigned depth = interp_debug_depth(t);
    uint32_t returned_B;
    uint64_t local_B;
    const uint8_t *returned = interp_debug_returned(t, &returned_B);

    dump_put_u32(out, interp_debug_state(t));
    dump_put_u64(out, (uintptr_t)interp_debug_local(t, &local_B));
    dump_put_bytes(out, returned, returned_B);
    dump_put_u32(out, depth);
    for (unsigned f = depth; f > 0; f--) {
        struct interp_spot spot = interp_debug_spot(t, f - 1);
        assert(spot.func);
        dump_put_text(out, spot.func->name);
        dump_put_u32(out, spot.line);
        dump_put_u32(out, spot.col);
        dump_put_u64(out, interp_debug_local_base(t, f - 1));
        write_registers(out, t, f - 1, spot.func->nregs);
    }
}

static void write_range(struct writer *w, uint64_t va, uint64_t size_B)
{
    if (size_B)
        w->failed |= !hd_vec_push(&w->ranges.list, (struct dump_range){va, size_B});
}

static void write_block(struct writer *w, const struct interp_cta *cta, uint32_t launch)
{
    assert(w->failed || launch < w->launches.len);
    uint64_t shared_B, local_B;
    const char *shared = interp_debug_shared(cta, &shared_B);
    size_t begin = write_note_begin(w, DUMP_NOTE_BLOCK);

    dump_put_u32(&w->notes, launch);
    dump_put_triple(&w->notes, interp_debug_ctaid(cta));
    dump_put_u32(&w->notes, interp_debug_sm(cta));
    dump_put_u64(&w->notes, (uintptr_t)shared);
    dump_put_u64(&w->notes, shared_B);
    if (!(w->wish->flags & DUMP_SKIP_SHARED))
        write_range(w, (uintptr_t)shared, shared_B);
    for (uint32_t i = 0; i < interp_debug_nthreads(cta); i++) {
        const struct interp_thread *t = interp_debug_thread(cta, i);
        write_thread(&w->notes, t);
        const char *local = interp_debug_local(t, &local_B);
        if (!(w->wish->flags & DUMP_SKIP_LOCAL))
            write_range(w, (uintptr_t)local, local_B);
    }
    write_note_end(w, begin);
}

/* ---- memory */

static int write_by_address(const void *a, const void *b)
{
    const struct dump_range *x = a, *y = b;

    return x->va < y->va ? -1 : x->va > y->va;
}

/* In order, none beside or over another. */
static void write_ranges_merge(struct dump_ranges *r)
{
    size_t n = 0;

    if (!r->list.len)
        return;
    qsort(r->list.at, r->list.len, sizeof(*r->list.at), write_by_address);
    for (size_t i = 1; i < r->list.len; i++) {
        struct dump_range *last = &r->list.at[n], *next = &r->list.at[i];
        if (next->va <= last->va + last->size_B)
            last->size_B = HD_MAX(last->size_B, next->va + next->size_B - last->va);
        else
            r->list.at[++n] = *next;
    }
    r->list.len = n + 1;
}

/* ---- the file */

static bool write_at(int fd, const void *bytes, uint64_t size_B, uint64_t offset)
{
    while (size_B) {
        ssize_t n = pwrite(fd, bytes, size_B, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes = (const char *)bytes + n;
        offset += (uint64_t)n;
        size_B -= (uint64_t)n;
    }
    return true;
}

/* Pages that nobody may read, because they have gone meanwhile, are holes in the file. */
static bool write_memory(int fd, struct dump_range r, uint64_t offset)
{
    while (r.size_B) {
        const void *at = (const void *)(uintptr_t)r.va;
        ssize_t n = pwrite(fd, at, HD_MIN(r.size_B, (uint64_t)PIECE_B), (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EFAULT)
            return false;
        uint64_t done = n > 0 ? (uint64_t)n : HD_MIN(PAGE_B - r.va % PAGE_B, r.size_B);
        r.va += done;
        r.size_B -= done;
        offset += done;
    }
    return ftruncate(fd, (off_t)offset) == 0;
}

static Elf64_Ehdr write_header(uint64_t nsegments)
{
    bool is_more = nsegments + 1 >= PN_XNUM;

    return (Elf64_Ehdr){
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_CORE,
        .e_machine = DUMP_MACHINE,
        .e_version = EV_CURRENT,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = is_more ? PN_XNUM : (uint16_t)(nsegments + 1),
        .e_phoff = sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr),
        .e_shoff = sizeof(Elf64_Ehdr),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = 1,
    };
}

/* Everything in front of memory; `*out_at`: where that begins. */
static void write_head(const struct writer *w, struct hd_buf *out, uint64_t *out_at)
{
    uint64_t n = w->ranges.list.len;
    Elf64_Ehdr header = write_header(n);
    Elf64_Shdr section = {.sh_info = (uint32_t)(n + 1)};
    Elf64_Phdr notes = {.p_type = PT_NOTE,
                        .p_offset = header.e_phoff + (n + 1) * sizeof(Elf64_Phdr),
                        .p_filesz = w->notes.len,
                        .p_align = 4};
    uint64_t at = *out_at = hd_align_up(notes.p_offset + w->notes.len, PAGE_B);

    hd_buf_append(out, &header, sizeof(header));
    hd_buf_append(out, &section, sizeof(section));
    hd_buf_append(out, &notes, sizeof(notes));
    for (uint64_t i = 0; i < n; i++) {
        const struct dump_range *r = &w->ranges.list.at[i];
        Elf64_Phdr load = {.p_type = PT_LOAD,
                           .p_flags = PF_R | PF_W,
                           .p_offset = at,
                           .p_vaddr = r->va,
                           .p_filesz = r->size_B,
                           .p_memsz = r->size_B,
                           .p_align = 1};
        hd_buf_append(out, &load, sizeof(load));
        at += r->size_B;
    }
    hd_buf_append(out, w->notes.ptr, w->notes.len);
    assert(out->failed || out->len <= *out_at);
}

static bool write_file_fill(const struct writer *w, int fd, const struct hd_buf *head, uint64_t at)
{
    assert(head->len <= at);
    if (!write_at(fd, head->ptr, head->len, 0))
        return false;
    for (size_t i = 0; i < w->ranges.list.len; i++) {
        if (!write_memory(fd, w->ranges.list.at[i], at))
            return false;
        at += w->ranges.list.at[i].size_B;
    }
    return true;
}

/* It has its name when it is whole. */
static enum hd_status write_file(const struct writer *w, const struct hd_buf *head, uint64_t at)
{
    const char *path = w->wish->path;
    char temporary[sizeof(w->wish->path) + 8];
    int error = 0;

    snprintf(temporary, sizeof(temporary), "%s.part", path);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return hd_error(HD_IO, "%s: %s", path, strerror(errno));
    if (!write_file_fill(w, fd, head, at))
        error = errno;
    if (close(fd) < 0 && !error)
        error = errno;
    if (!error && rename(temporary, path) < 0)
        error = errno;
    if (!error)
        return HD_OK;
    unlink(temporary);
    return hd_error(HD_IO, "%s: %s", path, strerror(error));
}

static enum hd_status write_all(struct writer *w, const struct dump_fault *fault)
{
    struct hd_buf head;
    uint64_t at;

    write_process(w, fault);
    for (size_t i = 0; i < w->state->ctas.len; i++) {
        const struct dump_cta *c = w->state->ctas.at[i];
        if (c->stands)
            write_block(w, c->cta, write_launch_number(w, c->cta, c->program));
    }
    if (!(w->wish->flags & DUMP_SKIP_GLOBAL))
        w->failed |= !w->state->host->memory(&w->ranges);
    for (size_t i = 0; !(w->wish->flags & DUMP_SKIP_CONST) && i < w->programs.len; i++) {
        const struct dump_program *p = w->programs.at[i];
        for (size_t k = 0; k < p->variables.len; k++)
            if (p->variables.at[k].is_constant)
                write_range(w, p->variables.at[k].va, p->variables.at[k].size_B);
    }
    write_ranges_merge(&w->ranges);
    hd_buf_init(&head);
    write_head(w, &head, &at);
    enum hd_status status = w->failed || head.failed
                                ? hd_error(HD_NO_MEMORY, "no memory for a core dump")
                                : write_file(w, &head, at);
    hd_buf_fini(&head);
    return status;
}

enum hd_status dump_write(const struct dump_state *s, const struct dump_fault *fault,
                          const struct dump_wish *wish)
{
    struct writer w = {.state = s, .wish = wish};

    hd_buf_init(&w.notes);
    enum hd_status status = write_all(&w, fault);
    hd_buf_fini(&w.notes);
    hd_vec_fini(&w.ranges.list);
    hd_vec_fini(&w.programs);
    hd_vec_fini(&w.launches);
    return status;
}
