/*
 * Opens the code generator privately: it carries LLVM, which applications may have too.
 */
#include "jit/jit_private.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"

#define COMPILE_STACK_B ((size_t)64 << 20)
#define SIGNAL_STACK_B  (64u << 10)
#define ENDING_POLL_NS  2000000
/* Processor seconds after which a compilation is taken for one without end. */
#define CALL_MAX_S   60.0
#define CALL_HANGS_S 0.1 /* with HD_FAULT_JIT_HANG */

static struct {
    void *handle;
    pthread_key_t call_key; /* a compiling thread's call */
    _Atomic bool open;      /* nothing of LLVM's is still being constructed */
    _Atomic bool ending;    /* destructors of LLVM's have run, or do soon */
    gen_compile_fn *compile;
    gen_version_fn *version;
    char why[512];
} codegen;

static bool llvm_try_open(const char *dir, const char *sub)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s%s/libheddle-codegen.so", dir, sub);
    if (n < 0 || (size_t)n >= sizeof(path) || access(path, R_OK))
        return false;
    codegen.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!codegen.handle)
        snprintf(codegen.why, sizeof(codegen.why), "%s", dlerror());
    return codegen.handle != NULL;
}

/* Beside the library that holds this code (installed), or where the build tree has it. */
static bool llvm_open_near(const char *file)
{
    static const char *const subs[] = {
        "",           "/../../jit",     "/../jit",    "/../../src/jit",
        "/../heddle", "/../lib/heddle", "/../src/jit"};
    char dir[PATH_MAX];
    char *real = realpath(file, NULL);
    if (!real)
        return false;
    char *slash = strrchr(real, '/');
    snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - real) : 1, slash ? real : ".");
    free(real);
    for (size_t i = 0; i < HD_COUNT_OF(subs); i++) {
        if (llvm_try_open(dir, subs[i]))
            return true;
    }
    return false;
}

void jit_codegen_end(void)
{
    atomic_store(&codegen.ending, true);
}

static void llvm_codegen_open(void)
{
    Dl_info info;
    const char *env = hd_env("HEDDLE_LIBDIR");
    bool found = env && llvm_try_open(env, "");
    if (!found && dladdr((void *)&codegen, &info) && info.dli_fname)
        found = llvm_open_near(info.dli_fname);
    if (!found && !hd_env_is_foreign()) /* anybody may link the program into a folder of his */
        found = llvm_open_near("/proc/self/exe");
    if (!found) {
        if (!codegen.why[0])
            snprintf(codegen.why, sizeof(codegen.why), "libheddle-codegen.so not found");
        return;
    }
    bool has_key = !pthread_key_create(&codegen.call_key, NULL);
    (void)atexit(
        jit_codegen_end); /* after LLVM's constructors: before the destructors of most of it */
    codegen.compile = (gen_compile_fn *)dlsym(codegen.handle, GEN_ENTRY);
    codegen.version = (gen_version_fn *)dlsym(codegen.handle, GEN_VERSION);
    atomic_store_explicit(&codegen.open, codegen.compile && codegen.version && has_key,
                          memory_order_release);
}

bool jit_codegen_is_open(void)
{
    return atomic_load_explicit(&codegen.open, memory_order_acquire);
}

bool jit_codegen_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, llvm_codegen_open);
    return jit_codegen_is_open();
}

/* ---- calls */

/*
 * One compilation, on a thread of its own: LLVM recurses as deep as expressions do, and the
 * caller's stack may be that of any thread of the program. The thread may be left behind, by a
 * crash or an endless loop inside LLVM, or because the process ends; then the call stays allocated
 * for it.
 */
struct call {
    struct gen_request req;
    struct gen_result out;
    enum hd_status status;
    sem_t done;
    volatile sig_atomic_t crash; /* signal that it met; 0 = none */
    _Atomic pid_t thread;        /* once `clock` is its processor time; 0 = not yet */
    clockid_t clock;
    _Atomic bool reads; /* the kernel, which must stay as long */
    bool endless;       /* given up */
    _Atomic bool left;  /* by its caller or by its thread: the second one frees it */
    char signal_stack[SIGNAL_STACK_B];
};

static void llvm_call_leave(struct call *call)
{
    if (!atomic_exchange(&call->left, true))
        return;
    jit_result_fini(&call->out);
    sem_destroy(&call->done);
    hd_free(call);
}

static void *llvm_call_main(void *arg)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    struct call *call = arg;
    sigset_t mask;
    stack_t stack = {.ss_sp = call->signal_stack, .ss_size = sizeof(call->signal_stack)}, old;
    bool is_ours = !sigaltstack(NULL, &old) && old.ss_flags & SS_DISABLE; /* sanitizers have one */

    if (is_ours)
        sigaltstack(&stack, NULL);
    pthread_setspecific(codegen.call_key, call);
    sigemptyset(&mask);
    for (size_t i = 0; i < HD_COUNT_OF(crashes); i++)
        sigaddset(&mask, crashes[i]);
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
    if (!pthread_getcpuclockid(pthread_self(), &call->clock))
        atomic_store(&call->thread, gettid());
    call->status = codegen.compile(&call->req, &call->out);
    if (is_ours)
        sigaltstack(&old, NULL);
    pthread_setspecific(codegen.call_key, NULL);
    sem_post(&call->done);
    llvm_call_leave(call);
    return NULL;
}

