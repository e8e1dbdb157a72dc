/* What is said of a wrong access: the address, what is next to it, and what it once was. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "san/memcheck/memcheck.h"

#define NULL_END   4096u               /* addresses below are null pointers with an index */
#define FAR_AWAY_B (UINT64_C(2) << 20) /* memory of ours is never further from a block */

static const char *space_word(enum ir_space space)
{
    switch (space) {
    case IR_SPACE_SHARED:
        return "shared";
    case IR_SPACE_LOCAL:
        return "local";
    case IR_SPACE_CONST:
        return "constant";
    case IR_SPACE_PARAM:
        return "param";
    default:
        return "global";
    }
}

static const char *const verbs[] = {
    [SAN_READ] = "read", [SAN_WRITE] = "write", [SAN_ATOMIC] = "atomic"};
static const char *const kinds[][3] = {
    [MEMCHECK_OUTSIDE] = {"invalid-read", "invalid-write", "invalid-atomic"},
    [MEMCHECK_MISALIGNED] = {"misaligned-read", "misaligned-write", "misaligned-atomic"},
    [MEMCHECK_EARLY] = {"stream-read-before-alloc", "stream-write-before-alloc",
                        "stream-atomic-before-alloc"},
    [MEMCHECK_LATE] = {"stream-read-after-free", "stream-write-after-free",
                       "stream-atomic-after-free"},
};

/* Can the process read there? The kernel looks at the mask before it refuses what to do with it. */
static bool is_readable(uint64_t va)
{
    long result = syscall(SYS_rt_sigprocmask, -1, va & ~UINT64_C(7), NULL, sizeof(uint64_t));

    return result == 0 || errno != EFAULT;
}

/* ---- what is next to it */

struct near {
    uint64_t base, size_B;
    const struct san_block *block; /* NULL: of the device heap */
};

static void say_near(struct san_finding *f, const struct near *near, uint64_t va)
{
    const char *heap = near->block ? "" : " on the device heap";
    uint64_t end = near->base + near->size_B;
    char where[64];

    if (va < near->base)
        snprintf(where, sizeof(where), "%llu bytes before", (unsigned long long)(near->base - va));
    else if (va >= end)
        snprintf(where, sizeof(where), "%llu bytes after", (unsigned long long)(va - end));
    else
        snprintf(where, sizeof(where), "inside");
    san_detail(f, "and is %s the nearest allocation at 0x%llx of size %llu bytes%s", where,
               (unsigned long long)near->base, (unsigned long long)near->size_B, heap);
    if (near->block && near->block->name)
        san_detail(f, "which is the variable %.150s", near->block->name);
    if (near->block)
        f->allocated = &near->block->allocated;
}

static uint64_t distance(const struct near *near, uint64_t va)
{
    if (va < near->base)
        return near->base - va;
    return va - near->base < near->size_B ? 0 : va - near->base - near->size_B;
}

static struct near near_of(const struct san_block *block)
{
    return (struct near){block->base, block->size_B, block};
}

/* False: the launch may touch nothing at all. */
static bool nearest(const struct san_memory *memory, uint64_t va, struct near *out)
{
    int64_t before = san_memory_index(memory, va), after = before + 1;
    struct memcheck_heap_near heap;
    struct near other;
    bool found = before >= 0;

    if (found)
        *out = near_of(memory->block[before]);
    if (after < memory->n) {
        other = near_of(memory->block[after]);
        if (!found || distance(&other, va) < distance(out, va))
            *out = other;
        found = true;
    }
    if (memcheck_heap_near(va, &heap) && !heap.is_freed) {
        other = (struct near){heap.base, heap.size_B, NULL};
        if (!found || distance(&other, va) < distance(out, va))
            *out = other;
        found = true;
    }
    return found;
}

/* ---- why it is outside */

/* A block that is gone. The reference is the caller's. */
static struct san_block *say_freed(struct san_finding *f, uint64_t va)
{
    struct memcheck_heap_near heap;
    struct san_block *freed = san_memory_freed(va);

    if (freed) {
        san_detail(f, "and is inside an allocation at 0x%llx of size %llu bytes that was freed",
                   (unsigned long long)freed->base, (unsigned long long)freed->size_B);
        f->allocated = &freed->allocated;
        f->freed = &freed->freed;
    } else if (memcheck_heap_near(va, &heap) && heap.is_freed && va - heap.base < heap.size_B) {
        san_detail(f,
                   "and is inside an allocation at 0x%llx of size %llu bytes on the device heap "
                   "that was freed",
                   (unsigned long long)heap.base, (unsigned long long)heap.size_B);
    }
    return freed;
}

