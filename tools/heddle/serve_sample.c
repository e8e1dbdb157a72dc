/*
 * Snapshots: devices and processes through NVML as `heddle smi` has them, totals from the registry,
 * kernels by asking the processes, as `heddle ps` does. See serve.h. Single-threaded.
 */
#include "serve.h"

#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "check.h"
#include "cli.h"
#include "json_read.h"
#include "where.h"

enum {
    REPORT_B = 1 << 16,
    ASKED_MAX = 32, /* processes, for each snapshot: one that is stuck takes 0.3 s to answer */
};

/* What a slot of the registry said last. */
struct slot {
    uint64_t owner;
    uint64_t launches;
    struct reg_totals totals;
};

static struct {
    int (*report)(int pid, char *text, size_t text_B);
    uint64_t number;
    struct slot slots[REG_SLOTS];
    struct serve_gpu gpus[SMI_DEVICES_MAX];
} sampler;

int serve_sample_open(const struct serve_options *options)
{
    const struct where_symbol wanted[] = {{"heddle_process_report", &sampler.report}};
    int code = smi_open();

    if (code == SMI_OK && options->has_kernels)
        code = where_load(WHERE_CUDA, wanted, HD_COUNT_OF(wanted));
    return code == SMI_OK ? CLI_OK : CLI_FAILED;
}

/* ---- totals: what was counted since the last snapshot is added to the device's */

static bool uuid_read(const char *text, uint8_t out_uuid[16])
{
    unsigned digits = 0;

    if (strncmp(text, "GPU-", 4) != 0)
        return false;
    memset(out_uuid, 0, 16);
    for (text += 4; *text; text++) {
        const char *found = strchr("0123456789abcdef", *text);

        if (*text == '-')
            continue;
        if (!found || digits == 32)
            return false;
        out_uuid[digits / 2] = (uint8_t)(out_uuid[digits / 2] << 4 | (found - "0123456789abcdef"));
        digits++;
    }
    return digits == 32;
}

static void add(uint64_t *sum, uint64_t before, uint64_t now)
{
    *sum += now > before ? now - before : 0;
}

static void slot_add(struct serve_gpu *gpu, const struct reg_file *file, uint32_t index,
                     const uint8_t uuid[16])
{
    struct slot *slot = &sampler.slots[index];
    struct reg_process p;
    uint64_t owner = atomic_load(&file->owners[index]);

    if (!reg_process_read(file, index, uuid, 0, &p))
        return;
    if (slot->owner != owner)
        *slot = (struct slot){.owner = owner};
    add(&gpu->launches, slot->launches, p.launches);
    add(&gpu->kernel_ns, slot->totals.kernel_ns, p.now.kernel_ns);
    add(&gpu->copy_ns, slot->totals.copy_ns, p.now.copy_ns);
    add(&gpu->to_device_B, slot->totals.to_device_B, p.now.to_device_B);
    add(&gpu->to_host_B, slot->totals.to_host_B, p.now.to_host_B);
    slot->launches = p.launches;
    slot->totals = p.now;
}

static uint64_t last_xid(const struct reg_file *file, const uint8_t uuid[16], uint64_t otherwise)
{
    uint64_t last = atomic_load(&file->nevents), code, pid;
    uint8_t of[16];

    for (uint64_t number = last; number && last - number < REG_EVENTS; number--)
        if (reg_event_read(file, number, of, &code, &pid) && !memcmp(of, uuid, sizeof(of)))
            return code;
    return otherwise;
}

static void totals_read(struct serve_snapshot *s)
{
    const struct reg_file *file = reg_open();
    uint8_t uuid[16];

    for (unsigned i = 0; i < s->smi.ngpus; i++) {
        struct serve_gpu *gpu = &sampler.gpus[i];

        if (file && uuid_read(s->smi.gpus[i].uuid, uuid)) {
            for (uint32_t slot = 0; slot < REG_SLOTS; slot++)
                slot_add(gpu, file, slot, uuid);
            gpu->xid = last_xid(file, uuid, gpu->xid);
        }
        s->gpus[i] = *gpu;
    }
}

