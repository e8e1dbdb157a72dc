/* The map of allocations: a sorted array under a mutex, and pictures of it. */
#include "san/memory.h"

#include <assert.h>
#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "hal/packet.h"
#include "san/shadow.h"

/* How many freed blocks are remembered, and pictures of submitted launches. */
enum { FREED_MAX = 1024, PICTURES = 4096, PICTURE_BLOCKS_MAX = 1024 };

enum { MEMORY_DEVICE = 1, MEMORY_MANAGED = 4, MEMORY_REGISTERED = 8 }; /* san_block.memory */

/* A launch call. */
struct picture {
    uint32_t correlation; /* as packets have it */
    void *context;
    struct san_memory
        *memory; /* NULL: nothing was ordered by streams yet, or it would be too large */
};

static struct {
    struct hd_lock lock;                /* all below */
    HD_VEC(struct san_block *) live;    /* by base, none overlaps another */
    struct san_block *freed[FREED_MAX]; /* a ring */
    uint64_t nfreed;
    uint64_t last_id;
    struct san_memory *now; /* of `live`; NULL: there was a change since */
    struct picture pictures[PICTURES];
    san_memory_gone *gone[SAN_MEMORY_USERS];
    uint32_t users;   /* bits */
    bool has_ordered; /* a block was allocated or freed in a stream */
    _Atomic bool is_incomplete;
} map = {.lock = HD_LOCK_INIT(SAN_MEMORY, "the map of allocations")};

bool san_memory_is_incomplete(void)
{
    return atomic_load_explicit(&map.is_incomplete, memory_order_relaxed);
}

/* ---- blocks */

static struct san_block *memory_block_ref(struct san_block *block)
{
    uint32_t before = atomic_fetch_add_explicit(&block->refs, 1, memory_order_relaxed);

    assert(before > 0);
    (void)before;
    return block;
}

void san_block_unref(struct san_block *block)
{
    uint32_t before =
        block ? atomic_fetch_sub_explicit(&block->refs, 1, memory_order_acq_rel) : UINT32_MAX;

    assert(before > 0);
    if (before > 1)
        return;
    san_shadow_destroy(atomic_load(&block->shadow));
    hd_free(block->order);
    hd_free(block->name);
    hd_free(block);
}

