#include "core/debug/coredump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "core/context.h"
#include "core/mem/memory_parts.h"
#include "core/mem/mempool_parts.h"
#include "core/module/image.h"
#include "core/module/module.h"
#include "dbg/dump/dump.h"
#include "hal/hal.h"
#include "ir/ir.h"

#define FILE_NAME "core_%t_%h_%p.nvcudmp"
#define PIPE_NAME "corepipe.cuda.%h.%p"
/* CU_COREDUMP_LIGHTWEIGHT_FLAGS; 1 is about machine code, of which there is none. */
#define LIGHTWEIGHT 47u
#define FLAGS       63u

struct core_dump_settings {
    bool on_exception, trigger_host, user_trigger;
    unsigned flags;
    char file[CORE_DUMP_TEXT_B], pipe[CORE_DUMP_TEXT_B];
};

/* Settings of the process and of contexts. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(lock, lock);
static struct core_dump_settings process = {
    .trigger_host = true, .file = FILE_NAME, .pipe = PIPE_NAME};
static bool is_read, is_listening, shows_progress;
/* Somebody has wanted dumps: then launches look closer. */
static _Atomic bool is_active;

static bool coredump_dump_is_on(const char *variable, bool otherwise)
{
    const char *text = hd_env(variable);

    return text ? strcmp(text, "0") != 0 : otherwise;
}

/* ---- the host of dbg/dump/dump.c */

