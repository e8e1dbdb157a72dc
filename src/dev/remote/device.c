/* The device object: its operations are calls of the other process. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "dev/remote/private.h"
#include "ir/ir.h"

/* A call whose failure changes nothing: the object is gone with the other process. */
static void device_notify(struct hal_device *device, enum remote_op op, uint64_t id)
{
    struct remote_message m = {.op = op, .id = id};

    if (remote_call(remote_of(device), &m, -1, NULL) != HD_OK)
        hd_error_clear();
}

static void device_text_set(struct remote_message *m, const char *text)
{
    snprintf(m->text, sizeof(m->text), "%s", text);
}

/* ---- the device */

static void device_process_end(struct remote_device *dev)
{
    if (dev->socket >= 0)
        close(dev->socket);
    if (dev->process > 0)
        (void)waitpid(dev->process, NULL, 0);
    dev->socket = -1;
    dev->process = 0;
}

static void device_destroy(struct hal_device *base)
{
    struct remote_device *dev = remote_of(base);

    device_process_end(dev);
    hal_device_fini(base);
    pthread_cond_destroy(&dev->retired);
    hd_lock_fini(&dev->retire_lock);
    hd_lock_fini(&dev->lock);
    hd_free(dev);
}

static void device_describe(struct hal_device *base, int32_t values[HAL_ATTRIBUTE_END])
{
    memcpy(values, remote_of(base)->attributes, sizeof(remote_of(base)->attributes));
    values[HAL_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS] = 0;
    values[HAL_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES] = 0;
    values[HAL_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM] = 0;
    values[HAL_ATTRIBUTE_HOST_REGISTER_SUPPORTED] = 0;
    values[HAL_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED] = 0;
    values[HAL_ATTRIBUTE_MULTICAST_SUPPORTED] = 0;
}

/* ---- modules */

static enum hd_status device_module_load(struct hal_device *device,
                                         const struct hal_program *program,
                                         struct hal_module **out_module)
{
    struct remote_message m = {.op = REMOTE_MODULE_LOAD, .a = program->nfuncs, .b = program->nvars};
    struct remote_module *module;
    enum hd_status status;
    int fd;

    HD_TRY(hal_program_refuse_image(device, program));
    module = hd_new(struct remote_module);
    if (module)
        module->kernels = hd_alloc_array(program->nfuncs + 1u, sizeof(*module->kernels));
    if (!module || !module->kernels) {
        hd_free(module);
        return hd_error(HD_NO_MEMORY, "module %s", program->name);
    }
    device_text_set(&m, program->name);
    status = remote_file_make(program->var_va, program->nvars * sizeof(*program->var_va), &fd);
    if (status == HD_OK) {
        status = remote_call(remote_of(device), &m, fd, NULL);
        close(fd);
    }
    if (status != HD_OK) {
        hd_free(module->kernels);
        hd_free(module);
        return status;
    }
    module->base = (struct hal_module){.device = device, .nfuncs = program->nfuncs};
    module->id = m.id;
    hd_lock_init(&module->lock, HD_RANK_COMPILE, "remote module");
    *out_module = &module->base;
    return HD_OK;
}

static void device_module_unload(struct hal_module *base)
{
    struct remote_module *module = (struct remote_module *)base;

    device_notify(base->device, REMOTE_MODULE_UNLOAD, module->id);
    for (uint32_t i = 0; i < base->nfuncs; i++) {
        if (module->kernels[i])
            hal_kernel_withdraw(base->device, &module->kernels[i]->base);
        hd_free(module->kernels[i]);
    }
    hd_free(module->kernels);
    hd_lock_fini(&module->lock);
    hd_free(module);
}

static enum hd_status device_kernel_send(struct remote_module *module, uint32_t index,
                                         const struct ir_module *code, struct remote_kernel *kernel)
{
    struct remote_message m = {.op = REMOTE_KERNEL_GET, .id = module->id, .b = index};
    enum hd_status status;
    struct hd_buf text;
    int fd = -1;

    hd_buf_init(&text);
    ir_print_module(code, &text);
    m.a = text.len;
    status = text.failed
                 ? hd_error(HD_NO_MEMORY, "text of kernel %s", ir_module_func_at(code, index)->name)
                 : remote_file_make(text.ptr, text.len, &fd);
    hd_buf_fini(&text);
    if (status != HD_OK)
        return status;
    status = remote_call(remote_of(module->base.device), &m, fd, NULL);
    close(fd);
    if (status != HD_OK)
        return status;
    kernel->base.module = &module->base;
    kernel->base.index = index;
    kernel->dispatched = m.b;
    kernel->id = m.id;
    kernel->info = m.kernel;
    return hal_kernel_publish(module->base.device, &kernel->base);
}

