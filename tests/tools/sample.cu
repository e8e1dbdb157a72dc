/* Where a program's threads spend processor time, by what the first argument says: test_prof_sample.py. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define HOST extern "C" __attribute__((noinline, visibility("default")))
static thread_local volatile unsigned sink;

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Uses that much processor time of the thread. */
HOST void spin(double seconds)
{
    double end = now(CLOCK_THREAD_CPUTIME_ID) + seconds;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 20000; i++)
            sink += (unsigned)i;
}

HOST void hot_f(double share) { spin(0.7 * share); sink++; }
HOST void hot_g(double share) { spin(0.3 * share); sink++; }
HOST void in_thread(double share) { spin(share); sink++; }
HOST void in_short(double share) { spin(share); sink++; }
HOST void in_child(double share) { spin(share); sink++; }
HOST void in_masked(double share) { spin(share); sink++; }
HOST void in_context(double share) { spin(share); sink++; }
HOST void in_handler(double share) { spin(share); sink++; }

HOST int deep(int n) { return n ? deep(n - 1) + (int)sink % 2 : (hot_f(0.5), 0); }

static void *thread_main(void *) { in_thread(0.3); return NULL; }
static void *short_main(void *) { in_short(0.004); return NULL; }
static void *endless(void *) { for (;;) in_thread(0.1); return NULL; }

static void threads()
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, thread_main, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 200; i++) {
        pthread_create(&t[0], NULL, short_main, NULL);
        pthread_join(t[0], NULL);
    }
}

static void children()
{
    for (int i = 0; i < 2; i++)
        if (!fork()) {
            in_child(0.3);
            _exit(0);
        }
    hot_f(0.3);
    while (wait(NULL) > 0)
        ;
}

/* ---- signals of the program's own */

static volatile sig_atomic_t ticks, faults, queued;
static sigjmp_buf back;
static void on_prof(int) { ticks++; }
static void on_queued(int) { queued++; }
static void on_fault(int) { faults++; siglongjmp(back, 1); }

static int signals()
{
    struct itimerval every = {{0, 10000}, {0, 10000}};
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_prof;
    sigaction(SIGPROF, &action, NULL);
    action.sa_handler = on_fault;
    sigaction(SIGSEGV, &action, NULL);
    action.sa_handler = on_queued;
    sigaction(SIGRTMIN, &action, NULL);
    sigaction(SIGRTMAX, &action, NULL);
    setitimer(ITIMER_PROF, &every, NULL);
    hot_f(0.5);
    for (int i = 0; i < 100; i++)
        if (!sigsetjmp(back, 1))
            *(volatile int *)8 = i;
    raise(SIGRTMIN);
    raise(SIGRTMAX);
    printf("ticks %d faults %d queued %d\n", (int)ticks, (int)faults, (int)queued);
    return !(ticks > 10 && faults == 100 && queued == 2);
}

/* All are blocked, as in a thread beside one that waits for them; and one waits for all. */
static void *masked_main(void *)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    in_masked(0.4);
    return NULL;
}

static int masked()
{
    pthread_t t;
    sigset_t all;
    int sig = 0;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    pthread_create(&t, NULL, masked_main, NULL);
    hot_f(0.4);
    pthread_join(t, NULL);
    for (int i = 0; i < 1000; i++) { /* one signal, and no other */
        kill(getpid(), SIGUSR1);
        if (sigwait(&all, &sig) || sig != SIGUSR1)
            return printf("signal %d\n", sig), 1;
    }
    return 0;
}

/* As programs do that start others. */
static int reset()
{
    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL);
    hot_f(0.4);
    return 0;
}

HOST void on_alarm(int) { in_handler(0.3); sink++; }

static int handler()
{
    signal(SIGALRM, on_alarm);
    raise(SIGALRM);
    return 0;
}

/* A stack of the program's making. */
static ucontext_t of_main, other;
static void context_main() { in_context(0.4); }

static int context()
{
    size_t size = 32 << 10;
    getcontext(&other);
    other.uc_stack.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    other.uc_stack.ss_size = size;
    other.uc_link = &of_main;
    makecontext(&other, context_main, 0);
    return swapcontext(&of_main, &other);
}

/* Locks of the C library and the loader are held when samples are taken. */
static void *allocate(void *)
{
    double end = now(CLOCK_THREAD_CPUTIME_ID) + 0.4;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 1; i < 200; i++)
            free(malloc((size_t)i * 1000));
    return NULL;
}

static void *load(void *)
{
    double end = now(CLOCK_THREAD_CPUTIME_ID) + 0.4;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end) {
        void *library = dlopen("libutil.so.1", RTLD_NOW), *m = dlopen("libanl.so.1", RTLD_NOW);
        if (m)
            dlclose(m);
        if (library)
            dlclose(library);
    }
    return NULL;
}

static int locks()
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, i % 2 ? allocate : load, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}

/* Calls that wait are not cut short. */
static int waits()
{
    int cut = 0;
    double end = now(CLOCK_THREAD_CPUTIME_ID) + 0.3;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end) {
        struct timespec pause = {0, 100000};
        cut += nanosleep(&pause, NULL) != 0;
        for (int i = 0; i < 200000; i++)
            sink += (unsigned)i;
    }
    printf("cut %d\n", cut);
    return cut != 0;
}

/* ---- kernels */

__global__ void long_kernel(unsigned *to, unsigned n)
{
    unsigned x = threadIdx.x + blockIdx.x;
    for (unsigned i = 0; i < n; i++)
        x = x * 1664525u + 1013904223u;
    to[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

HOST void wait_for_device() { cudaDeviceSynchronize(); sink++; }

static int kernels()
{
    unsigned *to;
    if (cudaMalloc(&to, 64 * 128 * sizeof(*to)))
        return 1;
    double end = now(CLOCK_THREAD_CPUTIME_ID) + 0.5, until = now(CLOCK_MONOTONIC) + 20;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end && now(CLOCK_MONOTONIC) < until) {
        long_kernel<<<64, 128>>>(to, 100000);
        wait_for_device();
    }
    return cudaFree(to);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "hot";
    pthread_t t;
    int code = 0;

    if (!strcmp(mode, "hot"))
        for (int i = 0; i < 2; i++) {
            hot_f(0.5);
            hot_g(0.5);
        }
    else if (!strcmp(mode, "threads"))
        threads();
    else if (!strcmp(mode, "fork"))
        children();
    else if (!strcmp(mode, "signals"))
        code = signals();
    else if (!strcmp(mode, "masked"))
        code = masked();
    else if (!strcmp(mode, "reset"))
        code = reset();
    else if (!strcmp(mode, "handler"))
        code = handler();
    else if (!strcmp(mode, "context"))
        code = context();
    else if (!strcmp(mode, "locks"))
        code = locks();
    else if (!strcmp(mode, "waits"))
        code = waits();
    else if (!strcmp(mode, "deep"))
        deep(2000);
    else if (!strcmp(mode, "kernels"))
        code = kernels();
    else if (!strcmp(mode, "exit")) { /* while threads are sampled */
        for (int i = 0; i < 4; i++)
            pthread_create(&t, NULL, endless, NULL);
        hot_f(0.2);
        exit(7);
    } else if (!strcmp(mode, "exec")) {
        hot_g(0.3);
        execl(argv[0], argv[0], "hot", (char *)NULL);
    } else if (!strcmp(mode, "exec-masked")) { /* as it is inherited */
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        execl(argv[0], argv[0], "hot", (char *)NULL);
    } else
        code = 2;
    sink++; /* main() stays on the stack: none of these calls is its last */
    return code;
}
