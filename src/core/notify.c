/* Events of core's objects, for those who listen. */
#include "core/notify.h"

#include "base/mem.h"
#include "core/context.h"
#include "core/device.h"
#include "core/mem/memory.h"
#include "core/module/image.h"
#include "core/module/module.h"
#include "hal/hal.h"
#include "ir/ir.h"
#include "registry/registry.h"

#include <assert.h>

void core_notify_object(enum core_handle_kind kind, struct core_context *ctx, void *handle,
                        bool is_destroyed)
{
    static const char *const types[CORE_HANDLE_COUNT] = {
        [CORE_CONTEXT] = "context", [CORE_MODULE] = "module", [CORE_STREAM] = "stream",
        [CORE_EVENT] = "event",     [CORE_ARRAY] = "array",   [CORE_TEXTURE] = "texture"};
    struct heddle_event event = {.kind = HEDDLE_EVENT_OBJECT, .phase = HEDDLE_PHASE_POINT};

    assert(kind < CORE_HANDLE_COUNT && types[kind] && handle);
    if (kind == CORE_MODULE)
        event.kind = HEDDLE_EVENT_MODULE;
    event.context = core_context_handle(ctx);
    event.object.handle = handle;
    event.object.type = types[kind];
    event.object.is_destroyed = is_destroyed;
    tap_emit(&event);
}

void core_notify_stream(struct core_context *ctx, void *handle, uint32_t flags)
{
    struct heddle_event event = {.kind = HEDDLE_EVENT_OBJECT, .phase = HEDDLE_PHASE_POINT};

    event.context = core_context_handle(ctx);
    event.object.handle = handle;
    event.object.type = "stream";
    event.object.flags = flags;
    tap_emit(&event);
}

/* NULL: no memory, and the module has no names. */
static struct heddle_variable *variables_list(const struct core_module *module, uint32_t *out_n)
{
    const struct ir_module *ir = core_image_decls(module->image);
    struct heddle_variable *list = hd_alloc_array(ir->nvars + 1u, sizeof(*list));

    *out_n = 0;
    for (const struct ir_var *v = ir->vars; list && v; v = v->next)
        if (v->space == IR_SPACE_GLOBAL || v->space == IR_SPACE_CONST)
            list[(*out_n)++] =
                (struct heddle_variable){v->name, module->var_va[v->index], v->size_B};
    return list;
}

void core_notify_module(struct core_module *module)
{
    struct heddle_event event = {.kind = HEDDLE_EVENT_MODULE, .phase = HEDDLE_PHASE_POINT};
    struct heddle_variable *variables = variables_list(module, &event.object.nvariables);

    event.context = core_context_handle(module->ctx);
    event.object.handle = core_module_handle(module);
    event.object.type = "module";
    event.object.variables = variables;
    event.object.image = core_image_key(module->image);
    tap_emit(&event);
    hd_free(variables);
}

void core_notify_memory(const struct core_block *block, struct core_stream *stream, bool is_freed)
{
    struct heddle_event event = {.kind = HEDDLE_EVENT_MEMORY, .phase = HEDDLE_PHASE_POINT};

    event.context = block->ctx ? core_context_handle(block->ctx) : NULL;
    event.stream = stream ? core_stream_handle(stream) : NULL;
    event.memory.va = block->base;
    event.memory.size_B = block->size_B;
    event.memory.memory = block->kind;
    event.memory.is_freed = is_freed;
    event.memory.use = block->use;
    tap_emit(&event);
}

/* What NVIDIA's driver calls such a failure (Xid Errors). */
static uint64_t xid_of(enum hd_status status)
{
    switch (status) {
    case HD_ILLEGAL_ADDRESS:
        return 31; /* MMU fault */
    case HD_ASSERT:
        return 43; /* the program's kernel stopped itself */
    case HD_TIMEOUT:
        return 8; /* it stopped doing anything */
    default:
        return 13; /* exception of an SM */
    }
}

/* Work that was cancelled has not failed. */
void core_notify_fault(struct hal_domain *domain, const struct hal_fault_site *site)
{
    const struct hal_fault *fault = domain->fault;
    struct heddle_event event = {.kind = HEDDLE_EVENT_FAULT, .phase = HEDDLE_PHASE_POINT};

    const struct core_context *ctx = domain->owner;
    if (hal_fault_status(domain->fault) != HD_CANCELLED)
        reg_notify_event(ctx->device->uuid, xid_of(hal_fault_status(domain->fault)));
    if (!tap_wants(HEDDLE_KIND(FAULT)) || hal_fault_status(fault) == HD_CANCELLED)
        return;
    assert(hal_fault_status(fault) != HD_OK);
    event.context = core_context_handle(domain->owner);
    event.fault.kernel = site->kernel;
    event.fault.message = fault->message;
    event.fault.status = hal_fault_status(fault);
    event.fault.address = fault->address;
    event.fault.has_block = site->block != NULL;
    event.fault.has_thread = site->thread != NULL;
    if (site->block)
        memcpy(event.fault.block, site->block, sizeof(event.fault.block));
    if (site->thread)
        memcpy(event.fault.thread, site->thread, sizeof(event.fault.thread));
    event.fault.file = site->file;
    event.fault.line = site->file ? site->line : 0;
    tap_emit(&event);
}