static enum hd_status device_kernel_get(struct hal_module *base, uint32_t index,
                                        const struct ir_module *code,
                                        struct hal_kernel **out_kernel)
{
    struct remote_module *module = (struct remote_module *)base;
    const struct ir_func *func = index < base->nfuncs ? ir_module_func_at(code, index) : NULL;
    enum hd_status status = HD_OK;

    if (!func || !func->is_kernel || func->is_declaration)
        return hd_error(HD_NOT_FOUND, "function %u of %s is not a kernel with a body", index,
                        code->name);
    if (code->has_probes)
        return hd_error(HD_NOT_SUPPORTED,
                        "kernel %s has probes: a %s device cannot ask its client "
                        "for 'observer'",
                        func->name, base->device->info.name);
    hd_lock_acquire(&module->lock);
    if (!module->kernels[index]) {
        struct remote_kernel *kernel = hd_new(struct remote_kernel);

        status = kernel ? device_kernel_send(module, index, code, kernel)
                        : hd_error(HD_NO_MEMORY, "kernel %s", func->name);
        if (status == HD_OK)
            module->kernels[index] = kernel;
        else
            hd_free(kernel);
    }
    if (status == HD_OK)
        *out_kernel = &module->kernels[index]->base;
    hd_lock_release(&module->lock);
    return status;
}

static enum hd_status device_kernel_info(struct hal_kernel *base, struct hal_kernel_info *out_info)
{
    *out_info = ((struct remote_kernel *)base)->info;
    return HD_OK;
}

static enum hd_status device_kernel_prepare(struct hal_kernel *base, const uint32_t grid[3],
                                            const uint32_t block[3])
{
    struct remote_message m = {.op = REMOTE_KERNEL_PREPARE,
                               .id = ((struct remote_kernel *)base)->id};

    memcpy(m.grid, grid, sizeof(m.grid));
    memcpy(m.block, block, sizeof(m.block));
    return remote_call(remote_of(base->module->device), &m, -1, NULL);
}

/* ---- domains */

static void device_domain_destroy(struct hal_domain *base)
{
    struct remote_domain *domain = (struct remote_domain *)base;

    device_notify(base->device, REMOTE_DOMAIN_DESTROY, domain->id);
    hd_lock_fini(&domain->limits_lock);
    hal_domain_fini(base);
    hd_free(domain);
}

/* The fault is the other side's, which both map. */
static enum hd_status device_fault_map(struct hal_domain *domain, int fd)
{
    void *at =
        fd >= 0 ? mmap(NULL, HAL_DOMAIN_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

    if (at == MAP_FAILED)
        return hd_error(HD_NO_MEMORY, "fault of a domain");
    domain->fault = at;
    domain->memfd = fd;
    return HD_OK;
}

static enum hd_status device_domain_create(struct hal_device *device,
                                           struct hal_domain **out_domain)
{
    struct remote_message m = {.op = REMOTE_DOMAIN_CREATE, .a = device->nsms};
    struct remote_domain *domain;
    enum hd_status status;
    int fd;

    HD_TRY(remote_call(remote_of(device), &m, -1, &fd));
    domain = hd_new(struct remote_domain);
    status = domain ? hal_domain_init(&domain->base, device) : hd_error(HD_NO_MEMORY, "domain");
    if (status == HD_OK) {
        domain->id = m.id;
        hd_lock_init(&domain->limits_lock, HD_RANK_DEVICE, "limits");
        for (unsigned i = 0; i < HAL_LIMIT_COUNT; i++)
            domain->limits[i] = hal_limit_get(&domain->base, (enum hal_limit)i);
        status = device_fault_map(&domain->base, fd);
        if (status != HD_OK)
            device_domain_destroy(&domain->base);
    } else {
        device_notify(device, REMOTE_DOMAIN_DESTROY, m.id);
        hd_free(domain);
    }
    if (status != HD_OK)
        hal_shared_destroy(fd, NULL, 0);
    else
        *out_domain = &domain->base;
    return status;
}

static void device_domain_reset(struct hal_domain *base)
{
    struct remote_domain *domain = (struct remote_domain *)base;

    device_notify(base->device, REMOTE_DOMAIN_RESET, domain->id);
    hal_domain_reset(base);
    for (unsigned i = 0; i < HAL_LIMIT_COUNT; i++)
        domain->limits[i] = hal_limit_get(base, (enum hal_limit)i);
    atomic_store(&domain->is_notified, false);
}

static void device_domain_cancel(struct hal_domain *base)
{
    device_notify(base->device, REMOTE_DOMAIN_CANCEL, ((struct remote_domain *)base)->id);
    hal_domain_fail(base, HD_CANCELLED, 0, NULL, "the work was cancelled");
}

static void device_printf_flush(struct hal_domain *base)
{
    fflush(stdout);
    device_notify(base->device, REMOTE_DOMAIN_FLUSH, ((struct remote_domain *)base)->id);
}

/* ---- memory: files that both sides map */

static enum hd_status device_mem_add(struct hal_mem *made, bool is_private,
                                     struct hal_mem **out_mem)
{
    struct remote_message m = {.op = REMOTE_MEM_ADD};
    struct remote_mem *mem = hd_new(struct remote_mem);
    enum hd_status status;

