/* Hooks of the interpreter for core dumps: who runs, and standing still while a file is written. */
#include "dbg/dump/dump.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/lock.h"
#include "base/mem.h"
#include "dbg/dump/dump_private.h"
#include "dbg/exceptions.h"

enum { PATIENCE_S = 1 }; /* for others to come to the end of their turns */

/* Held for the lists and while a file is written; whoever has a turn does not wait for it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(lock, lock);
static struct dump_state state;

/* Whose turn this thread has. A signal may have thrown it out of one: it still has it then. */
static _Thread_local struct dump_cta *held;

static struct dump_cta *slot_of(struct interp_cta *cta)
{
    return *interp_debug_slot(cta);
}

/* ---- turns */

static void on_leave(struct interp_cta *cta)
{
    (void)cta;
    if (held)
        pthread_mutex_unlock(&held->turn);
    held = NULL;
}

static void on_enter(struct interp_cta *cta)
{
    struct dump_cta *c = slot_of(cta);

    if (held == c)
        return;
    on_leave(cta);
    if (c)
        pthread_mutex_lock(&c->turn);
    held = c;
}

static uint32_t on_pass(struct interp_warp *warp)
{
    (void)warp;
    return ~0u;
}

static bool on_access(struct interp_thread *t, const void *bytes, uint64_t size_B, bool write)
{
    (void)t, (void)bytes, (void)size_B, (void)write;
    return true;
}

static void on_wrote(struct interp_thread *t, uint32_t reg)
{
    (void)t, (void)reg;
}

/* ---- blocks */

/* Without memory it runs, and is in no file. */
static void on_begin(struct interp_cta *cta)
{
    struct dump_cta *c = hd_new(struct dump_cta);
    bool added;

    if (!c)
        return;
    c->cta = cta;
    pthread_mutex_init(&c->turn, NULL);
    pthread_mutex_lock(&lock);
    added = hd_vec_push(&state.ctas, c);
    pthread_mutex_unlock(&lock);
    if (added)
        *interp_debug_slot(cta) = c;
    else
        hd_free(c);
}

static void on_end(struct interp_cta *cta)
{
    struct dump_cta *c = slot_of(cta);

    bool found = false;

    on_leave(cta);
    if (!c)
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < state.ctas.len && !found; i++) {
        found = state.ctas.at[i] == c;
        if (found) {
            memmove(&state.ctas.at[i], &state.ctas.at[i + 1],
                    (state.ctas.len - i - 1) * sizeof(*state.ctas.at));
            state.ctas.len--;
        }
    }
    assert(found && !c->stands);
    pthread_mutex_unlock(&lock);
    *interp_debug_slot(cta) = NULL;
    pthread_mutex_destroy(&c->turn);
    hd_free(c);
}

/* ---- standing still */

static const struct dump_program *program_of_locked(const struct interp_cta *cta)
{
    const struct ir_module *code = interp_debug_launch(cta)->kernel->module;

    for (size_t i = 0; i < state.programs.len; i++) {
        const struct dump_program *p = state.programs.at[i];
        for (size_t k = 0; k < p->codes.len; k++)
            if (p->codes.at[k] == code)
                return p;
    }
    return NULL;
}

static void all_stop_locked(void)
{
    struct timespec deadline;

    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_S;
    for (size_t i = 0; i < state.ctas.len; i++) {
        struct dump_cta *c = state.ctas.at[i];
        c->program = program_of_locked(c->cta);
        c->stands = c->program && pthread_mutex_timedlock(&c->turn, &deadline) == 0;
    }
}

static void all_go_locked(void)
{
    for (size_t i = 0; i < state.ctas.len; i++) {
        if (state.ctas.at[i]->stands)
            pthread_mutex_unlock(&state.ctas.at[i]->turn);
        state.ctas.at[i]->stands = false;
    }
}

static void dump_locked(const void *owner, const struct dump_fault *fault)
{
    struct dump_wish wish = {0};
    enum hd_status status;

    assert(state.host);
    if (!state.host->begin(owner, &wish))
        return;
    all_stop_locked();
    status = dump_write(&state, fault, &wish);
    all_go_locked();
    state.host->end(owner, &wish, status);
}

void dump_now(void)
{
    const struct dump_fault none = {0};

    pthread_mutex_lock(&lock);
    dump_locked(NULL, &none);
    pthread_mutex_unlock(&lock);
}

/*
 * The block stands where it failed, as this thread does: so its turn is given back, and whoever
 * else writes a file meanwhile has it in.
 */
static void on_fault(struct interp_thread *t, enum hd_status status, const char *why)
{
    struct interp_cta *cta = interp_debug_cta(t);
    struct dump_cta *had = held;
    struct dump_fault fault = {.t = t};

    struct dump_fault *f = &fault;
    const struct dbg_exception *exception = dbg_exception_of(status);
    f->signal = 5;
    snprintf(f->text, sizeof(f->text), "%s", why);
    if (exception) {
        f->exception = exception->number;
        f->signal = exception->signal;
        snprintf(f->text, sizeof(f->text), "%s: %s", exception->name, why);
    }
    on_leave(cta);
    pthread_mutex_lock(&lock);
    const struct dump_program *program = program_of_locked(cta);
    if (program && slot_of(cta))
        dump_locked(program->owner, &fault);
    pthread_mutex_unlock(&lock);
    if (had)
        on_enter(cta);
}

static const struct interp_debug hooks = {
    .begin = on_begin,
    .end = on_end,
    .enter = on_enter,
    .leave = on_leave,
    .pass = on_pass,
    .fault = on_fault,
    .access = on_access,
    .wrote = on_wrote,
};

void dump_start(const struct dump_host *host)
{
    assert(!state.host && host);
    state.host = host;
    interp_debug_use(&hooks);
}

/* ---- programs */

static void program_free(struct dump_program *program)
{
    for (size_t i = 0; i < program->variables.len; i++)
        hd_free((char *)(uintptr_t)program->variables.at[i].name);
    hd_vec_fini(&program->variables);
    hd_vec_fini(&program->codes);
    hd_free(program);
}

struct dump_program *dump_program_create(const struct dbg_text *texts, size_t count,
                                         const void *owner)
{
    struct dump_program *program = hd_new(struct dump_program);
    bool added;

    if (!program)
        return NULL;
    program->owner = owner;
    program->texts = texts;
    program->ntexts = count;
    pthread_mutex_lock(&lock);
    added = hd_vec_push(&state.programs, program);
    pthread_mutex_unlock(&lock);
    if (added)
        return program;
    program_free(program);
    return NULL;
}

void dump_program_destroy(struct dump_program *program)
{
    bool found = false;

    if (!program)
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < state.programs.len && !found; i++) {
        found = state.programs.at[i] == program;
        if (found)
            state.programs.at[i] = state.programs.at[--state.programs.len];
    }
    assert(found);
    pthread_mutex_unlock(&lock);
    program_free(program);
}

bool dump_program_variable(struct dump_program *program, const struct dump_variable *variable)
{
    struct dump_variable copy = *variable;
    bool added = false;

    copy.name = hd_strdup(variable->name);
    pthread_mutex_lock(&lock);
    if (copy.name)
        added = hd_vec_push(&program->variables, copy);
    pthread_mutex_unlock(&lock);
    if (!added)
        hd_free((char *)(uintptr_t)copy.name);
    return added;
}

bool dump_program_code(struct dump_program *program, const struct ir_module *code)
{
    bool known = false;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < program->codes.len; i++)
        known |= program->codes.at[i] == code;
    known = known || hd_vec_push(&program->codes, code);
    pthread_mutex_unlock(&lock);
    return known;
}
