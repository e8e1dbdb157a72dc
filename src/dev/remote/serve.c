/*
 * The device's process: what comes over the socket, turned into operations of a backend. What the
 * client names by a number is looked up in a table: a number of something else is an error.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "dev/remote/remote.h"
#include "dev/remote/wire.h"
#include "hal/serve.h"
#include "ir/ir.h"
#include "model/texture.h"

enum kind { FREE, MODULE, KERNEL, DOMAIN, QUEUE, MEM };

struct entry {
    enum kind kind;
    void *object;
    void *also; /* MODULE: its codes */
};

/* The IR of a module's kernels, which lives as long as it. */
struct codes {
    HD_VEC(struct ir_module *) vec;
};

struct range {
    uint64_t first, end;
};

static struct {
    int socket;
    struct hal_device *device;
    HD_VEC(struct entry) entries; /* number + 1 is the id */
    HD_VEC(struct range) ranges;  /* of addresses that are ours to map at; they do not overlap */
} own;

static enum hd_status serve_add(enum kind kind, void *object, void *also, uint64_t *out_id)
{
    size_t i = 0;

    while (i < own.entries.len && own.entries.at[i].kind != FREE)
        i++;
    if (i == own.entries.len && !hd_vec_push(&own.entries, (struct entry){0}))
        return hd_error(HD_NO_MEMORY, "table of objects");
    own.entries.at[i] = (struct entry){kind, object, also};
    *out_id = i + 1;
    return HD_OK;
}

static struct entry *serve_find(uint64_t id, enum kind kind)
{
    return id && id <= own.entries.len && own.entries.at[id - 1].kind == kind
               ? &own.entries.at[id - 1]
               : NULL;
}

static enum hd_status serve_get(uint64_t id, enum kind kind, void *out_object)
{
    struct entry *e = serve_find(id, kind);

    if (!e)
        return hd_error(HD_BAD_ARG, "there is no object %llu of kind %d", (unsigned long long)id,
                        (int)kind);
    memcpy(out_object, &e->object, sizeof(e->object));
    return HD_OK;
}

static enum hd_status serve_take(uint64_t id, enum kind kind, void *out_object)
{
    HD_TRY(serve_get(id, kind, out_object));
    serve_find(id, kind)->kind = FREE;
    return HD_OK;
}

/* ---- addresses */

/* Makes [first, end) ours, of which parts may be: nothing that this process has lies there. */
static enum hd_status serve_range_reserve(uint64_t first, uint64_t end)
{
    while (first < end) {
        uint64_t next = end;
        bool inside = false;

        for (size_t i = 0; i < own.ranges.len; i++) {
            const struct range *r = &own.ranges.at[i];

            if (r->first <= first && first < r->end) {
                next = HD_MIN(end, r->end);
                inside = true;
            } else if (r->first > first && r->first < next && !inside) {
                next = r->first;
            }
        }
        if (!inside) {
            void *at =
                mmap((void *)(uintptr_t)first, next - first, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

            if (at == MAP_FAILED)
                return hd_error(HD_NO_DEVICE_MEMORY,
                                "addresses from 0x%llx on are taken in the device's process: %s",
                                (unsigned long long)first, strerror(errno));
            if (!hd_vec_push(&own.ranges, (struct range){first, next}))
                return hd_error(HD_NO_MEMORY, "ranges of addresses");
        }
        first = next;
    }
    return HD_OK;
}

/* ---- requests */

static enum hd_status serve_hello(struct remote_message *m, int fd, int *out_fd)
{
    struct hal_client_ops client = {.textures_fd = -1};
    int32_t attributes[HAL_ATTRIBUTE_END];
    const void *textures = NULL;

    if (own.device)
        return hd_error(HD_BAD_STATE, "the device is there already");
    if (m->a % 4096 || m->b % 4096 || m->a + m->b < m->a)
        return hd_error(HD_BAD_ARG, "addresses that are not of pages");
    HD_TRY(serve_range_reserve(m->a, m->a + m->b)); /* before there are threads and code */
    if (fd >= 0) {
        HD_TRY(remote_file_map(fd, sizeof(struct ir_texture_table), &textures));
        client.textures = textures;
    }
    HD_TRY(hal_device_create(m->text, &client, &own.device));
    hal_device_attributes(own.device, attributes);
    own.device->nsms = (uint32_t)attributes[HAL_ATTRIBUTE_MULTIPROCESSOR_COUNT];
    memset(m->text, 0, sizeof(m->text));
    memcpy(m->device.description, own.device->info.description, sizeof(m->device.description));
    snprintf(m->device.target, sizeof(m->device.target), "%s", own.device->info.target);
    m->device.units = own.device->info.units;
    m->device.priority_greatest = own.device->info.priority_greatest;
    return remote_file_make(attributes, sizeof(attributes), out_fd);
}

static enum hd_status serve_load_module(struct remote_message *m, int fd)
{
    struct hal_program program = {
        .name = m->text, .nfuncs = (uint32_t)m->a, .nvars = (uint32_t)m->b};
    struct codes *codes = hd_new(struct codes);
    struct hal_module *module = NULL;
    const void *vars = NULL;
    size_t vars_B = program.nvars * sizeof(uint64_t);
    enum hd_status status = codes ? HD_OK : hd_error(HD_NO_MEMORY, "module");