    status = mem ? remote_call(remote_of(made->device), &m, made->memfd, NULL)
                 : hd_error(HD_NO_MEMORY, "memory object");
    if (status != HD_OK) {
        hal_host_mem_destroy(made);
        hd_free(mem);
        return status;
    }
    mem->base = *made;
    mem->id = m.id;
    mem->is_private = is_private;
    hd_free(made); /* the descriptor is the new one's */
    *out_mem = &mem->base;
    return HD_OK;
}

static enum hd_status device_mem_create(struct hal_device *device, uint64_t size_B, bool shareable,
                                        struct hal_mem **out_mem)
{
    struct hal_mem *made;

    HD_TRY(hal_host_mem_create(device, size_B, true, &made));
    return device_mem_add(made, !shareable, out_mem);
}

static enum hd_status device_mem_import(struct hal_device *device, int fd, struct hal_mem **out_mem)
{
    struct hal_mem *made;

    HD_TRY(hal_host_mem_import(device, fd, &made));
    return device_mem_add(made, false, out_mem);
}

static void device_mem_destroy(struct hal_mem *base)
{
    device_notify(base->device, REMOTE_MEM_REMOVE, ((struct remote_mem *)base)->id);
    hal_host_mem_destroy(base);
}

static enum hd_status device_mem_export(struct hal_mem *base, int *out_fd)
{
    if (((struct remote_mem *)base)->is_private)
        return hd_error(HD_NOT_SUPPORTED, "private memory cannot be exported");
    return hal_host_mem_export(base, out_fd);
}

static enum hd_status device_mem_map(struct hal_mem *base, uint64_t va, uint64_t offset_B,
                                     uint64_t size_B, enum hal_prot prot)
{
    struct remote_mem *mem = (struct remote_mem *)base;
    struct remote_message m = {
        .op = REMOTE_MEM_MAP, .id = mem->id, .a = va, .b = offset_B, .c = size_B, .d = prot};

    if (mem->is_private && base->base && va - offset_B != base->base && offset_B <= base->size_B &&
        size_B <= base->size_B - offset_B)
        return hd_error(HD_NOT_SUPPORTED, "private memory at 0x%llx cannot also be at 0x%llx",
                        (unsigned long long)(base->base + offset_B), (unsigned long long)va);
    HD_TRY(hal_host_mem_map(base, va, offset_B, size_B, prot));
    base->base = va - offset_B;
    enum hd_status status = remote_call(remote_of(base->device), &m, -1, NULL);
    if (status != HD_OK)
        hal_host_mem_unmap(base, va, size_B);
    return status;
}

static void device_mem_unmap(struct hal_mem *base, uint64_t va, uint64_t size_B)
{
    struct remote_message m = {
        .op = REMOTE_MEM_UNMAP, .id = ((struct remote_mem *)base)->id, .a = va, .c = size_B};

    hal_host_mem_unmap(base, va, size_B);
    if (remote_call(remote_of(base->device), &m, -1, NULL) != HD_OK)
        hd_error_clear();
}

static const struct hal_device_ops device_ops = {
    .destroy = device_destroy,
    .describe = device_describe,
    .module_load = device_module_load,
    .module_unload = device_module_unload,
    .kernel_get = device_kernel_get,
    .kernel_info = device_kernel_info,
    .kernel_prepare = device_kernel_prepare,
    .domain_create = device_domain_create,
    .domain_destroy = device_domain_destroy,
    .domain_reset = device_domain_reset,
    .domain_cancel = device_domain_cancel,
    .queue_create = remote_queue_create,
    .wait = remote_wait,
    .mem_create = device_mem_create,
    .mem_destroy = device_mem_destroy,
    .mem_export = device_mem_export,
    .mem_import = device_mem_import,
    .mem_map = device_mem_map,
    .mem_unmap = device_mem_unmap,
    .mem_discard = hal_host_mem_discard,
    .printf_flush = device_printf_flush,
};

/* ---- creation */

/*
 * What the other process cannot ask, and the client relies on. Kernels that need an observer or the
 * runtime are refused one by one; who has no observer asks for no program_replicas.
 */
static enum hd_status device_client_check(const struct hal_client_ops *client, const char *name)
{
    static const char later[] = "observer,runtime,program_replicas";
    const struct hal_client_row *row;
    const char *lacks = client && client->refusal ? "refusal" : NULL; /* a round trip an access */
    unsigned at = 0;

