/* Environments of graphs that kernels launch. See graph_env.h. */
#include "core/graph/graph_env.h"

#include <assert.h>

#include "base/list.h"
#include "base/mem.h"
#include "core/context.h"
#include "hal/hal.h"

struct hd_lock core_env_lock = HD_LOCK_INIT(LEAF, "graphs launched by kernels");

struct core_env {
    struct core_context *ctx; /* borrowed: work of the context is not over */
    struct core_env *parent;  /* NULL: it is a stream's */
    /* A stream's: */
    struct core_exec *exec; /* what the host launched; a reference */
    /* Others: */
    struct core_upload *upload; /* what runs, a reference; NULL: a graph that only hosts launch */
    struct core_feed feed;
    /* The lock's: */
    unsigned open;               /* environments inside, and 1 for the graph itself */
    uint32_t first_grid, ngrids; /* its kernels have the numbers behind first_grid */
    /* Launched by this run of the graph, with references: a kernel may still be submitting one. */
    HD_VEC(struct core_upload *) forgotten;
    HD_VEC(struct core_upload *) tails;
    size_t fresh; /* the first ones of them: by this run */
    struct core_env *next, **link;
};

static struct core_env *envs; /* that grids can be of; core_env_lock */

/* ---- life */

static struct core_env *env_create(struct core_context *ctx, struct core_env *parent)
{
    struct core_env *env = hd_new(struct core_env);

    if (!env)
        return NULL;
    env->ctx = ctx;
    env->parent = parent;
    env->open = 1;
    return env;
}

/* Its parent has one less: the caller sees to that. */
static void env_destroy(struct core_env *env)
{
    assert(!env->link && !env->tails.len && !env->forgotten.len);
    hd_vec_fini(&env->tails);
    hd_vec_fini(&env->forgotten);
    core_upload_unref(env->upload);
    core_exec_unref(env->exec);
    hd_free(env);
}

static void env_list_locked(struct core_env *env, uint32_t first_grid, uint32_t ngrids)
{
    assert(hd_lock_held(&core_env_lock) && !env->link);
    env->first_grid = first_grid;
    env->ngrids = ngrids;
    hd_list_push(&envs, env);
}

/* The environment that the grid is of, or NULL. */
static struct core_env *env_find_locked(const struct core_context *ctx, uint32_t grid_id)
{
    struct core_env *env = envs;

    assert(hd_lock_held(&core_env_lock));
    while (env && (env->ctx != ctx || grid_id - env->first_grid - 1 >= env->ngrids))
        env = env->next;
    return env;
}

void *core_env_current(const struct core_context *ctx, uint32_t grid_id)
{
    const struct core_env *env;
    void *exec = NULL;

    hd_lock_acquire(&core_env_lock);
    env = env_find_locked(ctx, grid_id);
    if (env && env->upload)
        exec = env->upload->exec;
    hd_lock_release(&core_env_lock);
    return exec;
}

/* ---- the end of a graph, and what comes next */

static void env_over(void *env);
static void env_start(void *env);

static enum hd_status env_behind(struct core_feed *feed)
{
    struct core_env *env = HD_CONTAINER_OF(feed, struct core_env, feed);

    return core_stream_call(feed->stream, env_over, env, true);
}

static void env_fail(struct core_feed *feed)
{
    env_over(HD_CONTAINER_OF(feed, struct core_env, feed));
}

/* Begins env->upload; `open` counts it already. */
static enum hd_status env_run(struct core_env *env)
{
    struct core_program *program = &env->upload->program;

    HD_TRY(core_context_status(env->ctx));
    env->feed = (struct core_feed){.stream = env->upload->stream,
                                   .run = core_run_begin(env->ctx, program),
                                   .always = true,
                                   .behind = env_behind,
                                   .fail = env_fail};
    hd_lock_acquire(&core_env_lock);
    env->upload->is_relaunched = false;
    env_list_locked(env, env->feed.run.grid_id, program->ngrids);
    hd_lock_release(&core_env_lock);
    return core_feed_run(&env->feed);
}

