/* Slabs of objects, handles to them, and their reference counts. */
#include "core/handle.h"

#include <assert.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "core/graph/device_node.h"
#include "core/graph/graph.h"
#include "core/mem/ipc.h"
#include "core/mem/mempool_parts.h"
#include "core/mem/vmm.h"
#include "core/module/library.h"
#include "core/module/link.h"
#include "core/stream/event.h"
#include "core/stream/extsem.h"
#include "core/stream/green.h"
#include "core/texture/texref.h"

#define SLAB_B      ((size_t)256 << 20) /* address space only; pages come as cells are used */
#define CELL_ALIGN  64u
#define KIND_SHIFT  58
#define GEN_SHIFT   28
#define INDEX_SHIFT 4
#define GEN_MAX     (1u << (KIND_SHIFT - GEN_SHIFT)) /* no generation reaches it */
#define INDEX_MAX   (1u << (GEN_SHIFT - INDEX_SHIFT))
#define ONE_GEN     ((uint64_t)1 << 32) /* in core_object.state */

_Static_assert(CORE_HANDLE_COUNT < 1 << 5, "a kind and its 1 fit five bits");
_Static_assert(SLAB_B / CELL_ALIGN <= INDEX_MAX, "every cell has an index");

struct slab {
    _Atomic(char *) base; /* NULL until the first object of the kind; what lookups read */
    /* Under slab_lock: */
    uint32_t touched; /* cells ever handed out: the first ones */
    uint32_t used;
    struct core_object *free; /* last in, first out: it is warm */
};

static struct slab slabs[CORE_HANDLE_COUNT];
static struct hd_lock slab_lock = HD_LOCK_INIT(LEAF, "handles");

