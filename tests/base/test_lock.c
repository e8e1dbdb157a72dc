#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"
#include "tap.h"

static struct hd_lock stream_lock = HD_LOCK_INIT(STREAM, "test stream");
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned counter;

static void *count_up(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        hd_lock_acquire(&stream_lock);
        counter++;
        hd_lock_release(&stream_lock);
    }
    hd_lock_acquire(&stream_lock);
    pthread_cond_broadcast(&cond);
    hd_lock_release(&stream_lock);
    return NULL;
}

static void test_wait_until(void)
{
    struct timespec past = {.tv_sec = 1};

    hd_lock_acquire(&stream_lock);
    hd_lock_wait_until(&stream_lock, &cond, &past);
    ok(hd_lock_held(&stream_lock), "held again after a wait that timed out");
    hd_lock_release(&stream_lock);
}

static void test_threads(void)
{
    pthread_t threads[4];

    for (size_t i = 0; i < HD_COUNT_OF(threads); i++)
        pthread_create(&threads[i], NULL, count_up, NULL);
    hd_lock_acquire(&stream_lock);
    while (counter < 4000)
        hd_lock_wait(&stream_lock, &cond);
    ok(hd_lock_held(&stream_lock), "held again after a wait");
    hd_lock_release(&stream_lock);
    for (size_t i = 0; i < HD_COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    eq_u64(counter, 4000, "four threads count under one lock");
}

#ifdef NDEBUG

static void test_order(void)
{
    skip("the order is checked in debug builds");
}

#else

static struct hd_lock memory_lock = HD_LOCK_INIT(MEMORY, "test memory");

static void test_any_release_order(void)
{
    hd_lock_acquire(&stream_lock);
    hd_lock_acquire(&memory_lock);
    hd_lock_release(&stream_lock);
    ok(!hd_lock_held(&stream_lock) && hd_lock_held(&memory_lock), "release in any order");
    hd_lock_release(&memory_lock);
    ok(!hd_lock_held(&memory_lock), "released");
}

static void test_wrong_order(void)
{
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        hd_lock_acquire(&memory_lock);
        hd_lock_acquire(&stream_lock);
        _exit(0);
    }
    waitpid(child, &status, 0);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "the wrong order aborts");
}

static void test_order(void)
{
    test_any_release_order();
    test_wrong_order();
}

#endif

int main(void)
{
    struct hd_lock lock;

    hd_lock_init(&lock, HD_RANK_LEAF, "test leaf");
    hd_lock_acquire(&lock);
    hd_lock_release(&lock);
    hd_lock_fini(&lock);
    test_wait_until();
    test_threads();
    test_order();
    return done();
}