/* The next of the tails, which takes the place of what ran; NULL: none is left. */
static struct core_upload *env_tail_take_locked(struct core_env *env)
{
    struct core_upload *next;

    assert(hd_lock_held(&core_env_lock));
    if (!env->tails.len)
        return NULL;
    next = env->tails.at[0];
    env->tails.len--;
    memmove(env->tails.at, env->tails.at + 1, env->tails.len * sizeof(env->tails.at[0]));
    env->open = 1;
    return next;
}

/* Something inside of the environment is over. True: all is, and no tail is left. */
static bool env_leave(struct core_env *env)
{
    struct core_upload *next = NULL, *before = NULL;
    bool is_over;

    hd_lock_acquire(&core_env_lock);
    is_over = --env->open == 0;
    if (is_over) {
        /* The graph that runs is over, with all inside. */
        assert(!env->open);
        if (env->link)
            hd_list_remove(env);
        if (env->upload)
            env->upload->running--;
        env->fresh = 0;
        next = env_tail_take_locked(env);
    }
    hd_lock_release(&core_env_lock);
    while (is_over && env->forgotten.len) /* no kernel of it is left */
        core_upload_unref(hd_vec_pop(&env->forgotten));
    if (!next)
        return is_over;
    before = env->upload;
    env->upload = next;
    core_upload_unref(before);
    env_start(env);
    return false;
}

/* The stream's: the host's launch is over. */
static void env_root_end(struct core_env *root)
{
    atomic_fetch_add(&root->exec->done, 1);
    env_destroy(root);
}

/* Upwards as long as environments are over. */
static void env_close(struct core_env *env)
{
    while (env_leave(env)) {
        struct core_env *parent = env->parent;

        if (!parent) {
            env_root_end(env);
            return;
        }
        env_destroy(env);
        env = parent;
    }
}

/* The host call at the end of a graph. */
static void env_over(void *env)
{
    env_close(env);
}

static struct core_upload *env_upload_ref(struct core_upload *upload)
{
    hd_lock_acquire(&core_env_lock);
    upload->refs++;
    hd_lock_release(&core_env_lock);
    return upload;
}

/*
 * After a fault, too: then all that would come is over at once. What began may be over, and the
 * environment gone, before its submission has returned from the upload's stream.
 */
static void env_start(void *arg)
{
    struct core_env *env = arg;
    struct core_upload *upload = env_upload_ref(env->upload);
    enum hd_status status = env_run(env);

    core_upload_unref(upload);
    if (status == HD_OK)
        return;
    if (core_context_status(env->ctx) == HD_OK)
        (void)hal_domain_fail(env->ctx->domain, status, 0, NULL, hd_error_message());
    env_close(env);
}

/* ---- by the host */

enum hd_status core_env_begin(struct core_exec *exec, uint32_t first_grid,
                              struct core_env **out_env)
{
    struct core_env *root = env_create(exec->ctx, NULL);
    struct core_env *env = root ? env_create(exec->ctx, root) : NULL;

    assert(hd_lock_held(&exec->lock));
    if (!env) {
        hd_free(root);
        return hd_error(HD_NO_MEMORY, "launch of a graph");
    }
    root->exec = core_exec_ref(exec);
    exec->joined++;
    hd_lock_acquire(&core_env_lock);
    env->upload = exec->upload;
    if (env->upload) {
        env->upload->refs++;
        env->upload->running++;
    }
    env_list_locked(env, first_grid, exec->program.ngrids);
    hd_lock_release(&core_env_lock);
    *out_env = env;
    return HD_OK;
}

enum hd_status core_env_end(struct core_env *env, struct core_stream *stream,
                            enum hd_status submitted)
{
    struct core_exec *exec = env->parent->exec;
    union hal_packet wait = {.sem = {.head.op = HAL_OP_WAIT, .value = exec->joined}};