static const struct {
    const char *text;
    size_t cell_B;
} kinds[CORE_HANDLE_COUNT] = {
#define X(NAME, name, text_)                                                                       \
    [CORE_##NAME] = {text_, (sizeof(struct core_##name) + CELL_ALIGN - 1) & ~(CELL_ALIGN - 1ul)},
    CORE_HANDLE_LIST(X)
#undef X
};

const char *core_handle_text(enum core_handle_kind kind)
{
    assert(kind < CORE_HANDLE_COUNT);
    return kinds[kind].text;
}

static uint32_t handle_generation_of(uint64_t state)
{
    return (uint32_t)(state >> 32);
}

static uint32_t handle_references_of(uint64_t state)
{
    return (uint32_t)state;
}

/* Of an object that nobody else can have: look-ups with a stale handle only read it. */
static void handle_object_set(struct core_object *object, uint64_t state)
{
    atomic_store_explicit(&object->state, state, memory_order_release);
}

/* ---- slabs */

static struct core_object *handle_slab_grow_locked(enum core_handle_kind kind)
{
    struct slab *slab = &slabs[kind];
    char *base = atomic_load_explicit(&slab->base, memory_order_relaxed);
    struct core_object *cell;

    assert(hd_lock_held(&slab_lock));
    if (!base) {
        void *memory = mmap(NULL, SLAB_B, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (memory == MAP_FAILED)
            return NULL;
        base = memory;
        atomic_store_explicit(&slab->base, base, memory_order_release);
    }
    if ((slab->touched + 1) * kinds[kind].cell_B > SLAB_B)
        return NULL;
    cell = (struct core_object *)(base + slab->touched * kinds[kind].cell_B);
    cell->index = slab->touched++;
    cell->kind = kind;
    hd_mem_root(cell, kinds[kind].cell_B);
    return cell;
}

void *core_handle_alloc(enum core_handle_kind kind)
{
    struct slab *slab = &slabs[kind];
    struct core_object *cell;

    assert(kind < CORE_HANDLE_COUNT);
    hd_lock_acquire(&slab_lock);
    cell = slab->free;
    if (cell)
        slab->free = cell->next_free;
    else
        cell = handle_slab_grow_locked(kind);
    slab->used += cell != NULL;
    hd_lock_release(&slab_lock);
    if (!cell)
        return NULL;
    assert(cell->kind == kind && handle_references_of(atomic_load(&cell->state)) == 0);
    memset((char *)cell + sizeof(*cell), 0, kinds[kind].cell_B - sizeof(*cell));
    cell->next_free = NULL;
    handle_object_set(cell, atomic_load_explicit(&cell->state, memory_order_relaxed) + 1);
    return cell;
}

void core_handle_free(void *object)
{
    struct core_object *cell = object;
    uint64_t state = atomic_load(&cell->state);
    struct slab *slab = &slabs[cell->kind];

    assert(handle_references_of(state) == 0 && handle_generation_of(state) % 2 == 0);
    assert(!cell->next_free);
    hd_lock_acquire(&slab_lock);
    assert(slab->used > 0);
    slab->used--;
    /* A cell whose generations are used up is left alone: no handle ever comes twice. */
    if (handle_generation_of(state) + 2 < GEN_MAX) {
        cell->next_free = slab->free;
        slab->free = cell;
    }
    hd_lock_release(&slab_lock);
}

struct core_handle_usage core_handle_usage(enum core_handle_kind kind)
{
    struct core_handle_usage usage;

    hd_lock_acquire(&slab_lock);
    usage = (struct core_handle_usage){slabs[kind].used, slabs[kind].touched};
    hd_lock_release(&slab_lock);
    return usage;
}

/* ---- life and references */

void core_object_publish(struct core_object *object)
{
    uint64_t state = atomic_load_explicit(&object->state, memory_order_relaxed);

    assert(handle_generation_of(state) % 2 == 0 && "published once");
    assert(handle_references_of(state) > 0);
    handle_object_set(object, state + ONE_GEN);
}

bool core_object_retire(struct core_object *object)
{
    uint64_t state = atomic_load(&object->state);

    do {
        assert(handle_references_of(state) > 0);
        if (handle_generation_of(state) % 2 == 0)
            return false;
    } while (!atomic_compare_exchange_weak(&object->state, &state, state + ONE_GEN));
    return true;
}

void core_object_revive(struct core_object *object)
{
    uint64_t before = atomic_fetch_sub(&object->state, ONE_GEN);

    assert(handle_generation_of(before) % 2 == 0 && handle_generation_of(before) > 0);
    assert(handle_references_of(before) > 0);
    (void)before;
}

void core_object_ref(struct core_object *object)
{
    uint64_t before = atomic_fetch_add_explicit(&object->state, 1, memory_order_relaxed);

    assert(handle_references_of(before) > 0 && handle_references_of(before) < UINT32_MAX);
    (void)before;
}

bool core_object_ref_live(struct core_object *object)
{
    uint64_t state = atomic_load(&object->state);

    do {
        if (handle_generation_of(state) % 2 == 0)
            return false;
        assert(handle_references_of(state) > 0 && handle_references_of(state) < UINT32_MAX);
    } while (!atomic_compare_exchange_weak(&object->state, &state, state + 1));
    return true;
}

bool core_object_unref_but_last(struct core_object *object)
{
    uint64_t state = atomic_load(&object->state);

    do {
        assert(handle_references_of(state) > 0);
        if (handle_references_of(state) == 1)
            return false;
    } while (!atomic_compare_exchange_weak(&object->state, &state, state - 1));
    return true;
}

void core_object_finalise(struct core_object *object, uint64_t state_before)
{
    assert(handle_references_of(state_before) == 1);
    assert(handle_generation_of(state_before) % 2 == 0 &&
           "the owner's reference goes after retire");
    (void)state_before;
    switch ((enum core_handle_kind)object->kind) {
#define X(NAME, name, text)                                                                        \
    case CORE_##NAME:                                                                              \
        core_##name##_finalise((struct core_##name *)object);                                      \
        return;
        CORE_HANDLE_LIST(X)
#undef X
    case CORE_HANDLE_COUNT:
        break;
    }
    assert(!"an object has a kind");
}

/* ---- handles */

void *core_object_handle(const struct core_object *object)
{
    /* A retired object still answers with the generation it had when it was live. */
    uint32_t generation = (handle_generation_of(atomic_load(&object->state)) - 1) | 1;
    uint64_t value = (uint64_t)(object->kind + 1) << KIND_SHIFT |
                     (uint64_t)generation << GEN_SHIFT | (uint64_t)object->index << INDEX_SHIFT;

    assert(generation < GEN_MAX && object->index < INDEX_MAX);
    return (void *)(uintptr_t)value;
}

/* The cell a handle names, whoever lives there, or NULL; and the generation it asks for. */
static inline struct core_object *handle_decode(enum core_handle_kind kind, const void *handle,
                                                uint32_t *out_generation)
{
    /* Without its kind: generation, index and four zeros. */
    uint64_t rest = (uint64_t)(uintptr_t)handle - ((uint64_t)(kind + 1) << KIND_SHIFT);
    size_t cell_B = kinds[kind].cell_B;
    size_t offset = (rest >> INDEX_SHIFT & (INDEX_MAX - 1)) * cell_B;
    char *base = atomic_load_explicit(&slabs[kind].base, memory_order_acquire);

    *out_generation = (uint32_t)(rest >> GEN_SHIFT);
    if (HD_UNLIKELY(rest >> KIND_SHIFT || rest & ((1u << INDEX_SHIFT) - 1)))
        return NULL;
    if (HD_UNLIKELY(!base || offset > SLAB_B - cell_B || *out_generation % 2 == 0))
        return NULL;
    return (struct core_object *)(base + offset);
}

void *core_handle_lookup(enum core_handle_kind kind, const void *handle)
{
    uint32_t generation = 0;
    struct core_object *object = handle_decode(kind, handle, &generation);
    uint64_t state;

    if (HD_UNLIKELY(!object))
        return NULL;
    state = atomic_load_explicit(&object->state, memory_order_relaxed);
    do {
        if (HD_UNLIKELY(handle_generation_of(state) != generation))
            return NULL;
        assert(handle_references_of(state) > 0 && "the owner's");
    } while (!atomic_compare_exchange_weak_explicit(&object->state, &state, state + 1,
                                                    memory_order_acquire, memory_order_relaxed));
    return object;
}

const void *core_handle_peek(enum core_handle_kind kind, const void *handle)
{
    uint32_t generation = 0;
    const struct core_object *object = handle_decode(kind, handle, &generation);

    if (!object || handle_generation_of(
                       atomic_load_explicit(&object->state, memory_order_acquire)) != generation)
        return NULL;
    return object;
}

bool core_handle_is(enum core_handle_kind kind, const void *handle)
{
    return core_handle_peek(kind, handle) != NULL;
}

void *core_handle_next(enum core_handle_kind kind, uint32_t *at)
{
    uint64_t touched = core_handle_usage(kind).touched;
    char *base = atomic_load_explicit(&slabs[kind].base, memory_order_acquire);

    while (*at < touched) {
        struct core_object *object = (struct core_object *)(base + (*at)++ * kinds[kind].cell_B);

        if (core_object_ref_live(object))
            return object;
    }
    return NULL;
}
