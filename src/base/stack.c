#include "base/stack.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fault.h"

#define NEEDED_B (HD_STACK_B / 8 * 7)
#define GUARD_B  4096u

static const struct hd_stack_enough anywhere = {0, UINTPTR_MAX};

HD_THREAD_LOCAL struct hd_stack_enough hd_stack_enough;

static HD_THREAD_LOCAL struct {
    bool is_known; /* what the thread was born with has been looked up */
    bool is_used;  /* a call is on `stack` */
    char *stack;   /* the guard first; NULL: none yet */
    struct block *blocks;
} self;

/* In front of a block. */
struct block {
    struct block *next;
    void **slot;
    size_t size_B;
    uint64_t bytes[];
};

/* ---- the thread's end */

static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
static bool has_key;

/* What later destructors of the thread ask for is made again, and this runs again. */
static void thread_exit(void *unused)
{
    struct block *block;

    (void)unused; /* on the stack the thread was born with, also when a call on ours ended it */
    if (self.stack)
        munmap(self.stack, HD_STACK_B);
    self.stack = NULL;
    self.is_used = false;
    while ((block = self.blocks)) {
        self.blocks = block->next;
        *block->slot = NULL;
        munmap(block, block->size_B);
    }
}

static void exit_key_create(void)
{
    has_key = !pthread_key_create(&exit_key, thread_exit);
}

/* Sees to it that thread_exit() runs in this thread; without it nothing may be kept. */
static bool thread_enter(void)
{
    pthread_once(&exit_once, exit_key_create);
    return has_key && !pthread_setspecific(exit_key, &self);
}

void *hd_thread_block(void **slot, size_t size_B)
{
    size_t whole_B = sizeof(struct block) + size_B;
    struct block *block;

    if (*slot)
        return *slot;
    if (!thread_enter()) /* no fault point: messages of failed allocations are kept in a block */
        return NULL;
    block = mmap(NULL, whole_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
    *block = (struct block){self.blocks, slot, whole_B};
    self.blocks = block;
    *slot = block->bytes;
    return *slot;
}

/* ---- stacks */

extern void *__libc_stack_end;

/*
 * The first thread's. What pthread_getattr_np() says of it comes from /proc/self/maps, which takes
 * milliseconds in large programs.
 */
static bool first_thread_stack(uintptr_t sp, uintptr_t *out_low, uintptr_t *out_high)
{
    struct rlimit limit;

    if (syscall(SYS_gettid) != getpid() || getrlimit(RLIMIT_STACK, &limit))
        return false;
    *out_high = (uintptr_t)__libc_stack_end;
    *out_low = limit.rlim_cur < *out_high ? *out_high - limit.rlim_cur : 0;
    /* In a child of fork() the first thread is the one that forked. */
    return limit.rlim_cur != RLIM_INFINITY && sp > *out_low && sp <= *out_high;
}

static bool thread_stack(uintptr_t *out_low, uintptr_t *out_high)
{
    pthread_attr_t attr;
    size_t size_B = 0, guard_B = 0;
    void *low = NULL;
    bool fine;

    if (pthread_getattr_np(pthread_self(), &attr))
        return false;
    fine =
        !pthread_attr_getstack(&attr, &low, &size_B) && !pthread_attr_getguardsize(&attr, &guard_B);
    pthread_attr_destroy(&attr);
    *out_low = (uintptr_t)low + guard_B; /* some C libraries count it in */
    *out_high = (uintptr_t)low + size_B;
    return fine;
}

static HD_NOINLINE bool look_up(uintptr_t sp)
{
    uintptr_t low, high;

    self.is_known = true;
    if (!first_thread_stack(sp, &low, &high) && !thread_stack(&low, &high))
        hd_stack_enough = anywhere;
    else if (high - low > NEEDED_B)
        hd_stack_enough = (struct hd_stack_enough){low + NEEDED_B, high - low - NEEDED_B};
    return sp - hd_stack_enough.low >= hd_stack_enough.size;
}

bool hd_stack_is_short(void)
{
    if (HD_LIKELY(hd_stack_is_surely_enough()))
        return false;
    return self.is_known || look_up((uintptr_t)__builtin_frame_address(0));
}

static bool stack_make(void)
{
    char *stack;

    if (self.stack)
        return true;
    if (hd_fault_alloc() || !thread_enter())
        return false;
    stack = mmap(NULL, HD_STACK_B, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return false;
    if (mprotect(stack, GUARD_B, PROT_NONE)) {
        munmap(stack, HD_STACK_B);
        return false;
    }
    self.stack = stack;
    return true;
}

/* fn(args, result) with the stack pointer at `top`. Unwinders find the caller's frame. */
void hd_stack_switch(void (*fn)(const void *args, void *result), const void *args, void *result,
                     char *top);
#if defined(__x86_64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden hd_stack_switch\n"
        ".globl hd_stack_switch\n"
        ".type hd_stack_switch, @function\n"
        "hd_stack_switch:\n"
        ".cfi_startproc\n"
        "pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "movq %rcx, %rsp\n"
        "movq %rdi, %rax\n"
        "movq %rsi, %rdi\n"
        "movq %rdx, %rsi\n"
        "call *%rax\n"
        "leave\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size hd_stack_switch, . - hd_stack_switch\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".p2align 2\n"
        ".hidden hd_stack_switch\n"
        ".globl hd_stack_switch\n"
        ".type hd_stack_switch, %function\n"
        "hd_stack_switch:\n"
        ".cfi_startproc\n"
        "stp x29, x30, [sp, #-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset x29, -16\n"
        ".cfi_offset x30, -8\n"
        "mov x29, sp\n"
        ".cfi_def_cfa_register x29\n"
        "mov sp, x3\n"
        "mov x9, x0\n"
        "mov x0, x1\n"
        "mov x1, x2\n"
        "blr x9\n"
        "mov sp, x29\n"
        ".cfi_def_cfa_register sp\n"
        "ldp x29, x30, [sp], #16\n"
        ".cfi_def_cfa_offset 0\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size hd_stack_switch, . - hd_stack_switch\n");
#else
#error "stack.c: how this architecture changes the stack"
#endif

void hd_stack_call(void (*fn)(const void *args, void *result), const void *args, void *result)
{
    struct hd_stack_enough before = hd_stack_enough;

    if (self.is_used || !stack_make()) {
        hd_stack_enough = anywhere;
        fn(args, result);
        hd_stack_enough = before;
        return;
    }
    self.is_used = true;
    hd_stack_enough =
        (struct hd_stack_enough){(uintptr_t)self.stack + NEEDED_B, HD_STACK_B - NEEDED_B};
    hd_stack_switch(fn, args, result, self.stack + HD_STACK_B);
    hd_stack_enough = before;
    self.is_used = false;
}

void hd_stack_ensure(void (*fn)(const void *args, void *result), const void *args, void *result)
{
    if (HD_UNLIKELY(hd_stack_is_short()))
        hd_stack_call(fn, args, result);
    else
        fn(args, result);
}
