/*
 * A core dump as the debugger sees it: programs from their PTX, compiled for a debugger once more,
 * and blocks of the interpreter whose threads are put where the file says that they were.
 *
 * Memory is the file's: windows of blocks point into it, and what is not in the file into pages
 * that nobody may read. All memory is copied by the kernel (memory.c), so a file that somebody cuts
 * off meanwhile is no fault of ours either.
 */
#include <assert.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/mem.h"
#include "compile.h"
#include "dbg/dump/dump_file.h"
#include "dbg/private.h"
#include "interp/interp_cta.h"

enum { THREADS_MAX = 1024, DEPTH_MAX = 1 << 16, TEXT_MAX_B = 32 << 10 };
#define WINDOW_MAX_B ((uint64_t)1 << 32)

struct opened_program {
    struct dbg_text *texts; /* in the file */
    struct compile_unit *units;
    uint32_t count; /* of both */
    struct dbg_program *debugged;
    struct compile_program *compiled;
};

struct opened_launch {
    struct interp_launch launch;
    struct ir_module *code;
    struct dbg_program *debugged;
    uint64_t local_B;
};

struct opened {
    struct dump_file file;
    struct hd_arena arena;
    char *nowhere; /* of nowhere_B, which nobody may read */
    uint64_t nowhere_B;
    HD_VEC(struct opened_program) programs;
    HD_VEC(struct opened_launch *) launches;
    struct dbg_stop stop;
    uint32_t block, thread; /* that failed */
};

static struct opened core;

static enum hd_status open_damaged(const char *what)
{
    return hd_error(HD_CORRUPT, "the core dump is damaged or cut off: %s", what);
}

/* A name, or parameters: with a NUL behind. */
static const char *open_text(struct hd_str text)
{
    char *copy = NULL;

    if (text.len <= TEXT_MAX_B)
        copy = hd_arena_array(&core.arena, char, text.len + 1);
    if (!copy)
        core.arena.failed = true;
    else if (text.len)
        memcpy(copy, text.ptr, text.len);
    return copy ? copy : "";
}

/* ---- PROCESS */

static enum hd_status open_process(struct dump_in *in)
{
    uint32_t format = dump_get_u32(in);
    struct hd_str version = dump_get_text(in);

    if (!in->failed && format != DUMP_FORMAT)
        return hd_error(HD_BAD_VERSION,
                        "the core dump was written by Heddle %.*s, in a form that "
                        "this one does not know",
                        HD_STR_ARG(version));
    (void)dump_get_u64(in); /* time */
    (void)dump_get_u32(in); /* process */
    (void)dump_get_text(in);
    (void)dump_get_u32(in); /* flags */
    core.stop = (struct dbg_stop){.kind = DBG_STOP_SIGNAL, .exception = dump_get_u32(in)};
    core.stop.signal = dump_get_u32(in) & 0xff;
    struct hd_str what = dump_get_text(in);
    snprintf(core.stop.text, sizeof(core.stop.text), "%.*s", (int)HD_MIN(what.len, 300u), what.ptr);
    core.block = dump_get_u32(in);
    core.thread = dump_get_u32(in);
    return in->failed ? open_damaged("who wrote it") : HD_OK;
}

/* ---- PROGRAM */

static enum hd_status open_texts(struct dump_in *in, struct opened_program *p)
{
    uint32_t count = dump_get_u32(in);

    if (in->failed || count > (size_t)(in->end - in->at) / 8)
        return open_damaged("a program");
    p->texts = hd_alloc_array(count + 1u, sizeof(*p->texts));
    p->units = hd_alloc_array(count + 1u, sizeof(*p->units));
    if (!p->texts || !p->units)
        return hd_error(HD_NO_MEMORY, "a core dump");
    for (; p->count < count && !in->failed; p->count++) {
        const char *name = open_text(dump_get_text(in));
        struct hd_str ptx = dump_get_text(in);
        p->texts[p->count] = (struct dbg_text){name, ptx.ptr, ptx.len};
        p->units[p->count] = (struct compile_unit){name, ptx.ptr, ptx.len};
    }
    HD_TRY(hd_arena_status(&core.arena));
    return in->failed ? open_damaged("a program") : HD_OK;
}

static enum hd_status open_program(struct dump_in *in)
{
    const struct compile_options options = {.debug = true};