    while (!lacks && (row = hal_client_ops_find(client, HAL_CLIENT_LOCAL, &at)))
        if (!hd_str_lists(hd_str_from(later), row->name))
            lacks = row->name;
    if (!lacks)
        return HD_OK;
    return hd_error(HD_NOT_SUPPORTED,
                    "a %s device cannot ask its client for '%s': counters of the host and "
                    "HEDDLE_STRICT need a device of this process",
                    name, lacks);
}

static enum hd_status device_hello(struct remote_device *dev, const char *backend)
{
    const struct hal_client_ops *client = &dev->base.client;
    struct remote_message m = {.op = REMOTE_HELLO, .a = client->space_va, .b = client->space_B};
    const void *at;
    int fd;

    device_text_set(&m, backend);
    HD_TRY(remote_call(dev, &m, client->textures ? client->textures_fd : -1, &fd));
    enum hd_status status = remote_file_map(fd, sizeof(dev->attributes), &at);
    hal_shared_destroy(fd, NULL, 0);
    HD_TRY(status);
    memcpy(dev->attributes, at, sizeof(dev->attributes));
    munmap((void *)(uintptr_t)at, sizeof(dev->attributes));
    m.device.description[sizeof(m.device.description) - 1] = 0;
    memcpy(dev->target, m.device.target, sizeof(dev->target) - 1);
    dev->base.info.target = dev->target;
    dev->base.info.units = m.device.units;
    dev->base.info.priority_greatest = m.device.priority_greatest;
    snprintf(dev->base.info.description, sizeof(dev->base.info.description), "%.80s, elsewhere",
             m.device.description);
    return HD_OK;
}

/*
 * The addresses of memory are those of this process. What the new one has of its own lies anywhere,
 * now and then among them: then another one is started, which lies elsewhere.
 */
#define STARTS 24

static enum hd_status device_process_begin(struct remote_device *dev, const char *backend)
{
    enum hd_status status = HD_OK;

    for (unsigned i = 0; i < STARTS; i++) {
        if (status == HD_NO_DEVICE_MEMORY)
            device_process_end(dev);
        status = remote_start(&dev->socket, &dev->process);
        if (status == HD_OK)
            status = device_hello(dev, backend);
        if (status != HD_NO_DEVICE_MEMORY)
            break;
    }
    return status;
}

static enum hd_status device_create(const char *name, const char *backend,
                                    const struct hal_client_ops *client,
                                    struct hal_device **out_device)
{
    struct remote_device *dev;
    pthread_condattr_t attr;
    enum hd_status status;

    HD_TRY(device_client_check(client, name));
    dev = hd_new(struct remote_device);
    if (!dev)
        return hd_error(HD_NO_MEMORY, "remote device");
    hal_device_init(&dev->base, &device_ops, client);
    dev->base.info =
        (struct hal_device_info){.name = name, .clock = HAL_CLOCK_HOST, .is_elsewhere = true};
    hd_lock_init(&dev->lock, HD_RANK_LEAF, "remote device");
    hd_lock_init(&dev->retire_lock, HD_RANK_DEVICE, "remote device's queues");
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&dev->retired, &attr);
    pthread_condattr_destroy(&attr);
    dev->socket = -1;
    status = device_process_begin(dev, backend);
    if (status != HD_OK)
        device_destroy(&dev->base);
    else
        *out_device = &dev->base;
    return status;
}

enum hd_status remote_cpu_create(const struct hal_client_ops *client,
                                 struct hal_device **out_device)
{
    return device_create("remote-cpu", "cpu", client, out_device);
}

enum hd_status remote_interp_create(const struct hal_client_ops *client,
                                    struct hal_device **out_device)
{
    return device_create("remote-interp", "interp", client, out_device);
}
