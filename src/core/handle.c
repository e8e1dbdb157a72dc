/* Slabs of handles: cells of one kind in a reserved range that is never unmapped. */
#include <sys/mman.h>

#include "base/mem.h"
#include "core/core.h"

#define SLAB_B (256u << 20) /* address space only; pages come as cells are used */
#define MARK   0x48440000u

struct slab {
    char *base;
    size_t cell_B;
    size_t used; /* cells ever handed out */
    struct core_object *free;
};

static struct slab slabs[CORE_HANDLE_COUNT];
static struct hd_lock slab_lock = HD_LOCK_INIT(LEAF, "handles");
static _Atomic(char *) slab_bases[CORE_HANDLE_COUNT];

static const size_t cell_sizes[CORE_HANDLE_COUNT] = {
#define X(name, type) [CORE_##name] = (sizeof(type) + 63) & ~(size_t)63,
    CORE_HANDLE_LIST(X)
#undef X
};

static struct core_object *cell_take_locked(enum core_handle_kind kind)
{
    struct slab *slab = &slabs[kind];
    struct core_object *cell = slab->free;

    if (!slab->base) {
        void *base = mmap(NULL, SLAB_B, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED)
            return NULL;
        slab->base = base;
        slab->cell_B = cell_sizes[kind];
        atomic_store(&slab_bases[kind], slab->base);
    }
    if (cell) {
        slab->free = cell->next_free;
        return cell;
    }
    if ((slab->used + 1) * slab->cell_B > SLAB_B)
        return NULL;
    cell = (struct core_object *)(slab->base + slab->used++ * slab->cell_B);
    hd_mem_root(cell, slab->cell_B);
    return cell;
}

void *core_handle_alloc(enum core_handle_kind kind)
{
    struct core_object *cell;

    hd_lock_acquire(&slab_lock);
    cell = cell_take_locked(kind);
    hd_lock_release(&slab_lock);
    if (!cell)
        return NULL;
    memset((char *)cell + sizeof(*cell), 0, cell_sizes[kind] - sizeof(*cell));
    cell->kind = kind;
    cell->next_free = NULL;
    atomic_store_explicit(&cell->mark, MARK + kind, memory_order_release);
    return cell;
}

void core_handle_free(void *object)
{
    struct core_object *cell = object;

    atomic_store(&cell->mark, 0);
    hd_lock_acquire(&slab_lock);
    cell->next_free = slabs[cell->kind].free;
    slabs[cell->kind].free = cell;
    hd_lock_release(&slab_lock);
}

bool core_handle_is(enum core_handle_kind kind, const void *handle)
{
    const char *base = atomic_load_explicit(&slab_bases[kind], memory_order_acquire);
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)base;

    if (!base || offset >= SLAB_B || offset % cell_sizes[kind])
        return false;
    return atomic_load_explicit(&((const struct core_object *)handle)->mark,
                                memory_order_acquire) == MARK + kind;
}
