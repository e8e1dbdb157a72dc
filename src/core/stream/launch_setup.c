/* Launches that are set up call by call (launch.h). */
#include <assert.h>

#include "base/mem.h"
#include "core/stream/launch.h"

static size_t setup_size_B(const struct core_function *f)
{
    return sizeof(struct core_setup) + f->entry->params_B;
}

/* What the function keeps, locked; NULL when there is no memory for it. */
static struct core_setup *setup_take(struct core_function *f)
{
    hd_lock_acquire(&f->module->lock);
    if (!f->setup)
        f->setup = hd_alloc(setup_size_B(f));
    return f->setup;
}

static enum hd_status setup_give(struct core_function *f)
{
    bool is_there = f->setup;

    assert(hd_lock_held(&f->module->lock));
    hd_lock_release(&f->module->lock);
    return is_there ? HD_OK : hd_error(HD_NO_MEMORY, "launch of %s", f->entry->name);
}

enum hd_status core_setup_block(struct core_function *f, const uint32_t block[3])
{
    struct core_setup *setup = setup_take(f);

    if (setup)
        memcpy(setup->block, block, sizeof(setup->block));
    return setup_give(f);
}

enum hd_status core_setup_smem(struct core_function *f, uint32_t size_B)
{
    struct core_setup *setup = setup_take(f);

    if (setup)
        setup->dynamic_smem_B = size_B;
    return setup_give(f);
}

/* Programs round it up. */
enum hd_status core_setup_params(struct core_function *f, uint32_t size_B)
{
    struct core_setup *setup;

    if (size_B > CORE_PARAMS_MAX_B)
        return hd_error(HD_BAD_ARG, "%s: %u bytes of parameters, the limit is %u", f->entry->name,
                        size_B, CORE_PARAMS_MAX_B);
    setup = setup_take(f);
    if (setup)
        setup->params_B = size_B;
    return setup_give(f);
}

enum hd_status core_setup_param(struct core_function *f, uint32_t offset_B, const void *bytes,
                                uint32_t size_B)
{
    struct core_setup *setup;

    if (size_B > f->entry->params_B || offset_B > f->entry->params_B - size_B)
        return hd_error(HD_BAD_ARG, "%s: parameter of %u bytes at %u, all have %u", f->entry->name,
                        size_B, offset_B, f->entry->params_B);
    setup = setup_take(f);
    if (setup)
        memcpy(setup->params + offset_B, bytes, size_B);
    return setup_give(f);
}

struct core_setup *core_setup_copy(struct core_function *f)
{
    struct core_setup *copy = hd_alloc(setup_size_B(f));

    hd_lock_acquire(&f->module->lock);
    if (copy && f->setup)
        memcpy(copy, f->setup, setup_size_B(f));
    hd_lock_release(&f->module->lock);
    return copy;
}