    if (!hd_vec_push(&core.programs, (struct opened_program){0}))
        return hd_error(HD_NO_MEMORY, "a core dump");
    struct opened_program *p = &hd_vec_last(&core.programs);
    HD_TRY(open_texts(in, p));
    HD_TRY(compile_program_create(p->units, p->count, &options, &p->compiled));
    p->debugged = dbg_program_create(p->texts, p->count);
    if (!p->debugged)
        return hd_error(HD_CORRUPT, "a program of the core dump: %s", hd_error_message());
    for (uint32_t n = dump_get_u32(in); n && !in->failed; n--) {
        const char *name = open_text(dump_get_text(in));
        uint64_t va = dump_get_u64(in);
        dbg_program_global(p->debugged, name, va, dump_get_u32(in) != 0);
    }
    return in->failed ? open_damaged("variables") : hd_arena_status(&core.arena);
}

/* ---- LAUNCH */

static const struct ir_func *open_func_named(const struct ir_module *code, struct hd_str name)
{
    ir_foreach_func(f, code)
        if (hd_str_is(name, f->name) && f->nblocks)
            return f;
    return NULL;
}

static enum hd_status open_kernel(struct opened_launch *l, const struct opened_program *p,
                                  struct hd_str name)
{
    ir_foreach_func(f, compile_program_decls(p->compiled))
        if (hd_str_is(name, f->name) && compile_program_is_kernel(p->compiled, f->index))
            HD_TRY(compile_kernel(p->compiled, f->index, OPT_TARGET_COMMON, &l->code));
    l->launch.kernel = l->code ? open_func_named(l->code, name) : NULL;
    l->debugged = p->debugged;
    return l->launch.kernel ? HD_OK : open_damaged("a kernel that is not in its program");
}

static bool open_shape_is_good(const struct interp_launch *l)
{
    uint64_t threads = 1;

    for (int i = 0; i < 3; i++) {
        if (!l->grid[i] || !l->block[i] || l->block[i] > THREADS_MAX || l->cluster[i] > THREADS_MAX)
            return false;
        threads *= l->block[i];
    }
    return threads <= THREADS_MAX;
}

static enum hd_status open_launch_fill(struct opened_launch *l, struct dump_in *in)
{
    uint32_t program = dump_get_u32(in);
    struct hd_str kernel = dump_get_text(in);

    if (in->failed || program >= core.programs.len)
        return open_damaged("a launch");
    HD_TRY(open_kernel(l, &core.programs.at[program], kernel));
    l->launch.grid_id = dump_get_u64(in);
    dump_get_triple(in, l->launch.grid);
    dump_get_triple(in, l->launch.block);
    dump_get_triple(in, l->launch.cluster);
    l->launch.dynamic_shared_B = dump_get_u32(in);
    l->local_B = dump_get_u64(in);
    l->launch.nsms = dump_get_u32(in);
    struct hd_str params = dump_get_text(in);
    if (in->failed || !open_shape_is_good(&l->launch) || l->local_B > WINDOW_MAX_B ||
        params.len != l->launch.kernel->param_size_B)
        return open_damaged("a launch");
    l->launch.params = open_text(params); /* aligned as well as anybody asks */
    if (!dbg_program_code(l->debugged, l->code))
        return hd_error(HD_NO_MEMORY, "a core dump");
    return hd_arena_status(&core.arena);
}

static enum hd_status open_launch(struct dump_in *in)
{
    struct opened_launch *l = hd_new(struct opened_launch);

    if (!l || !hd_vec_push(&core.launches, l)) {
        hd_free(l);
        return hd_error(HD_NO_MEMORY, "a core dump");
    }
    return open_launch_fill(l, in);
}

/* ---- BLOCK */

static char *open_window(uint64_t va, uint64_t size_B)
{
    uint64_t left_B = 0;
    const char *at = dump_file_at(&core.file, va, &left_B);

    assert(core.nowhere && size_B <= core.nowhere_B);
    return at && left_B >= size_B ? (char *)(uintptr_t)at : core.nowhere;
}

