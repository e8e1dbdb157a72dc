/*
 * What belongs to a thread: its stack of contexts and its default streams. Both hold references,
 * dropped when the thread ends.
 */
#include <assert.h>

#include "base/mem.h"
#include "core/current.h"
#include "core/forked.h"
#include "core/stream/stream.h"

struct current {
    struct core_context *ctx;
    struct core_green *green; /* of it, or NULL */
};

static HD_THREAD_LOCAL struct {
    HD_VEC(struct current) stack;         /* the current one is the last */
    HD_VEC(struct core_stream *) streams; /* default streams; the last used one is first */
} self;

/* ---- the thread's end */

static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

static void thread_exit(void *unused)
{
    (void)unused;
    if (core_is_forked()) /* no stream comes to its end any more */
        return;
    for (size_t i = 0; i < self.streams.len; i++) {
        core_stream_destroy(self.streams.at[i]);
        core_stream_unref(self.streams.at[i]);
    }
    hd_vec_fini(&self.streams);
    while (self.stack.len)
        core_context_unref(core_current_pop());
    hd_vec_fini(&self.stack);
}

static void exit_key_create(void)
{
    if (pthread_key_create(&exit_key, thread_exit))
        abort(); /* no keys are left: nothing a library can work with */
}

/* Sees to it that thread_exit() runs in this thread. */
static enum hd_status thread_enter(void)
{
    pthread_once(&exit_once, exit_key_create);
    if (!pthread_getspecific(exit_key) && pthread_setspecific(exit_key, &self))
        return hd_error(HD_NO_MEMORY, "thread");
    return HD_OK;
}

/* ---- contexts */

struct core_context *core_current(void)
{
    return self.stack.len ? hd_vec_last(&self.stack).ctx : NULL;
}

struct core_green *core_current_green(void)
{
    return self.stack.len ? hd_vec_last(&self.stack).green : NULL;
}

enum hd_status core_current_push_green(struct core_context *ctx, struct core_green *green)
{
    assert(ctx);
    HD_TRY(thread_enter());
    if (!hd_vec_push(&self.stack, (struct current){ctx, green}))
        return hd_error(HD_NO_MEMORY, "stack of contexts");
    core_context_ref(ctx);
    if (green)
        core_green_ref(green);
    return HD_OK;
}

struct core_context *core_current_pop(void)
{
    struct current current;

    if (!self.stack.len)
        return NULL;
    current = hd_vec_pop(&self.stack);
    core_green_unref(current.green);
    return current.ctx;
}

enum hd_status core_current_set_green(struct core_context *ctx, struct core_green *green)
{
    if (self.stack.len && ctx == core_current() && green == core_current_green())
        return HD_OK;
    core_context_unref(core_current_pop());
    return ctx ? core_current_push_green(ctx, green) : HD_OK;
}

/* ---- default streams */

void core_thread_prune(void)
{
    for (size_t i = 0; i < self.streams.len;) {
        struct core_stream *stream = self.streams.at[i];

        if (core_stream_is_live(stream)) {
            i++;
            continue;
        }
        self.streams.at[i] = hd_vec_last(&self.streams);
        self.streams.len--;
        core_stream_unref(stream);
    }
}

static struct core_stream *stream_find(const struct core_context *ctx,
                                       const struct core_green *green)
{
    for (size_t i = 0; i < self.streams.len; i++) {
        struct core_stream *stream = self.streams.at[i];

        if (stream->ctx != ctx || stream->green != green || !core_stream_is_live(stream))
            continue;
        self.streams.at[i] = self.streams.at[0];
        self.streams.at[0] = stream;
        return stream;
    }
    return NULL;
}

enum hd_status core_stream_per_thread(struct core_context *ctx, struct core_stream **out_stream)
{
    struct core_green *green = ctx == core_current() ? core_current_green() : NULL;
    struct core_stream *stream = stream_find(ctx, green);

    if (HD_LIKELY(stream)) {
        *out_stream = stream;
        return HD_OK;
    }
    core_thread_prune();
    HD_TRY(thread_enter());
    if (!hd_vec_reserve(&self.streams, self.streams.len + 1))
        return hd_error(HD_NO_MEMORY, "default stream of the thread");
    HD_TRY(core_stream_create_green(ctx, green, CORE_STREAM_PER_THREAD, 0, &stream));
    if (!hd_vec_push(&self.streams, stream))
        assert(!"there is room");
    *out_stream = stream;
    return HD_OK;
}