    assert(hd_lock_held(&exec->lock));
    if (submitted == HD_OK)
        submitted = core_stream_call(stream, env_over, env, true);
    if (submitted != HD_OK) {
        env_close(env);
        return submitted;
    }
    wait.sem.address = (uintptr_t)&exec->done;
    return core_stream_submit(stream, &wait, 1, NULL, 0, NULL);
}

/* ---- by kernels */

/* Once at a time; but a graph may stand in line behind itself. */
static bool env_may_launch_locked(const struct core_env *env, const struct core_upload *upload,
                                  enum core_env_mode mode)
{
    if (mode == CORE_ENV_TAIL && env->upload == upload)
        return !upload->is_relaunched;
    return !upload->running;
}

static enum core_env_answer env_tail_locked(struct core_env *env, struct core_upload *upload)
{
    if (env->tails.len >= CORE_ENV_TAILS_MAX)
        return CORE_ENV_TOO_MANY;
    if (!hd_vec_push(&env->tails, upload))
        return CORE_ENV_NO_MEMORY;
    /* Before those that waited when this graph began. */
    memmove(env->tails.at + env->fresh + 1, env->tails.at + env->fresh,
            (env->tails.len - 1 - env->fresh) * sizeof(env->tails.at[0]));
    env->tails.at[env->fresh++] = upload;
    upload->is_relaunched |= env->upload == upload;
    return CORE_ENV_OK;
}

/* The environment that begins now, in *out_child. */
static enum core_env_answer env_forget_locked(struct core_env *env, struct core_upload *upload,
                                              enum core_env_mode mode, struct core_env **out_child)
{
    struct core_env *parent = mode == CORE_ENV_SIBLING ? env->parent : env;
    struct core_env *child;

    if (env->forgotten.len >= CORE_ENV_FORGET_MAX)
        return CORE_ENV_TOO_MANY;
    if (!hd_vec_reserve(&env->forgotten, env->forgotten.len + 1) ||
        !(child = env_create(env->ctx, parent)))
        return CORE_ENV_NO_MEMORY;
    child->upload = upload;
    parent->open++;
    upload->refs++;
    env->forgotten.at[env->forgotten.len++] = upload;
    *out_child = child;
    return CORE_ENV_OK;
}

static enum core_env_answer env_launch_locked(struct core_env *env, struct core_upload *upload,
                                              enum core_env_mode mode, struct core_env **out_child)
{
    enum core_env_answer answer;

    if (!env_may_launch_locked(env, upload, mode))
        return CORE_ENV_REFUSED;
    answer = mode == CORE_ENV_TAIL ? env_tail_locked(env, upload)
                                   : env_forget_locked(env, upload, mode, out_child);
    if (answer != CORE_ENV_OK)
        return answer;
    upload->refs++;
    upload->running++;
    return CORE_ENV_OK;
}

enum core_env_answer core_env_launch(struct core_context *ctx, uint32_t grid_id, const void *exec,
                                     enum core_env_mode mode)
{
    enum core_env_answer answer = CORE_ENV_REFUSED;
    struct core_env *env, *child = NULL;
    struct core_upload *upload;

    hd_lock_acquire(&core_env_lock);
    env = env_find_locked(ctx, grid_id);
    upload = core_upload_find_locked(ctx, exec);
    if (env && upload)
        answer = env_launch_locked(env, upload, mode, &child);
    hd_lock_release(&core_env_lock);
    if (child) {
        /* Its stream has room: it does one launch at a time. */
        enum hd_status status = core_stream_call(child->upload->stream, env_start, child, true);
        if (status != HD_OK) {
            (void)hal_domain_fail(child->ctx->domain, status, 0, NULL, hd_error_message());
            env_close(child);
        }
    }
    return answer;
}