static struct san_block *say_outside(struct san_finding *f, const struct san_memory *memory,
                                     uint64_t va)
{
    struct san_block *freed = NULL;
    struct near near;
    bool found = nearest(memory, va, &near);

    if (!found || va - near.base >= near.size_B)
        freed = say_freed(f, va);
    if (f->ndetails > 1)
        return freed;
    if (va < NULL_END)
        san_detail(f, "and is a null pointer, or close to it");
    else if ((!found || distance(&near, va) > FAR_AWAY_B) && is_readable(va))
        san_detail(f, "and is host memory that is not registered or managed");
    if (found)
        say_near(f, &near, va);
    return freed;
}

/* ---- findings */

static struct san_actor actor_of(const struct san_cta *cta, const struct ir_instr *at,
                                 uint32_t warp, uint32_t lane)
{
    return (struct san_actor){.cta = cta, .at = at, .warp = warp, .lane = lane};
}

static void say_access(struct san_finding *f, const struct san_access *a, enum memcheck_why why)
{
    assert(why != MEMCHECK_FINE && (unsigned)why < HD_COUNT_OF(kinds));
    f->kind = kinds[why][a->what];
    f->space = space_word(a->space);
    f->direction = verbs[a->what];
    f->size_B = a->size_B;
    snprintf(f->title, sizeof(f->title), "Invalid __%s__ %s of size %llu bytes", f->space,
             f->direction, (unsigned long long)a->size_B);
}

static const char *const words[] = {
    [MEMCHECK_OUTSIDE] = "out of bounds",
    [MEMCHECK_MISALIGNED] = "misaligned",
    [MEMCHECK_EARLY] = "used before its allocation",
    [MEMCHECK_LATE] = "used after its free",
};

static bool is_memory(const struct san_access *a)
{
    return a->space == IR_SPACE_GLOBAL || a->space == IR_SPACE_CONST;
}

void memcheck_report(const struct san_cta *cta, const struct san_access *a, uint32_t lane,
                     enum memcheck_why why)
{
    const struct san_memory *memory = memcheck_launch_of(cta)->memory;
    uint64_t va = a->address[lane];
    struct san_block *freed = NULL;
    struct near near;
    struct san_finding f = {.tool = "memcheck",
                            .severity = SAN_ERROR,
                            .actors = {actor_of(cta, a->probe, a->warp, lane)},
                            .nactors = 1,
                            .address = va,
                            .has_address = true,
                            .launch = cta->launch,
                            .count = 1};

    assert(a->lanes >> lane & 1);
    say_access(&f, a, why);
    san_detail(&f, "Access at 0x%llx is %s", (unsigned long long)va, words[why]);
    if (is_memory(a) && why == MEMCHECK_OUTSIDE)
        freed = say_outside(&f, memory, va);
    else if (is_memory(a) && nearest(memory, va, &near))
        say_near(&f, &near, va);
    if (why == MEMCHECK_EARLY)
        san_detail(&f, "which another stream allocates: nothing makes this one wait for it");
    else if (why == MEMCHECK_LATE)
        san_detail(&f, "which another stream frees: nothing makes that wait for this one");
    san_report(&f);
    san_block_unref(freed);
}

void memcheck_report_refused(const struct san_cta *cta, const struct san_refusal *refusal)
{
    const struct san_access *a = refusal->access;
    enum memcheck_why why =
        refusal->status == HD_MISALIGNED ? MEMCHECK_MISALIGNED : MEMCHECK_OUTSIDE;
    struct san_finding f = {
        .tool = "memcheck",
        .kind = kinds[why][a->what],
        .severity = SAN_ERROR,
        .actors = {actor_of(cta, a->probe, a->warp, (uint32_t)__builtin_ctz(a->lanes))},
        .nactors = 1,
        .address = refusal->base,
        .has_address = true,
        .launch = cta->launch,
        .count = 1,
        .space = refusal->space,
        .direction = verbs[a->what],
        .size_B = a->size_B};

    snprintf(f.title, sizeof(f.title), "Invalid __%s__ %s of size %llu bytes", f.space, f.direction,
             (unsigned long long)a->size_B);
    san_detail(&f, "%s", refusal->details[0]);
    san_detail(&f, "%s", refusal->details[1]);
    san_report(&f);
}
