/* Stacks of ours for threads with little, and blocks that belong to a thread. */
#include <sys/resource.h>

#include "base/stack.h"
#include "base/thread.h"
#include "tap.h"

static HD_THREAD_LOCAL void *block;
static char *low, *high; /* of the thread's own stack, as it says */
static unsigned depth;
static bool was_short, is_short_inside, is_elsewhere, is_same_thread;
static pthread_t caller;

static void inside(const void *args, void *result)
{
    char *here = __builtin_frame_address(0); /* AddressSanitizer has locals elsewhere */

    is_short_inside = hd_stack_is_short();
    is_elsewhere = here < low || here >= high;
    is_same_thread = pthread_equal(caller, pthread_self());
    *(int *)result = *(const int *)args + 1;
    if (++depth < 3) { /* nested: it stays where it is */
        int more = 0;
        hd_stack_ensure(inside, result, &more);
        *(int *)result = more;
    }
}

static void *small_thread(void *unused)
{
    int arg = 5, result = 0;
    pthread_attr_t attr;
    void *start;
    size_t size_B;

    (void)unused;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &start, &size_B);
    pthread_attr_destroy(&attr);
    low = start;
    high = low + size_B;
    depth = 0;
    caller = pthread_self();
    was_short = hd_stack_is_short();
    hd_stack_ensure(inside, &arg, &result);
    eq_u64((uint64_t)result, 8, "three calls, one in another");
    eq_u64(depth, 3, "no more");
    return NULL;
}

static void run_thread(size_t size_B, void *(*body)(void *))
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, size_B);
    if (pthread_create(&thread, &attr, body, NULL))
        abort();
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

static void test_calls(void)
{
    run_thread(64 << 10, small_thread);
    ok(was_short, "64 KiB are little");
    ok(!is_short_inside && is_elsewhere && is_same_thread, "a stack of ours, on the same thread");
    run_thread(32 << 20, small_thread);
    ok(!was_short && !is_elsewhere, "32 MiB are enough: where it was");
    hd_fault_set_alloc(1);
    run_thread(256 << 10, small_thread);
    hd_fault_set_alloc(0);
    ok(was_short && !is_short_inside && !is_elsewhere, "no memory for a stack: where it was");
}

static void *block_thread(void *unused)
{
    char *mine = hd_thread_block(&block, 3000);

    (void)unused;
    ok(mine && block == mine, "a block");
    ok(hd_thread_block(&block, 3000) == mine, "the same again");
    for (unsigned i = 0; i < 3000; i++)
        if (mine[i])
            return NULL;
    memset(mine, 1, 3000);
    ok(true, "zeroed");
    return NULL;
}

static size_t born_with;

static void *size_thread(void *unused)
{
    pthread_attr_t attr;

    (void)unused;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstacksize(&attr, &born_with);
    pthread_attr_destroy(&attr);
    return NULL;
}

int main(void)
{
    pthread_attr_t small;
    pthread_t thread;

    test_calls();
    run_thread(64 << 10, block_thread);
    run_thread(64 << 10, block_thread);
    ok(!block, "each thread has its own");
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_setattr_default_np(&small);
    pthread_attr_destroy(&small);
    if (hd_thread_create(&thread, NULL, size_thread, NULL))
        abort();
    pthread_join(thread, NULL);
    ok(born_with >= HD_STACK_B, "threads of ours do not take the program's default");
    return done();
}