    if (status == HD_OK && vars_B)
        status = remote_file_map(fd, vars_B, &vars);
    program.var_va = vars;
    if (status == HD_OK)
        status = own.device->ops->module_load(own.device, &program, &module);
    if (status == HD_OK)
        status = serve_add(MODULE, module, codes, &m->id);
    if (vars)
        munmap((void *)(uintptr_t)vars, vars_B);
    if (status != HD_OK)
        hd_free(codes);
    return status;
}

static void serve_unload_module(struct hal_module *module, struct codes *codes)
{
    for (size_t i = 0; i < own.entries.len; i++)
        if (own.entries.at[i].kind == KERNEL &&
            ((struct hal_kernel *)own.entries.at[i].object)->module == module)
            own.entries.at[i].kind = FREE;
    module->device->ops->module_unload(module);
    for (size_t i = 0; i < codes->vec.len; i++)
        ir_module_destroy(codes->vec.at[i]);
    hd_vec_fini(&codes->vec);
    hd_free(codes);
}

static enum hd_status serve_get_kernel(struct remote_message *m, int fd)
{
    const struct hal_device_ops *ops = own.device->ops;
    struct entry *e = serve_find(m->id, MODULE);
    struct ir_module *ir = NULL;
    struct hal_kernel *kernel;
    const struct ir_func *func;
    const void *text;
    enum hd_status status;

    if (!e)
        return hd_error(HD_BAD_ARG, "there is no module %llu", (unsigned long long)m->id);
    HD_TRY(remote_file_map(fd, m->a, &text));
    status = ir_read_module(text, m->a, "remote", &ir);
    munmap((void *)(uintptr_t)text, m->a);
    HD_TRY(status);
    status = ir_layout_windows(ir);
    func = m->b < ir->nfuncs ? ir_module_func_at(ir, (uint32_t)m->b) : NULL;
    if (status == HD_OK && !func)
        status = hd_error(HD_NOT_FOUND, "there is no function %llu", (unsigned long long)m->b);
    if (status == HD_OK && !hd_vec_push(&((struct codes *)e->also)->vec, ir))
        status = hd_error(HD_NO_MEMORY, "IR of a kernel");
    if (status != HD_OK) {
        ir_module_destroy(ir);
        return status;
    }
    HD_TRY(ops->kernel_get(e->object, func->index, ir, &kernel));
    HD_TRY(serve_add(KERNEL, kernel, NULL, &m->id));
    m->b = kernel->id;
    return ops->kernel_info(kernel, &m->kernel);
}

static enum hd_status serve_map(const struct remote_message *m)
{
    struct hal_mem *mem;

    HD_TRY(serve_get(m->id, MEM, &mem));
    if (m->a % 4096 || m->c % 4096 || m->a + m->c < m->a)
        return hd_error(HD_BAD_ARG, "a mapping that is not of pages");
    HD_TRY(serve_range_reserve(m->a, m->a + m->c));
    return own.device->ops->mem_map(mem, m->a, m->b, m->c, (enum hal_prot)m->d);
}

static enum hd_status serve_create_domain(struct remote_message *m, int *out_fd)
{
    const struct hal_device_ops *ops = own.device->ops;
    struct hal_domain *domain;
    enum hd_status status;

    if (m->a > HAL_SMS_MAX)
        return hd_error(HD_BAD_ARG, "%llu multiprocessors", (unsigned long long)m->a);
    if (m->a)
        own.device->nsms = (uint32_t)m->a;
    HD_TRY(ops->domain_create(own.device, &domain));
    status = hal_domain_share(domain, out_fd);
    if (status == HD_OK)
        *out_fd = dup(*out_fd); /* the domain's stays its own */
    if (status == HD_OK)
        status = serve_add(DOMAIN, domain, NULL, &m->id);
    if (status != HD_OK)
        ops->domain_destroy(domain);
    return status;
}

static enum hd_status serve_limit_queue(const struct remote_message *m)
{
    struct hal_server *queue;