/* ---- kernels */

static void triple_read(const struct json_value *triple, uint32_t out[3])
{
    unsigned i = 0;

    json_foreach(n, triple)
    {
        if (i < 3)
            out[i++] = (uint32_t)json_number(n, 0);
    }
}

static void kernel_read(unsigned gpu, unsigned pid, const struct json_value *from,
                        struct serve_kernel *out)
{
    const char *name = check_demangle(json_text(json_get(from, "kernel"), "?"), DEMANGLE_SIMPLE);

    *out = (struct serve_kernel){.gpu = gpu, .pid = pid};
    snprintf(out->name, sizeof(out->name), "%s", name);
    triple_read(json_get(from, "grid"), out->grid);
    triple_read(json_get(from, "block"), out->block);
    out->running_ns = json_number(json_get(from, "running_ns"), 0);
    out->blocks = json_number(json_get(from, "blocks"), 0);
    out->begun = json_number(json_get(from, "begun"), 0);
    out->threads = json_number(json_get(from, "threads"), 0);
    out->of = json_number(json_get(from, "threads_of"), 0);
}

/* Which of ours has the process's memory: it may see fewer devices, in another order. */
static unsigned gpu_of(const struct smi *smi, unsigned pid, unsigned otherwise)
{
    unsigned found = otherwise, n = 0;

    for (unsigned i = 0; i < smi->ngpus; i++)
        for (unsigned p = 0; p < smi->gpus[i].nprocesses; p++)
            if (smi->gpus[i].processes[p].pid == pid) {
                found = smi->gpus[i].index;
                n++;
            }
    return n == 1 ? found : otherwise;
}

static void report_read(struct serve_snapshot *s, unsigned pid, const struct json_value *root)
{
    json_foreach(device, json_get(root, "devices"))
    {
        unsigned gpu = gpu_of(&s->smi, pid, (unsigned)json_number(json_get(device, "device"), 0));

        json_foreach(k, json_get(device, "kernels"))
        {
            if (s->nkernels < SERVE_KERNELS_MAX)
                kernel_read(gpu, pid, k, &s->kernels[s->nkernels++]);
        }
    }
}

static void process_ask(struct serve_snapshot *s, unsigned pid)
{
    static char text[REPORT_B];
    const struct json_value *root;
    struct hd_arena arena;

    hd_arena_init(&arena);
    if (sampler.report((int)pid, text, sizeof(text)) == HD_OK &&
        json_read(&arena, text, strlen(text), &root) == HD_OK)
        report_read(s, pid, root);
    hd_arena_fini(&arena);
}

/* Those that do something: the others are left alone. */
static void kernels_read(struct serve_snapshot *s)
{
    unsigned asked[ASKED_MAX], n = 0;

    for (unsigned i = 0; i < s->smi.ngpus; i++)
        for (unsigned p = 0; p < s->smi.gpus[i].nprocesses && n < ASKED_MAX; p++) {
            unsigned pid = s->smi.gpus[i].processes[p].pid, at = 0;

            while (at < n && asked[at] != pid)
                at++;
            if (at == n && s->smi.gpus[i].processes[p].sm > 0)
                asked[n++] = pid;
        }
    for (unsigned i = 0; i < n; i++)
        process_ask(s, asked[i]);
}

bool serve_sample(bool with_kernels, struct serve_snapshot *out)
{
    memset(out, 0, sizeof(*out));
    if (smi_read(&out->smi) != SMI_OK)
        return false;
    out->number = ++sampler.number;
    out->time_ms = hd_clock_ns(CLOCK_REALTIME) / 1000000u;
    if (gethostname(out->host, sizeof(out->host) - 1))
        snprintf(out->host, sizeof(out->host), "localhost");
    totals_read(out);
    out->has_kernels = with_kernels;
    if (with_kernels)
        kernels_read(out);
    serve_requests_read(out);
    return true;
}