/* Runs in signal handlers, also while another thread opens the code generator. */
bool jit_crash_take(int sig)
{
    struct call *call = jit_codegen_is_open() ? pthread_getspecific(codegen.call_key) : NULL;

    if (!call)
        return false;
    call->crash = sig;
    sem_post(&call->done);
    for (;;)
        pause();
}

static bool llvm_call_start(struct call *call)
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, COMPILE_STACK_B);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    bool started = !hd_thread_create(&thread, &attr, llvm_call_main, call);
    pthread_attr_destroy(&attr);
    return started;
}

/* LLVM 19 loops without end on few inputs (its combiner of selection graphs). The thread cannot be
 * ended, but it can step aside. */
static bool llvm_call_is_endless(struct call *call)
{
    double limit_s = call->req.hang ? CALL_HANGS_S : CALL_MAX_S;
    pid_t thread = atomic_load(&call->thread);
    struct timespec used;

    if (!thread || clock_gettime(call->clock, &used) ||
        (double)used.tv_sec + (double)used.tv_nsec * 1e-9 < limit_s)
        return false;
    (void)setpriority(PRIO_PROCESS, (id_t)thread, 19);
    return true;
}

/* False: it is not done, and never will be as far as the caller is concerned. */
static bool llvm_call_wait(struct call *call)
{
    struct timespec until;

    do {
        call->endless = llvm_call_is_endless(call);
        if (call->endless || (atomic_load(&codegen.ending) && !atomic_load(&call->reads)))
            return false;
        clock_gettime(CLOCK_REALTIME, &until); /* sanitizers know no sem_clockwait() */
        until.tv_nsec += ENDING_POLL_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
    } while (sem_timedwait(&call->done, &until));
    return !call->crash;
}

/* What LLVM makes while its destructors run is not to be trusted. */
static enum hd_status llvm_call_run(struct call *call)
{
    const char *name = call->req.kernel->name;
    bool started = llvm_call_start(call), done = started && llvm_call_wait(call);

    if (!started)
        llvm_call_leave(call); /* for the thread */
    if (atomic_load(&codegen.ending))
        return hd_error(HD_CANCELLED, "compiling kernel %s: the process is ending", name);
    if (done)
        return call->status;
    if (call->crash)
        return hd_error(HD_JIT, "compiling kernel %s: LLVM crashed (%s)", name,
                        strsignal(call->crash));
    if (call->endless)
        return hd_error(HD_JIT, "compiling kernel %s: LLVM does not come to an end", name);
    return hd_error(HD_NO_MEMORY, "compiling kernel %s: no thread", name);
}

enum hd_status jit_codegen(const struct gen_request *req, struct gen_result *out)
{
    if (!jit_codegen_open())
        return hd_error(HD_NOT_FOUND, "code generator: %s", codegen.why);
    struct call *call = hd_new(struct call);
    if (!call)
        return hd_error(HD_NO_MEMORY, "compiling kernel %s", req->kernel->name);
    call->req = *req;
    call->req.reads = &call->reads;
    call->req.ending = &codegen.ending;
    sem_init(&call->done, 0, 0);
    enum hd_status status = llvm_call_run(call);
    if (status == HD_CANCELLED || call->crash || call->endless) {
        llvm_call_leave(call); /* the thread is still there */
        return status;
    }
    *out = call->out;
    call->out = (struct gen_result){0};
    if (status != HD_OK && call->status != HD_OK && out->error[0])
        status = hd_error(status, "compiling kernel %s: %s", req->kernel->name, out->error);
    llvm_call_leave(call);
    return status;
}

const char *jit_llvm_version(void)
{
    return jit_codegen_open() ? codegen.version() : "not available";
}

#ifdef JIT_LLVM_ARCHIVE
const char *jit_llvm_identity(void)
{
    return JIT_LLVM_VERSION " " JIT_LLVM_ARCHIVE;
}
#else
static char identity_text[128];

/* Without opening it: a program whose kernels are all cached never pays for LLVM. */
static void llvm_identity_init(void)
{
    struct stat st;
    bool found = stat(JIT_LLVM_LIBDIR "/libLLVM-19.so", &st) == 0;
    snprintf(identity_text, sizeof(identity_text), "%s %lld %lld", JIT_LLVM_VERSION,
             found ? (long long)st.st_size : 0LL, found ? (long long)st.st_mtime : 0LL);
}

const char *jit_llvm_identity(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, llvm_identity_init);
    return identity_text;
}
#endif

void jit_result_fini(struct gen_result *result)
{
    free(result->object);
    free(result->llvm_text);
    free(result->post_text);
    free(result->asm_text);
    *result = (struct gen_result){0};
}
