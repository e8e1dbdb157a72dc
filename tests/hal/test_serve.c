/*
 * A device in another process: the submitting side is this program once more, executed anew, so
 * that no pointer of one process means anything in the other. It has the ring, the memory, the
 * domain and the semaphores as descriptors, and nothing else but numbers: the device address of the
 * memory and the kernel's id. Every device must pass.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hal/serve.h"
#include "tap.h"
#include "bump_kernel.h"

#define MEMORY_B (4u << 20)

/* ---- the submitter's process: prints TAP lines that the parent counts by its exit status */

struct far_side {
    struct hal_client client;
    const struct hal_fault *fault;
    _Atomic uint64_t *semaphores;
    uint32_t *memory; /* the same pages as the device's, at another address */
    uint64_t va;      /* of them on the device */
    uint64_t kernel;
};

static unsigned bad;

static void expect(bool fine, const char *what)
{
    if (!fine)
        printf("# submitter: %s\n", what);
    bad += !fine;
}

static void send(struct far_side *f, union hal_packet p)
{
    while (hal_client_submit(&f->client, &p, 1) == HD_BUSY)
        expect(hal_client_wait(&f->client, hal_ring_retired(f->client.ring) + 1, TIMEOUT_NS) ==
                   HD_OK,
               "room in the ring");
}

static void finish(struct far_side *f, const char *what)
{
    expect(hal_client_wait(&f->client, hal_ring_submitted(f->client.ring), TIMEOUT_NS) == HD_OK,
           what);
}

static union hal_packet sem(enum hal_op op, unsigned index, uint64_t value)
{
    return (union hal_packet){
        .sem = {.head.op = (uint8_t)op, .region = 1, .address = index * 8, .value = value}};
}

static void send_bump(struct far_side *f, uint32_t n, uint32_t grid, uint16_t flags)
{
    struct hal_extension extension = {.size_B = sizeof(extension)};
    union hal_packet d = {.dispatch = {.head.op = HAL_OP_DISPATCH,
                                       .head.flags = flags,
                                       .kernel = f->kernel,
                                       .grid = {grid, 1, 1},
                                       .block = {32, 1, 1},
                                       .params_B = BIG_B}};
    char *params;

    while (!(params = hal_client_params(&f->client, &d.dispatch, n & 1 ? &extension : NULL, BIG_B)))
        finish(f, "room for parameters");
    memcpy(params, &f->va, sizeof(f->va));
    memcpy(params + 392, &n, sizeof(n));
    send(f, d);
}

static void far_work(struct far_side *f)
{
    union hal_packet fill = {
        .fill = {.head.op = HAL_OP_FILL, .dst = f->va, .width = 4096, .height = 1, .elem_B = 4}};
    union hal_packet copy = {.copy = {.head.op = HAL_OP_COPY,
                                      .dst = f->va + (1u << 20),
                                      .src = f->va,
                                      .width_B = 4096 * 4,
                                      .height = 1,
                                      .depth = 1}};
    const struct hal_stamp *stamp;
    unsigned wrong = 0;

    fill.fill.value = 100;
    send(f, fill);
    for (uint32_t n = 1; n <= 4; n++)
        send_bump(f, n, 128, n == 4 ? HAL_FLAG_STAMP : 0);
    finish(f, "grids end");
    stamp = hal_ring_stamp(f->client.ring, hal_ring_submitted(f->client.ring));
    expect(stamp->start_ticks && stamp->end_ticks >= stamp->start_ticks, "a stamp comes back");
    send(f, copy);
    finish(f, "copy ends");
    for (unsigned i = 0; i < 4096; i++)
        wrong += f->memory[i] != 110 || f->memory[(1u << 18) + i] != 110;
    expect(!wrong, "fill, four grids, copy: seen in shared memory");
}

static void far_order(struct far_side *f)
{
    uint64_t before;

    send(f, sem(HAL_OP_WAIT, 0, 5));
    send(f, sem(HAL_OP_SIGNAL, 1, 9));
    before = hal_ring_submitted(f->client.ring);
    expect(hal_client_wait(&f->client, before, 3000000) == HD_TIMEOUT, "a WAIT holds the queue");
    atomic_store(&f->semaphores[0], 5);
    finish(f, "a store of the submitter releases it");
    expect(atomic_load(&f->semaphores[1]) == 9, "SIGNAL");
    for (unsigned i = 0; i < 3 * HAL_RING_SLOTS; i++)
        send_bump(f, 2, 1, 0);
    finish(f, "three rings full");
    expect(f->memory[31] == 110 + 6 * HAL_RING_SLOTS, "each ran once");
}

