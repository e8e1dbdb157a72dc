/*
 * The unwinder of samples (src/prof/unwind.h), in a signal's handler: callers in their order,
 * through frames that change their stack's alignment, through another handler, on another stack;
 * and from registers and stacks that are damaged, where it may stop and not fault.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "prof/unwind.h"
#include "support/tap.h"

enum { FRAMES = 64 };

static struct prof_unwind unwind;
static uintptr_t pcs[FRAMES];
static unsigned npcs;
static enum prof_unwind_end end;

static void take(const void *context)
{
    npcs = 0;
    prof_unwind_init(&unwind, context);
    do
        pcs[npcs++] = unwind.pc;
    while ((end = prof_unwind_next(&unwind)) == PROF_UNWIND_MORE && npcs < FRAMES);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)info;
    take(context);
}

static volatile int sink;

/* Where functions begin: those below follow each other nowhere, so the nearest beginning is it. */
typedef void fn(void);
#define STEP(name, calls)                                                                          \
    __attribute__((noinline)) static void name(void)                                               \
    {                                                                                              \
        calls;                                                                                     \
        sink++;                                                                                    \
    }
STEP(inner, raise(SIGUSR1))
STEP(middle, inner())

/* Its frame is found by an expression: the stack pointer is rounded, who knows by how much. */
__attribute__((noinline)) static void aligned(void)
{
    _Alignas(64) volatile char room[256];

    room[0] = 1;
    memset((char *)room, 2, (size_t)(1 + room[0]));
    middle();
    sink += room[1];
}
STEP(outer, aligned())

static fn *const functions[] = {inner, middle, aligned, outer};

/* The function that an address is in: the last that begins before it. NULL: none of these. */
static fn *function_at(uintptr_t pc)
{
    fn *best = NULL;

    for (size_t i = 0; i < HD_COUNT_OF(functions); i++)
        if ((uintptr_t)functions[i] <= pc && pc - (uintptr_t)functions[i] < 2048 &&
            (!best || (uintptr_t)functions[i] > (uintptr_t)best))
            best = functions[i];
    return best;
}

/* Are those the callers, the innermost first, perhaps with others between? */
static bool has_callers(unsigned n)
{
    unsigned found = 0;

    for (unsigned i = 0; i < npcs && found < n; i++)
        found += function_at(pcs[i]) == functions[found];
    return found == n;
}

static void install(int sig, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

    (void)sigaction(sig, &action, NULL);
}

static void test_callers(void)
{
    outer();
    ok(has_callers(4), "callers in their order, with a frame that is aligned");
    ok(end == PROF_UNWIND_DONE, "to the first of all");
}

static void on_other(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)info;
    (void)context;
    inner();
    sink++;
}

static void test_handler(void)
{
    unsigned before;

    outer();
    before = npcs;
    install(SIGUSR2, on_other);
    raise(SIGUSR2);
    ok(has_callers(1) && end == PROF_UNWIND_DONE, "through another handler");
    ok(npcs > 3 && before > 3, "with who was interrupted");
}

static ucontext_t here, there;

static void test_other_stack(void)
{
    size_t size_B = 256 << 10; /* sanitizers take more than others */
    char *stack = mmap(NULL, size_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = size_B;
    there.uc_link = &here;
    makecontext(&there, outer, 0);
    npcs = 0;
    (void)swapcontext(&here, &there);
    ok(has_callers(4), "on a stack of somebody's making");
    (void)munmap(stack, size_B);
}

/* Registers that are anything, at any place of code. */
static ucontext_t damaged;
static uint64_t seed;
static uintptr_t library; /* code of it */

static uintptr_t next_random(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uintptr_t)(seed >> 16);
}

static void on_damage(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)info;
    for (unsigned i = 0; i < 2000; i++) {
        memcpy(&damaged, context, sizeof(damaged));
#if defined(__x86_64__)
        greg_t *regs = damaged.uc_mcontext.gregs;
        static const int all[] = {REG_RBX, REG_RBP, REG_RSP, REG_R10, REG_R12, REG_RAX};
        for (size_t k = 0; k < HD_COUNT_OF(all); k++)
            switch (next_random() % 5) {
            case 0:
                regs[all[k]] = (greg_t)next_random();
                break;
            case 1:
                regs[all[k]] += (greg_t)(next_random() % 4096) - 2048;
                break;
            case 2:
                regs[all[k]] = (greg_t)(next_random() % 3 ? 0 : -8);
                break;
            default:
                break;
            }
        if (next_random() % 2)
            regs[REG_RIP] = (greg_t)(library + next_random() % 65536);
#endif
        take(&damaged);
    }
}

static void test_damage(void)
{
    seed = tap_seed();
    library = (uintptr_t)dlsym(RTLD_DEFAULT, "qsort");
    install(SIGUSR1, on_damage);
    outer();
    ok(npcs > 0 && npcs <= FRAMES, "damaged registers and stacks end it, and no more");
    install(SIGUSR1, on_signal);
}

int main(void)
{
    if (!PROF_CAN_UNWIND || HD_SANITIZES_THREADS) {
        skip("a C library of 2.35 is needed, and signals that come when they come");
        return done();
    }
    install(SIGUSR1, on_signal);
    test_callers();
    test_handler();
    test_other_stack();
    test_damage();
    return done();
}