/* Pages for windows that the file does not have. */
static enum hd_status open_nowhere(uint64_t size_B)
{
    if (core.nowhere_B >= size_B && core.nowhere)
        return HD_OK;
    size_B = hd_align_up(size_B, 4096) + 4096;
    void *at = mmap(NULL, size_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return hd_error(HD_NO_MEMORY, "a core dump");
    if (core.nowhere)
        munmap(core.nowhere, core.nowhere_B); /* no block has it: all windows are equal */
    core.nowhere = at;
    core.nowhere_B = size_B;
    return HD_OK;
}

static enum hd_status open_frame(struct dump_in *in, const struct ir_module *code,
                                 struct interp_debug_frame *out)
{
    struct hd_str name = dump_get_text(in);

    *out = (struct interp_debug_frame){.line = dump_get_u32(in)};
    out->col = dump_get_u32(in);
    out->local_base = dump_get_u64(in);
    out->func = open_func_named(code, name);
    uint32_t n = dump_get_u32(in);
    if (in->failed || n > (size_t)(in->end - in->at) / 20)
        return open_damaged("registers");
    if (!out->func)
        return open_damaged("a function that is not in its program");
    struct interp_debug_reg *regs = hd_alloc_array(n + 1u, sizeof(*regs));
    if (!regs)
        return hd_error(HD_NO_MEMORY, "a core dump");
    for (uint32_t i = 0; i < n; i++) {
        regs[i].reg = dump_get_u32(in);
        regs[i].value[0] = dump_get_u64(in);
        regs[i].value[1] = dump_get_u64(in);
    }
    out->regs = regs;
    out->nregs = n;
    return HD_OK;
}

static enum hd_status open_frames(struct dump_in *in, const struct ir_module *code,
                                  struct interp_debug_thread *was)
{
    uint32_t n = dump_get_u32(in);

    if (in->failed || n > DEPTH_MAX || n > (size_t)(in->end - in->at) / 24)
        return open_damaged("frames");
    struct interp_debug_frame *frames = hd_alloc_array(n + 1u, sizeof(*frames));
    if (!frames)
        return hd_error(HD_NO_MEMORY, "a core dump");
    was->frames = frames;
    for (uint32_t i = 0; i < n; i++) {
        was->nframes = i + 1;
        HD_TRY(open_frame(in, code, &frames[i]));
    }
    return HD_OK;
}

static void open_frames_free(struct interp_debug_thread *was)
{
    for (size_t i = 0; i < was->nframes; i++)
        hd_free((void *)(uintptr_t)was->frames[i].regs);
    hd_free((void *)(uintptr_t)was->frames);
}

static enum hd_status open_thread(struct dump_in *in, const struct opened_launch *l,
                                  struct interp_thread *t)
{
    uint32_t state = dump_get_u32(in);
    uint64_t local = dump_get_u64(in);
    struct hd_str returned = dump_get_text(in);
    struct interp_debug_thread was = {.state = (enum interp_debug_state)state,
                                      .local = open_window(local, l->local_B),
                                      .returned = (const uint8_t *)returned.ptr,
                                      .returned_B = (uint32_t)returned.len};

    if (in->failed || state > INTERP_DEBUG_ENDED)
        return open_damaged("a thread");
    enum hd_status status = open_frames(in, l->code, &was);
    if (status == HD_OK)
        status = interp_debug_revive(t, &was);
    open_frames_free(&was);
    return status;
}

/* What the compiler makes of the program now has to fit what was dumped. */
static enum hd_status open_windows_check(const struct opened_launch *l, uint64_t shared_B)
{
    struct ir_window window;

    HD_TRY(ir_kernel_window(l->launch.kernel, &window));
    if (ir_window_shared_B(&window, l->launch.dynamic_shared_B) != shared_B ||
        shared_B > WINDOW_MAX_B || window.local_B > l->local_B)
        return open_damaged(
            "shared or local memory of another size; another version of Heddle wrote "
            "it, perhaps");
    return open_nowhere(HD_MAX(shared_B, l->local_B));
}

static enum hd_status open_block_create(const struct opened_launch *l, struct dump_in *in,
                                        struct interp_cta **out)
{
    struct interp_placement placement = {.local_B = l->local_B};