/* %h the machine, %p the process, %t seconds since 1970, %% a %. */
static void coredump_dump_name_make(const char *pattern, char *out, size_t out_B)
{
    struct hd_buf text;

    hd_buf_init(&text);
    for (; *pattern; pattern++) {
        char c = pattern[0] == '%' ? pattern[1] : '\0';
        pattern += c != '\0' && strchr("hpt%", c);
        if (c == 'h') {
            char name[256] = "";

            if (gethostname(name, sizeof(name) - 1) < 0 || !*name)
                snprintf(name, sizeof(name), "localhost");
            hd_buf_puts(&text, name);
        } else if (c == 'p')
            hd_buf_printf(&text, "%d", (int)getpid());
        else if (c == 't')
            hd_buf_printf(&text, "%lld", (long long)time(NULL));
        else
            hd_buf_putc(&text, *pattern);
    }
    snprintf(out, out_B, "%s", text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
}

static const struct core_dump_settings *
coredump_dump_settings_locked(const struct core_context *ctx)
{
    return ctx && ctx->dump ? ctx->dump : &process;
}

/* A context fails once. */
static bool coredump_dump_begin(const void *owner, struct dump_wish *out)
{
    struct core_context *ctx = (struct core_context *)(uintptr_t)owner;
    bool wanted;

    pthread_mutex_lock(&lock);
    const struct core_dump_settings *s = coredump_dump_settings_locked(ctx);
    wanted = !ctx || (s->on_exception && !atomic_exchange(&ctx->dumped, true));
    out->flags = s->flags;
    if (wanted)
        coredump_dump_name_make(s->file, out->path, sizeof(out->path));
    pthread_mutex_unlock(&lock);
    if (wanted && shows_progress)
        fprintf(stderr, "heddle: writing a core dump of kernels to %s\n", out->path);
    return wanted;
}

static void coredump_dump_blocks_add_locked(struct core_owner *owner, void *arg)
{
    struct dump_ranges *out = arg;

    for (uint32_t i = 0; i < owner->slots; i++) {
        const struct core_block *b = &owner->blocks[i];
        if (b->size_B && !b->is_multicast && !(b->pooled && b->pooled->cached))
            (void)!hd_vec_push(&out->list, (struct dump_range){b->base, b->size_B});
    }
}

static void coredump_dump_blocks_count_locked(struct core_owner *owner, void *arg)
{
    *(size_t *)arg += owner->slots;
}

static bool coredump_dump_memory(struct dump_ranges *out)
{
    size_t count = 0;

    hd_lock_acquire(&core_memory_lock);
    core_space_foreach_locked(coredump_dump_blocks_count_locked, &count);
    bool good = hd_vec_reserve(&out->list, out->list.len + count);
    if (good)
        core_space_foreach_locked(coredump_dump_blocks_add_locked, out);
    hd_lock_release(&core_memory_lock);
    return good;
}

static char pipe_path[1100]; /* by which users trigger dumps */
static pid_t pipe_owner;     /* a forked child has another one, or none */
static void coredump_dump_pipe_remove(void);

static void coredump_dump_end(const void *owner, const struct dump_wish *wish,
                              enum hd_status status)
{
    struct core_context *ctx = (struct core_context *)(uintptr_t)owner;
    bool goes_on;

    if (status != HD_OK) {
        hd_log("no core dump: %s", hd_error_message());
        return;
    }
    fprintf(stderr, "heddle: core dump of kernels: %s (heddle gdb --core FILE shows it)\n",
            wish->path);
    pthread_mutex_lock(&lock);
    goes_on = wish->flags & DUMP_SKIP_ABORT || !coredump_dump_settings_locked(ctx)->trigger_host;
    pthread_mutex_unlock(&lock);
    if (!goes_on) {
        /* As CUDA does; what kernels printed is shown first. */
        coredump_dump_pipe_remove();
        if (ctx)
            ctx->device->hal->ops->printf_flush(ctx->domain);
        fprintf(stderr, "heddle: the program is aborted, as CUDA does after a core dump; "
                        "CUDA_COREDUMP_GENERATION_FLAGS=skip_abort lets it go on\n");
        abort();
    }
}

static void coredump_dump_activate(void)
{
    static const struct dump_host host = {coredump_dump_begin, coredump_dump_memory,
                                          coredump_dump_end};

    if (dbg_is_active()) { /* it stops at what fails; one of both looks at kernels */
        static bool is_notified;
        if (!is_notified)
            hd_log("there are no core dumps under a debugger");
        is_notified = true;
        return;
    }
    if (!atomic_exchange(&is_active, true))
        dump_start(&host);
}

/* ---- dumps that users trigger: a byte in a pipe */

static void coredump_dump_pipe_remove(void)
{
    if (getpid() == pipe_owner)
        unlink(pipe_path);
}

/* It is open for writing, too, so that it never ends. */
static void *coredump_dump_listen_main(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char bytes[4096];
    ssize_t n;

    while ((n = read(fd, bytes, sizeof(bytes))) != 0) {
        if (n > 0)
            dump_now();
        else if (errno != EINTR)
            break;
    }
    return NULL;
}

static enum hd_status coredump_dump_listen_locked(void)
{
    pthread_t thread;
    int fd = -1;

    if (is_listening)
        return HD_OK;
    coredump_dump_name_make(process.pipe, pipe_path, sizeof(pipe_path));
    if (mkfifo(pipe_path, 0600) == 0)
        fd = open(pipe_path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return hd_error(HD_IO, "the pipe that triggers core dumps, %s: %s", pipe_path,
                        strerror(errno));
    int error = hd_thread_create(&thread, NULL, coredump_dump_listen_main, (void *)(intptr_t)fd);
    if (error) {
        close(fd);
        unlink(pipe_path);
        return hd_error(HD_NO_MEMORY, "core dumps: %s", strerror(error));
    }
    pthread_detach(thread);
    pipe_owner = getpid();
    (void)atexit(coredump_dump_pipe_remove);
    is_listening = true;
    if (shows_progress)
        fprintf(stderr, "heddle: a byte written to %s triggers a core dump of kernels\n",
                pipe_path);
    return HD_OK;
}

/* ---- settings */

static enum hd_status coredump_dump_flags_parse(const char *text, unsigned *out)
{
    static const struct {
        const char *name;
        unsigned flags;
    } words[] = {{"skip_nonrelocated_elf_images", 1},
                 {"skip_global_memory", DUMP_SKIP_GLOBAL},
                 {"skip_shared_memory", DUMP_SKIP_SHARED},
                 {"skip_local_memory", DUMP_SKIP_LOCAL},
                 {"skip_abort", DUMP_SKIP_ABORT},
                 {"skip_constbank_memory", DUMP_SKIP_CONST},
                 {"lightweight", LIGHTWEIGHT}};

    while (*text) {
        size_t len = strcspn(text, ","), i = 0;
        while (i < HD_COUNT_OF(words) && !hd_str_is((struct hd_str){text, len}, words[i].name))
            i++;
        if (len && i == HD_COUNT_OF(words))
            return hd_error(HD_BAD_ARG, "CUDA_COREDUMP_GENERATION_FLAGS: what is '%.*s'?", (int)len,
                            text);
        *out |= len ? words[i].flags : 0;
        text += len + (text[len] == ',');
    }
    return HD_OK;
}

static enum hd_status coredump_dump_environment_read_locked(void)
{
    struct core_dump_settings *s = &process;
    const char *file = hd_env("CUDA_COREDUMP_FILE"), *pipe = hd_env("CUDA_COREDUMP_PIPE");
    const char *flags = hd_env("CUDA_COREDUMP_GENERATION_FLAGS");

    if (is_read)
        return HD_OK;
    if (flags)
        HD_TRY(coredump_dump_flags_parse(flags, &s->flags));
    if (coredump_dump_is_on("CUDA_ENABLE_LIGHTWEIGHT_COREDUMP", false))
        s->flags |= LIGHTWEIGHT;
    if (strlen(file ? file : "") >= sizeof(s->file) || strlen(pipe ? pipe : "") >= sizeof(s->pipe))
        return hd_error(HD_BAD_ARG, "CUDA_COREDUMP_FILE and CUDA_COREDUMP_PIPE: at most %d bytes",
                        CORE_DUMP_TEXT_B - 1);
    if (file)
        snprintf(s->file, sizeof(s->file), "%s", file);
    if (pipe)
        snprintf(s->pipe, sizeof(s->pipe), "%s", pipe);
    s->on_exception = coredump_dump_is_on("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", false);
    s->user_trigger = coredump_dump_is_on("CUDA_ENABLE_USER_TRIGGERED_COREDUMP", false);
    s->trigger_host = coredump_dump_is_on("CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION", true);
    shows_progress = coredump_dump_is_on("CUDA_COREDUMP_SHOW_PROGRESS", false);
    is_read = true;
    return HD_OK;
}

/* What the settings ask for now has its effect from now on. */
static enum hd_status coredump_dump_apply_locked(const struct core_dump_settings *s)
{
    if (s->on_exception || s->user_trigger)
        coredump_dump_activate();
    return s->user_trigger ? coredump_dump_listen_locked() : HD_OK;
}

enum hd_status core_dump_init(void)
{
    pthread_mutex_lock(&lock);
    enum hd_status status = coredump_dump_environment_read_locked();
    if (status == HD_OK)
        status = coredump_dump_apply_locked(&process);
    pthread_mutex_unlock(&lock);
    return status;
}

static size_t coredump_dump_setting_B(const struct core_dump_settings *s, unsigned which)
{
    switch (which) {
    case CORE_DUMP_ON_EXCEPTION:
    case CORE_DUMP_TRIGGER_HOST:
    case CORE_DUMP_LIGHTWEIGHT:
    case CORE_DUMP_USER_TRIGGER:
        return sizeof(bool);
    case CORE_DUMP_FILE:
        return strlen(s->file) + 1;
    case CORE_DUMP_PIPE:
        return strlen(s->pipe) + 1;
    case CORE_DUMP_FLAGS:
        return sizeof(int);
    default:
        return 0;
    }
}

static bool coredump_dump_flag_of(const struct core_dump_settings *s, unsigned which)
{
    return which == CORE_DUMP_ON_EXCEPTION   ? s->on_exception
           : which == CORE_DUMP_TRIGGER_HOST ? s->trigger_host
           : which == CORE_DUMP_LIGHTWEIGHT  ? (s->flags & LIGHTWEIGHT) == LIGHTWEIGHT
                                             : s->user_trigger;
}

static enum hd_status coredump_dump_get_locked(struct core_context *ctx, unsigned which,
                                               void *value, size_t *size_B)
{
    HD_TRY(coredump_dump_environment_read_locked());
    const struct core_dump_settings *s = coredump_dump_settings_locked(ctx);
    size_t need_B = coredump_dump_setting_B(s, which);
    if (!need_B || (value && *size_B < need_B))
        return hd_error(HD_BAD_ARG, "core dump setting %u", which);
    if (value) {
        bool flag = coredump_dump_flag_of(s, which);

        if (which == CORE_DUMP_FILE || which == CORE_DUMP_PIPE)
            memcpy(value, which == CORE_DUMP_FILE ? s->file : s->pipe, need_B);
        else if (which == CORE_DUMP_FLAGS)
            memcpy(value, &s->flags, need_B);
        else
            memcpy(value, &flag, need_B);
    }
    *size_B = need_B;
    return HD_OK;
}

enum hd_status core_dump_get(struct core_context *ctx, unsigned which, void *value, size_t *size_B)
{
    pthread_mutex_lock(&lock);
    enum hd_status status = coredump_dump_get_locked(ctx, which, value, size_B);
    pthread_mutex_unlock(&lock);
    return status;
}

static enum hd_status coredump_dump_setting_change(struct core_dump_settings *s, unsigned which,
                                                   const void *value, size_t size_B)
{
    bool on = *(const char *)value != 0;

    if (which == CORE_DUMP_FILE || which == CORE_DUMP_PIPE) {
        char *out = which == CORE_DUMP_FILE ? s->file : s->pipe;
        size_t len = strnlen(value, size_B);

        if (!len || len >= CORE_DUMP_TEXT_B)
            return hd_error(HD_BAD_ARG, "the name of a core dump has 1 to %d bytes",
                            CORE_DUMP_TEXT_B - 1);
        memcpy(out, value, len);
        out[len] = '\0';
        return HD_OK;
    }
    if (size_B < coredump_dump_setting_B(s, which))
        return hd_error(HD_BAD_ARG, "core dump setting %u has %zu bytes", which,
                        coredump_dump_setting_B(s, which));
    if (which == CORE_DUMP_FLAGS) {
        unsigned flags;

        memcpy(&flags, value, sizeof(flags));
        if (flags & ~FLAGS)
            return hd_error(HD_BAD_ARG, "core dump flags 0x%x", flags);
        s->flags = flags;
        return HD_OK;
    }
    if (which == CORE_DUMP_ON_EXCEPTION)
        s->on_exception = on;
    else if (which == CORE_DUMP_TRIGGER_HOST)
        s->trigger_host = on;
    else if (which == CORE_DUMP_LIGHTWEIGHT)
        s->flags = on ? s->flags | LIGHTWEIGHT : s->flags & ~LIGHTWEIGHT;
    else
        s->user_trigger = on;
    return HD_OK;
}

/* Its own, which begin as the process's. */
static enum hd_status coredump_dump_own_locked(struct core_context *ctx,
                                               struct core_dump_settings **out)
{
    *out = &process;
    if (!ctx)
        return HD_OK;
    if (!ctx->dump) {
        ctx->dump = hd_new(struct core_dump_settings);
        if (!ctx->dump)
            return hd_error(HD_NO_MEMORY, "core dump settings");
        *ctx->dump = process;
    }
    *out = ctx->dump;
    return HD_OK;
}

static enum hd_status coredump_dump_set_locked(struct core_context *ctx, unsigned which,
                                               const void *value, size_t size_B)
{
    struct core_dump_settings *s;

    HD_TRY(coredump_dump_environment_read_locked());
    if (!coredump_dump_setting_B(&process, which) || !size_B)
        return hd_error(HD_BAD_ARG, "core dump setting %u", which);
    if ((which == CORE_DUMP_PIPE || which == CORE_DUMP_USER_TRIGGER) && (ctx || is_listening))
        return hd_error(HD_BAD_STATE, "the pipe that triggers core dumps is the process's, and "
                                      "stays once it is there");
    HD_TRY(coredump_dump_own_locked(ctx, &s));
    HD_TRY(coredump_dump_setting_change(s, which, value, size_B));
    return coredump_dump_apply_locked(s);
}

enum hd_status core_dump_set(struct core_context *ctx, unsigned which, const void *value,
                             size_t size_B)
{
    pthread_mutex_lock(&lock);
    enum hd_status status = coredump_dump_set_locked(ctx, which, value, size_B);
    pthread_mutex_unlock(&lock);
    return status;
}

static enum hd_status coredump_dump_context_locked(struct core_context *ctx, bool on_exception,
                                                   bool by_user)
{
    struct core_dump_settings *s;

    HD_TRY(coredump_dump_environment_read_locked());
    HD_TRY(coredump_dump_own_locked(ctx, &s));
    s->on_exception |= on_exception;
    s->user_trigger |= by_user;
    return coredump_dump_apply_locked(s);
}

enum hd_status core_dump_context(struct core_context *ctx, unsigned flags)
{
    enum { ENABLE = 0x20, USER_ENABLE = 0x40 }; /* of CUctx_flags */

    if (!(flags & (ENABLE | USER_ENABLE)))
        return HD_OK;
    pthread_mutex_lock(&lock);
    enum hd_status status = coredump_dump_context_locked(ctx, flags & ENABLE, flags & USER_ENABLE);
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- launches */

bool core_dump_wants(struct core_context *ctx)
{
    if (HD_LIKELY(!atomic_load_explicit(&is_active, memory_order_relaxed)))
        return false;
    pthread_mutex_lock(&lock);
    const struct core_dump_settings *s = coredump_dump_settings_locked(ctx);
    bool wants = s->on_exception || s->user_trigger || process.user_trigger;
    pthread_mutex_unlock(&lock);
    return wants;
}

/* NULL: no memory. */
static struct dump_program *coredump_dump_program_make(struct core_module *module,
                                                       const struct dbg_text *texts, size_t count)
{
    struct dump_program *p = dump_program_create(texts, count, module->ctx);

    for (const struct ir_var *v = core_image_decls(module->image)->vars; p && v; v = v->next) {
        const struct dump_variable variable = {.name = v->name,
                                               .va = module->var_va[v->index],
                                               .size_B = v->size_B,
                                               .is_constant = v->space == IR_SPACE_CONST,
                                               .is_managed = core_module_var_is_managed(module, v)};
        if (variable.va && !dump_program_variable(p, &variable)) {
            dump_program_destroy(p);
            p = NULL;
        }
    }
    return p;
}

enum hd_status core_dump_code(struct core_module *module, const struct ir_module *code)
{
    size_t count;
    const struct dbg_text *texts = core_image_texts(module->image, &count);

    hd_lock_acquire(&module->lock);
    if (!module->dump && texts)
        module->dump = coredump_dump_program_make(module, texts, count);
    bool good = module->dump && dump_program_code(module->dump, code);
    hd_lock_release(&module->lock);
    return good ? HD_OK : hd_error(HD_NO_MEMORY, "core dumps of a module");
}
