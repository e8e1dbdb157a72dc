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

/* ---- fork() while another thread holds locks */

static struct hd_lock other_lock = HD_LOCK_INIT(LEAF, "another thread's");
static struct hd_lock own_lock = HD_LOCK_INIT(STREAM, "the forking thread's");
static pthread_mutex_t plain_mutex = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(plain, plain_mutex);
static pthread_barrier_t held, forked;

static void *holder_main(void *unused)
{
    hd_lock_acquire(&other_lock);
    pthread_mutex_lock(&plain_mutex);
    pthread_barrier_wait(&held);
    pthread_barrier_wait(&forked);
    pthread_mutex_unlock(&plain_mutex);
    hd_lock_release(&other_lock);
    return unused;
}

static int child_takes_locks(void)
{
    alarm(20); /* whoever waits for nobody ends by it */
    if (pthread_mutex_trylock(&own_lock.mutex) == 0)
        return 1; /* this thread holds it in the child, too */
    hd_lock_acquire(&other_lock);
    hd_lock_release(&other_lock);
    hd_lock_release(&own_lock);
    hd_lock_acquire(&own_lock);
    hd_lock_release(&own_lock);
    pthread_mutex_lock(&plain_mutex);
    pthread_mutex_unlock(&plain_mutex);
    return 0;
}

static void test_fork(void)
{
    int status = -1;
    pthread_t thread;

    pthread_barrier_init(&held, NULL, 2);
    pthread_barrier_init(&forked, NULL, 2);
    if (!ok(!pthread_create(&thread, NULL, holder_main, NULL), "a thread"))
        return;
    pthread_barrier_wait(&held);
    hd_lock_acquire(&own_lock);
    fflush(stdout);
    pid_t child = fork();
    if (!child)
        _exit(child_takes_locks());
    pthread_barrier_wait(&forked);
    waitpid(child, &status, 0);
    eq_u64((unsigned)status, 0, "the child takes the locks that another thread held");
    hd_lock_release(&own_lock);
    pthread_join(thread, NULL);
}

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
    test_fork();
    return done();
}