    dump_get_triple(in, placement.ctaid);
    placement.smid = dump_get_u32(in);
    uint64_t shared = dump_get_u64(in);
    placement.shared_B = dump_get_u64(in);
    for (int i = 0; i < 3; i++)
        if (in->failed || placement.ctaid[i] >= l->launch.grid[i])
            return open_damaged("a block");
    HD_TRY(open_windows_check(l, placement.shared_B));
    placement.shared = open_window(shared, placement.shared_B);
    placement.local = core.nowhere; /* until threads are read */
    return interp_cta_create(&l->launch, &placement, out);
}

static enum hd_status open_block(struct dump_in *in)
{
    uint32_t number = dump_get_u32(in);
    struct interp_cta *cta;

    if (in->failed || number >= core.launches.len)
        return open_damaged("a block");
    const struct opened_launch *l = core.launches.at[number];
    HD_TRY(open_block_create(l, in, &cta));
    if (!dbg_cta_add(cta, l->debugged, number)) {
        interp_cta_destroy(cta);
        return hd_error(HD_NO_MEMORY, "a core dump");
    }
    for (uint32_t i = 0; i < interp_debug_nthreads(cta); i++)
        HD_TRY(open_thread(in, l, interp_debug_thread(cta, i)));
    return HD_OK;
}

/* ---- the whole */

static enum hd_status open_notes(void)
{
    enum hd_status status = HD_OK;
    struct dump_in body;
    uint32_t type;
    bool is_first = true;

    while (status == HD_OK && dump_file_note(&core.file, &type, &body)) {
        if (is_first != (type == DUMP_NOTE_PROCESS))
            return open_damaged("the order of its notes");
        is_first = false;
        if (type == DUMP_NOTE_PROCESS)
            status = open_process(&body);
        else if (type == DUMP_NOTE_PROGRAM)
            status = open_program(&body);
        else if (type == DUMP_NOTE_LAUNCH)
            status = open_launch(&body);
        else if (type == DUMP_NOTE_BLOCK)
            status = open_block(&body);
    }
    HD_TRY(status);
    return is_first || core.file.notes.failed ? open_damaged("its notes") : HD_OK;
}

/* The thread that failed; without one, the first that has not ended. */
static enum hd_status open_stop(void)
{
    const struct interp_thread *t = dbg_any_thread();

    if (core.block != DUMP_NOBODY) {
        if (core.block >= dbg.ctas.len ||
            core.thread >= interp_debug_nthreads(dbg.ctas.at[core.block]->cta))
            return open_damaged("the thread that failed");
        t = interp_debug_thread(dbg.ctas.at[core.block]->cta, core.thread);
        if (!interp_debug_depth(t))
            return open_damaged("the thread that failed");
    }
    core.stop.tid = t ? dbg_tid(t) : 0;
    return HD_OK;
}

enum hd_status dbg_core_open(const char *bytes, size_t size_B)
{
    assert(!dbg.core && !dbg.ctas.len);
    hd_arena_init(&core.arena);
    dbg.core = &core.file;
    HD_TRY(dump_file_open(bytes, size_B, &core.file));
    HD_TRY(dbg_folder_make());
    HD_TRY(open_notes());
    dbg.nkernels = (uint32_t)core.launches.len;
    return open_stop();
}

void dbg_core_close(void)
{
    for (size_t i = 0; i < dbg.ctas.len; i++) {
        interp_cta_destroy(dbg.ctas.at[i]->cta);
        hd_free(dbg.ctas.at[i]);
    }
    hd_vec_fini(&dbg.ctas);
    dbg_files_remove_locked();
    for (size_t i = 0; i < core.launches.len; i++) {
        ir_module_destroy(core.launches.at[i]->code);
        hd_free(core.launches.at[i]);
    }
    for (size_t i = 0; i < core.programs.len; i++) {
        dbg_program_destroy(core.programs.at[i].debugged);
        compile_program_destroy(core.programs.at[i].compiled);
        hd_free(core.programs.at[i].texts);
        hd_free(core.programs.at[i].units);
    }
    hd_vec_fini(&core.launches);
    hd_vec_fini(&core.programs);
    hd_vec_fini(&dbg.programs);
    if (core.nowhere)
        munmap(core.nowhere, core.nowhere_B);
    dump_file_close(&core.file);
    hd_arena_fini(&core.arena);
    core = (struct opened){0};
    dbg.core = NULL;
    dbg.nctas_ever = dbg.nunits_ever = dbg.nkernels = 0;
}

void dbg_core_stop(struct dbg_stop *out)
{
    *out = core.stop;
}