/* The first live block that ends behind the address. */
static size_t memory_find_locked(uint64_t va)
{
    size_t low = 0, high = map.live.len;

    assert(hd_lock_held(&map.lock));
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct san_block *block = map.live.at[middle];

        if (block->base + block->size_B <= va)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void memory_changed_locked(void)
{
    assert(hd_lock_held(&map.lock));
    if (map.now) {
        struct san_memory *now = map.now;

        map.now = NULL;
        san_memory_unref(now);
    }
}

/* Takes out what lies in [va, end); the result has the references. */
static size_t memory_cut_locked(uint64_t va, uint64_t end, struct san_block **out, size_t room)
{
    size_t first = memory_find_locked(va), n = 0;

    while (n < room && first + n < map.live.len && map.live.at[first + n]->base < end) {
        out[n] = map.live.at[first + n];
        n++;
    }
    if (!n)
        return 0;
    memmove(&map.live.at[first], &map.live.at[first + n],
            (map.live.len - first - n) * sizeof(map.live.at[0]));
    map.live.len -= n;
    memory_changed_locked();
    return n;
}

/* What it overlaps is gone, and nobody told us. */
static bool memory_insert_locked(struct san_block *block)
{
    struct san_block *old;
    size_t at;

    while (memory_cut_locked(block->base, block->base + block->size_B, &old, 1))
        san_block_unref(old);
    if (!hd_vec_reserve(&map.live, map.live.len + 1))
        return false;
    at = memory_find_locked(block->base);
    memmove(&map.live.at[at + 1], &map.live.at[at], (map.live.len - at) * sizeof(map.live.at[0]));
    map.live.at[at] = block;
    map.live.len++;
    assert(!at || map.live.at[at - 1]->base + map.live.at[at - 1]->size_B <= block->base);
    assert(at + 1 == map.live.len || block->base + block->size_B <= map.live.at[at + 1]->base);
    block->id = ++map.last_id;
    memory_changed_locked();
    return true;
}

static void memory_block_add(const struct san_block *what, const char *name)
{
    struct san_block *block = hd_new(struct san_block);
    bool done = false;

    if (block) {
        *block = *what;
        block->refs = 1;
        block->name = name ? hd_strdup(name) : NULL;
        hd_lock_acquire(&map.lock);
        map.has_ordered |= block->stream != NULL;
        done = memory_insert_locked(block);
        hd_lock_release(&map.lock);
    }
    if (done)
        return;
    san_block_unref(block);
    atomic_store(&map.is_incomplete, true);
}

/* A block goes: its reference of `live` is the caller's. */
static void memory_block_end(struct san_block *block, const struct san_stack *stack, bool in_stream)
{
    assert(!atomic_load(&block->is_freed));
    memory_block_ref(block);
    if (stack)
        block->freed = *stack;
    block->is_freed_in_stream = in_stream;
    atomic_store_explicit(&block->is_freed, true, memory_order_release);
    hd_lock_acquire(&map.lock);
    /* The reference of `live` goes to the list of freed blocks. */
    struct san_block **place = &map.freed[map.nfreed++ % FREED_MAX];
    assert(atomic_load(&block->is_freed));
    san_block_unref(*place);
    *place = block;
    hd_lock_release(&map.lock);
    for (unsigned i = 0; i < SAN_MEMORY_USERS; i++)
        if (map.gone[i])
            map.gone[i](block, !stack);
    san_block_unref(block);
}

/* ---- pictures */

void san_memory_unref(struct san_memory *memory)
{
    uint32_t before =
        memory ? atomic_fetch_sub_explicit(&memory->refs, 1, memory_order_acq_rel) : UINT32_MAX;

    assert(before > 0);
    if (before > 1)
        return;
    for (uint32_t i = 0; i < memory->n; i++)
        san_block_unref(memory->block[i]);
    hd_free(memory->base);
    hd_free(memory->block);
    hd_free(memory);
}

static struct san_memory *memory_picture_create_locked(void)
{
    struct san_memory *memory = hd_new(struct san_memory);
    size_t n = map.live.len;

    assert(hd_lock_held(&map.lock) && n <= UINT32_MAX);
    if (!memory)
        return NULL;
    memory->refs = 1;
    memory->base = hd_alloc_array(n + 1, sizeof(memory->base[0]));
    memory->block = hd_alloc_array(n + 1, sizeof(memory->block[0]));
    if (!memory->base || !memory->block) {
        san_memory_unref(memory);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        memory->base[i] = map.live.at[i]->base;
        memory->block[i] = memory_block_ref(map.live.at[i]);
        assert(!i || memory->base[i - 1] < memory->base[i]);
    }
    memory->n = (uint32_t)n;
    return memory;
}

static struct san_memory *memory_now_locked(void)
{
    assert(hd_lock_held(&map.lock));
    if (!map.now)
        map.now = memory_picture_create_locked();
    if (map.now)
        atomic_fetch_add_explicit(&map.now->refs, 1, memory_order_relaxed);
    return map.now;
}

struct san_memory *san_memory_now(void)
{
    struct san_memory *memory;

    hd_lock_acquire(&map.lock);
    memory = memory_now_locked();
    hd_lock_release(&map.lock);
    return memory;
}

struct san_memory_launch san_memory_of_launch(uint64_t correlation)
{
    const struct picture *p = &map.pictures[correlation % PICTURES];
    struct san_memory_launch launch = {0};

    hd_lock_acquire(&map.lock);
    if (correlation && p->correlation == (uint32_t)correlation) {
        launch.context = p->context;
        launch.memory = p->memory;
    }
    if (launch.memory)
        atomic_fetch_add_explicit(&launch.memory->refs, 1, memory_order_relaxed);
    else
        launch.memory = memory_now_locked();
    launch.is_late = map.has_ordered && launch.memory != p->memory;
    hd_lock_release(&map.lock);
    return launch;
}

/* No branches that depend on the address: half of the rest is left each time. */
int64_t san_memory_index(const struct san_memory *memory, uint64_t va)
{
    const uint64_t *base = memory->base;
    uint32_t n = memory->n;

    if (!n || base[0] > va)
        return -1;
    while (n > 1) {
        uint32_t half = n / 2;

        base += base[half] <= va ? half : 0;
        n -= half;
    }
    return base - memory->base;
}

struct san_block *san_memory_find(const struct san_memory *memory, uint64_t va)
{
    int64_t i = san_memory_index(memory, va);

    return i >= 0 && va - memory->base[i] < memory->block[i]->size_B ? memory->block[i] : NULL;
}

struct san_block *san_memory_live(uint64_t va)
{
    struct san_block *block = NULL;
    size_t i;

    hd_lock_acquire(&map.lock);
    i = memory_find_locked(va);
    if (i < map.live.len && map.live.at[i]->base <= va)
        block = memory_block_ref(map.live.at[i]);
    hd_lock_release(&map.lock);
    return block;
}

struct san_block *san_memory_freed(uint64_t va)
{
    struct san_block *found = NULL;
    uint64_t oldest;

    hd_lock_acquire(&map.lock);
    oldest = map.nfreed > FREED_MAX ? map.nfreed - FREED_MAX : 0;
    for (uint64_t i = map.nfreed; !found && i > oldest; i--) {
        struct san_block *block = map.freed[(i - 1) % FREED_MAX];

        if (va - block->base < block->size_B)
            found = memory_block_ref(block);
    }
    hd_lock_release(&map.lock);
    return found;
}

/* ---- events */

static void memory_on_alloc(const struct heddle_event *e)
{
    struct san_block block = {.base = e->memory.va,
                              .size_B = e->memory.size_B,
                              .memory = e->memory.memory,
                              .use = e->memory.use,
                              .context = e->context,
                              .stream = e->stream};

    if (!block.size_B || block.base + block.size_B < block.base)
        return;
    san_stack_take(&block.allocated);
    memory_block_add(&block, NULL);
}

/* A block of a module's variables goes with them. */
static void memory_on_free(const struct heddle_event *e)
{
    struct san_block *gone;
    struct san_stack stack;
    size_t n;

    san_stack_take(&stack);
    do {
        hd_lock_acquire(&map.lock);
        map.has_ordered |= e->stream != NULL;
        n = memory_cut_locked(e->memory.va, e->memory.va + e->memory.size_B, &gone, 1);
        hd_lock_release(&map.lock);
        if (n)
            memory_block_end(gone, &stack, e->stream != NULL);
    } while (n);
}

/* What a block of variables was before they took its place. */
struct area {
    uint64_t base, size_B;
    uint32_t memory;
};

/* Managed variables that lie in the program's own data, each by itself, are as registered. */
static uint32_t memory_of_area(struct area *area, const struct heddle_variable *v)
{
    struct san_block *block;

    if (v->va - area->base >= area->size_B && (block = san_memory_live(v->va))) {
        *area = (struct area){block->base, block->size_B, block->memory};
        san_block_unref(block);
    }
    if (v->va - area->base >= area->size_B || area->memory != MEMORY_MANAGED)
        return MEMORY_DEVICE;
    return area->size_B > v->size_B ? MEMORY_MANAGED : MEMORY_REGISTERED;
}

/* Its variables take the place of the block that they lie in. */
static void memory_on_module(const struct heddle_event *e)
{
    struct san_block block = {.use = HEDDLE_MEMORY_MODULE, .context = e->context};
    struct area area = {0};

    if (e->object.is_destroyed)
        return;
    for (uint32_t i = 0; i < e->object.nvariables; i++) {
        const struct heddle_variable *v = &e->object.variables[i];

        block.base = v->va;
        block.size_B = v->size_B;
        block.memory = memory_of_area(&area, v);
        if (block.size_B)
            memory_block_add(&block, v->name);
    }
}

static struct san_block *memory_cut_of_context(const void *context)
{
    struct san_block *block = NULL;

    hd_lock_acquire(&map.lock);
    for (size_t i = 0; i < map.live.len && !block; i++)
        if (map.live.at[i]->context == context)
            (void)memory_cut_locked(map.live.at[i]->base, map.live.at[i]->base + 1, &block, 1);
    hd_lock_release(&map.lock);
    return block;
}

static void memory_on_object(const struct heddle_event *e)
{
    struct san_block *block;

    if (!e->object.is_destroyed || strcmp(e->object.type, "context"))
        return;
    while ((block = memory_cut_of_context(e->object.handle)))
        memory_block_end(block, NULL, false);
}

static void memory_on_packet(const struct heddle_event *e)
{
    struct picture *p = &map.pictures[e->correlation % PICTURES];
    struct san_memory *old = NULL;

    if (e->packet.op != HAL_OP_DISPATCH || !e->correlation)
        return;
    hd_lock_acquire(&map.lock);
    old = p->memory;
    p->correlation = (uint32_t)e->correlation;
    p->context = e->context;
    p->memory = map.has_ordered && map.live.len <= PICTURE_BLOCKS_MAX ? memory_now_locked() : NULL;
    hd_lock_release(&map.lock);
    san_memory_unref(old);
}

void san_memory_host(unsigned user, const struct heddle_event *e)
{
    assert(user < SAN_MEMORY_USERS);
    if (map.users & ((1u << user) - 1)) /* another one is before it */
        return;
    if (e->kind == HEDDLE_EVENT_MEMORY && e->memory.is_freed)
        memory_on_free(e);
    else if (e->kind == HEDDLE_EVENT_MEMORY)
        memory_on_alloc(e);
    else if (e->kind == HEDDLE_EVENT_MODULE)
        memory_on_module(e);
    else if (e->kind == HEDDLE_EVENT_OBJECT)
        memory_on_object(e);
    else if (e->kind == HEDDLE_EVENT_PACKET)
        memory_on_packet(e);
}

void san_memory_start(unsigned user, san_memory_gone *gone)
{
    assert(user < SAN_MEMORY_USERS);
    hd_lock_acquire(&map.lock);
    map.users |= 1u << user;
    map.gone[user] = gone;
    hd_lock_release(&map.lock);
}

void san_memory_stop(void)
{
    hd_lock_acquire(&map.lock);
    memory_changed_locked();
    for (size_t i = 0; i < map.live.len; i++)
        san_block_unref(map.live.at[i]);
    for (size_t i = 0; i < FREED_MAX; i++)
        san_block_unref(map.freed[i]);
    for (size_t i = 0; i < PICTURES; i++)
        san_memory_unref(map.pictures[i].memory);
    hd_vec_fini(&map.live);
    memset(map.freed, 0, sizeof(map.freed));
    memset(map.pictures, 0, sizeof(map.pictures));
    memset(map.gone, 0, sizeof(map.gone));
    map.nfreed = map.last_id = 0;
    map.users = 0;
    map.has_ordered = false;
    atomic_store(&map.is_incomplete, false);
    hd_lock_release(&map.lock);
}