    HD_TRY(serve_get(m->id, QUEUE, &queue));
    if (hd_fault(HD_FAULT_REMOTE_LIMITS))
        return hd_error(HD_NOT_SUPPORTED, "sets of multiprocessors are refused (HEDDLE_FAULT)");
    if (m->a && !hal_sms_count(&m->sms))
        return hd_error(HD_BAD_ARG, "a queue without multiprocessors");
    for (uint32_t sm = own.device->nsms; sm < HAL_SMS_MAX; sm++)
        if (hal_sms_has(&m->sms, sm))
            return hd_error(HD_BAD_ARG, "there is no multiprocessor %u", sm);
    hal_server_sms_set(queue, m->a ? &m->sms : NULL);
    return HD_OK;
}

static enum hd_status serve(struct remote_message *m, int fd, int *out_fd)
{
    const struct hal_device_ops *ops = own.device ? own.device->ops : NULL;
    struct hal_server *queue;
    struct hal_domain *domain;
    struct hal_kernel *kernel;
    struct hal_module *module;
    struct hal_mem *mem;
    struct codes *codes;

    m->text[sizeof(m->text) - 1] = 0;
    if (!ops && m->op != REMOTE_HELLO)
        return hd_error(HD_BAD_STATE, "there is no device yet");
    switch ((enum remote_op)m->op) {
    case REMOTE_HELLO:
        return serve_hello(m, fd, out_fd);
    case REMOTE_MODULE_LOAD:
        return serve_load_module(m, fd);
    case REMOTE_MODULE_UNLOAD:
        codes = serve_find(m->id, MODULE) ? serve_find(m->id, MODULE)->also : NULL;
        HD_TRY(serve_take(m->id, MODULE, &module));
        serve_unload_module(module, codes);
        return HD_OK;
    case REMOTE_KERNEL_GET:
        return serve_get_kernel(m, fd);
    case REMOTE_KERNEL_PREPARE:
        HD_TRY(serve_get(m->id, KERNEL, &kernel));
        return ops->kernel_prepare(kernel, m->grid, m->block);
    case REMOTE_DOMAIN_CREATE:
        return serve_create_domain(m, out_fd);
    case REMOTE_DOMAIN_DESTROY:
        HD_TRY(serve_take(m->id, DOMAIN, &domain));
        ops->domain_destroy(domain);
        return HD_OK;
    case REMOTE_DOMAIN_RESET:
        HD_TRY(serve_get(m->id, DOMAIN, &domain));
        ops->domain_reset(domain);
        return HD_OK;
    case REMOTE_DOMAIN_CANCEL:
        HD_TRY(serve_get(m->id, DOMAIN, &domain));
        ops->domain_cancel(domain);
        return HD_OK;
    case REMOTE_DOMAIN_FLUSH:
        HD_TRY(serve_get(m->id, DOMAIN, &domain));
        ops->printf_flush(domain);
        return HD_OK;
    case REMOTE_DOMAIN_LIMIT:
        HD_TRY(serve_get(m->id, DOMAIN, &domain));
        if (m->a >= HAL_LIMIT_COUNT)
            return hd_error(HD_BAD_ARG, "there is no limit %llu", (unsigned long long)m->a);
        if (hd_fault(HD_FAULT_REMOTE_LIMITS))
            return hd_error(HD_NOT_SUPPORTED, "limits are refused (HEDDLE_FAULT)");
        return hal_limit_set(domain, (enum hal_limit)m->a, m->b);
    case REMOTE_QUEUE_CREATE:
        HD_TRY(serve_get(m->id, DOMAIN, &domain));
        HD_TRY(hal_server_create(domain, (int)(int64_t)m->a, fd, &queue));
        return serve_add(QUEUE, queue, NULL, &m->id);
    case REMOTE_QUEUE_SMS:
        return serve_limit_queue(m);
    case REMOTE_QUEUE_DESTROY:
        HD_TRY(serve_take(m->id, QUEUE, &queue));
        hal_server_destroy(queue);
        return HD_OK;
    case REMOTE_MEM_ADD:
        HD_TRY(ops->mem_import(own.device, fd, &mem));
        return serve_add(MEM, mem, NULL, &m->id);
    case REMOTE_MEM_REMOVE:
        HD_TRY(serve_take(m->id, MEM, &mem));
        ops->mem_destroy(mem);
        return HD_OK;
    case REMOTE_MEM_MAP:
        return serve_map(m);
    case REMOTE_MEM_UNMAP:
        HD_TRY(serve_get(m->id, MEM, &mem));
        HD_TRY(serve_range_reserve(m->a, m->a + m->c));
        ops->mem_unmap(mem, m->a, m->c);
        return HD_OK;
    case REMOTE_OPS:
        break;
    }
    return hd_error(HD_BAD_ARG, "request %u is unknown", m->op);
}

enum hd_status remote_serve(int socket)
{
    struct remote_message m;
    int fd, answer_fd;
    bool sent = true;

    while (sent && remote_receive(socket, &m, &fd)) {
        answer_fd = -1;
        m.status = (uint32_t)serve(&m, fd, &answer_fd);
        if (m.status)
            hd_text_fit(m.text, sizeof(m.text), hd_error_message());
        sent = remote_send(socket, &m, answer_fd);
        hal_shared_destroy(fd, NULL, 0);
        hal_shared_destroy(answer_fd, NULL, 0);
    }
    fflush(stdout);
    return HD_OK;
}