/* What a submitter may not do becomes the domain's fault, which it can read. */
static void far_fault(struct far_side *f, union hal_packet p, const char *word)
{
    send(f, p);
    finish(f, "a bad packet retires");
    expect(atomic_load(&f->fault->status) == HD_BAD_ARG, "a bad packet is a fault");
    expect(strstr(f->fault->message, word) != NULL, f->fault->message);
}

static void *map(int fd, size_t size_B)
{
    void *at = mmap(NULL, size_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (at == MAP_FAILED)
        exit(100);
    return at;
}

/* far ring-fd memory-fd domain-fd semaphores-fd va kernel part */
static int far_main(char **args)
{
    struct far_side f = {.va = strtoull(args[4], NULL, 16), .kernel = strtoull(args[5], NULL, 16)};
    unsigned part = (unsigned)strtoul(args[6], NULL, 10);
    union hal_packet call = {.host_call = {.head.op = HAL_OP_HOST_CALL, .func = 64}};
    union hal_packet indirect = {.dispatch = {.head.op = HAL_OP_DISPATCH,
                                              .head.flags = HAL_FLAG_INDIRECT,
                                              .kernel = f.kernel,
                                              .grid = {1, 1, 1},
                                              .block = {1, 1, 1}}};
    union hal_packet own = indirect;
    union hal_packet outside = sem(HAL_OP_SIGNAL, 1u << 20, 1), odd = sem(HAL_OP_SIGNAL, 0, 1);
    union hal_packet local = sem(HAL_OP_SIGNAL, 8, 1), nop = {.head = {.reserved = 1}};

    if (hal_client_open(&f.client, (int)strtol(args[0], NULL, 10)) != HD_OK)
        return 100;
    f.memory = map((int)strtol(args[1], NULL, 10), MEMORY_B);
    f.fault = map((int)strtol(args[2], NULL, 10), sizeof(*f.fault));
    f.semaphores = map((int)strtol(args[3], NULL, 10), 4096);
    own.head.flags = HAL_FLAG_CALLER;
    odd.sem.region = 3;
    local.sem.region = 0;
    if (part == 0) {
        far_work(&f);
        far_order(&f);
    } else {
        const union hal_packet packets[] = {call, outside, odd, local, nop, indirect, own};
        const char *const words[] = {"host_call", "region 1", "region 3",  "region 0",
                                     "reserved",  "indirect", "its caller"};

        far_fault(&f, packets[part - 1], words[part - 1]);
    }
    hal_client_fini(&f.client);
    return bad > 99 ? 99 : (int)bad;
}

/* ---- the device's process */

static const char *program;

/* Runs the far side as a process of its own; its exit status. */
static int run_far(const int fds[4], uint64_t va, uint64_t kernel, unsigned part)
{
    char texts[7][32];
    char *args[] = {(char *)program, (char *)"far", texts[0], texts[1], texts[2],
                    texts[3],        texts[4],      texts[5], texts[6], NULL};
    int status = 0;
    pid_t child;

    for (unsigned i = 0; i < 4; i++)
        snprintf(texts[i], sizeof(texts[i]), "%d", fds[i]);
    snprintf(texts[4], sizeof(texts[4]), "%llx", (unsigned long long)va);
    snprintf(texts[5], sizeof(texts[5]), "%llx", (unsigned long long)kernel);
    snprintf(texts[6], sizeof(texts[6]), "%u", part);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        for (unsigned i = 0; i < 4; i++)
            fcntl(fds[i], F_SETFD, 0);
        execv(program, args);
        _exit(101);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

struct near_side {
    const char *name;
    struct hal_device *device;
    struct hal_module *module;
    struct hal_kernel *kernel;
    struct hal_mem *memory;
    int memory_fd;
    uint64_t va;
};

static void serve(struct near_side *n, unsigned part)
{
    const struct hal_device_ops *ops = n->device->ops;
    struct hal_domain *domain = NULL;
    struct hal_server *server = NULL;
    struct hal_client ring;
    void *semaphores;
    int fd, domain_fd = -1, late_fd = -1;

    if (!ok(!ops->domain_create(n->device, &domain) && !hal_domain_share(domain, &domain_fd) &&
                !hal_client_init(&ring) &&
                !hal_shared_create("semaphores", 4096, &fd, &semaphores) &&
                !hal_server_create(domain, 0, ring.memfd, &server) &&
                !hal_server_region(server, 1, fd),
            "%s: server", n->name))
        return;
    int fds[4] = {ring.memfd, n->memory_fd, domain_fd, fd};
    ok(!hal_domain_share(domain, &late_fd) && late_fd == domain_fd, "%s: shared once", n->name);
    eq_u64((unsigned)run_far(fds, n->va, n->kernel->id, part), 0, "%s: part %u", n->name, part);
    eq_u64(hal_domain_status(domain), part ? HD_BAD_ARG : HD_OK, "%s: status: %s", n->name,
           domain->fault->message);
    hal_server_destroy(server);
    hal_shared_destroy(fd, semaphores, 4096);
    hal_client_fini(&ring);
    ops->domain_destroy(domain);
}

static void test_device(const struct hal_backend *backend, struct ir_module *ir)
{
    struct near_side n = {.name = backend->name};
    struct hal_program description = {.name = "test", .nfuncs = ir->nfuncs};
    uint32_t bump = ir_module_find_func(ir, "bump")->index, grid[3] = {128, 1, 1},
             block[3] = {32, 1, 1};
    void *at = mmap(NULL, MEMORY_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const struct hal_device_ops *ops;

    n.va = (uintptr_t)at;
    if (!ok(!backend->create(NULL, &n.device), "%s: create", n.name))
        return;
    ops = n.device->ops;
    if (ok(!ops->module_load(n.device, &description, &n.module) &&
               !ops->kernel_get(n.module, bump, ir, &n.kernel) &&
               !ops->kernel_prepare(n.kernel, grid, block) &&
               !ops->mem_create(n.device, MEMORY_B, true, &n.memory) &&
               !ops->mem_map(n.memory, n.va, 0, MEMORY_B, HAL_PROT_READ_WRITE) &&
               !ops->mem_export(n.memory, &n.memory_fd),
           "%s: kernel and memory", n.name))
        for (unsigned part = 0; part <= 7; part++)
            serve(&n, part);
    close(n.memory_fd);
    ops->mem_unmap(n.memory, n.va, MEMORY_B);
    ops->mem_destroy(n.memory);
    ops->module_unload(n.module);
    ops->destroy(n.device);
    munmap(at, MEMORY_B);
}

/* Descriptors that are no ring, and a ring that can shrink under the server. */
static void test_bad_rings(void)
{
    int loose = memfd_create("loose", MFD_CLOEXEC), fd = -1;
    struct hal_client client;
    void *at = NULL;

    if (ftruncate(loose, (off_t)HAL_RING_B))
        abort();
    eq_u64(hal_client_open(&client, loose), HD_BAD_ARG, "a file that can shrink is no ring");
    eq_u64(hal_client_open(&client, 0), HD_BAD_ARG, "nor is standard input");
    ok(!hal_shared_create("zero", HAL_RING_B, &fd, &at), "zeroed memory");
    eq_u64(hal_client_open(&client, fd), HD_BAD_ARG, "nor is what has no header");
    hal_shared_destroy(fd, at, HAL_RING_B);
    close(loose);
}

int main(int argc, char **argv)
{
    struct ir_module *ir = NULL;

    if (argc == 9 && !strcmp(argv[1], "far"))
        return far_main(argv + 2);
    program = argv[0];
    test_bad_rings();
    for (const struct hal_backend *b = hal_backends; b->name; b++) {
        if (ir_read_module(kernel_text, strlen(kernel_text), "t", &ir) != HD_OK ||
            ir_layout_windows(ir) != HD_OK)
            abort();
        test_device(b, ir);
        ir_module_destroy(ir);
    }
    return done();
}
