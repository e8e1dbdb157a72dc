/*
 * Snapshots: devices and processes through NVML as `heddle smi` has them, totals from the registry,
 * kernels by asking the processes, as `heddle ps` does. See serve.h.
 *
 * A process that is stopped takes seconds to be given up, so a thread of its own asks them, and a
 * snapshot has what it found last.
 */
#include "serve/serve.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "check/check.h"
#include "common/cli.h"
#include "common/json_read.h"
#include "common/where.h"

enum {
    REPORT_B = 1 << 16,
    ASKED_MAX = 32, /* processes, at a time */
};
#define SLOW_NS  ((uint64_t)1000 * 1000 * 1000)      /* who takes longer to answer, */
#define AGAIN_NS ((uint64_t)30 * 1000 * 1000 * 1000) /* is asked again so much later */

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

struct asked {
    unsigned pid;
    unsigned gpu; /* the only one that it uses; UINT_MAX: it says itself */
    uint64_t not_before_ns;
};

/* Who asks, the question and the answer. */
static struct {
    pthread_mutex_t lock; /* all below */
    pthread_cond_t wake;
    bool is_busy, has_answered;
    unsigned nasked, nkernels;
    struct asked asked[ASKED_MAX];
    struct serve_kernel kernels[SERVE_KERNELS_MAX];
    struct asked slow[ASKED_MAX]; /* the asking thread's */
} asker = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void *sample_ask_all(void *unused);

int serve_sample_open(const struct serve_options *options)
{
    const struct where_symbol wanted[] = {{"heddle_process_report", &sampler.report}};
    int code = smi_open();

    pthread_t thread;

    if (code == SMI_OK && options->has_kernels)
        code = where_load(WHERE_CUDA, wanted, HD_COUNT_OF(wanted));
    if (code == SMI_OK && options->has_kernels &&
        pthread_create(&thread, NULL, sample_ask_all, NULL))
        return cli_error("cannot start a thread");
    return code == SMI_OK ? CLI_OK : CLI_FAILED;
}

/* ---- totals: what was counted since the last snapshot is added to the device's */

static bool sample_uuid_read(const char *text, uint8_t out_uuid[16])
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

static void sample_add(uint64_t *sum, uint64_t before, uint64_t now)
{
    *sum += now > before ? now - before : 0;
}

static void sample_slot_add(struct serve_gpu *gpu, const struct reg_file *file, uint32_t index,
                            const uint8_t uuid[16])
{
    struct slot *slot = &sampler.slots[index];
    struct reg_process p;
    uint64_t owner = atomic_load(&file->owners[index]);

    assert(index < REG_SLOTS);
    if (!reg_process_read(file, index, uuid, 0, &p))
        return;
    if (slot->owner != owner)
        *slot = (struct slot){.owner = owner};
    sample_add(&gpu->launches, slot->launches, p.launches);
    sample_add(&gpu->kernel_ns, slot->totals.kernel_ns, p.now.kernel_ns);
    sample_add(&gpu->copy_ns, slot->totals.copy_ns, p.now.copy_ns);
    sample_add(&gpu->to_device_B, slot->totals.to_device_B, p.now.to_device_B);
    sample_add(&gpu->to_host_B, slot->totals.to_host_B, p.now.to_host_B);
    slot->launches = p.launches;
    slot->totals = p.now;
}

static uint64_t sample_last_xid(const struct reg_file *file, const uint8_t uuid[16],
                                uint64_t otherwise)
{
    uint64_t last = atomic_load(&file->nevents), code, pid;
    uint8_t of[16];

    for (uint64_t number = last; number && last - number < REG_EVENTS; number--)
        if (reg_event_read(file, number, of, &code, &pid) && !memcmp(of, uuid, sizeof(of)))
            return code;
    return otherwise;
}

static void sample_totals_read(struct serve_snapshot *s)
{
    const struct reg_file *file = reg_open();
    uint8_t uuid[16];

    assert(s->smi.ngpus <= SMI_DEVICES_MAX);
    for (unsigned i = 0; i < s->smi.ngpus; i++) {
        struct serve_gpu *gpu = &sampler.gpus[i];

        if (file && sample_uuid_read(s->smi.gpus[i].uuid, uuid)) {
            for (uint32_t slot = 0; slot < REG_SLOTS; slot++)
                sample_slot_add(gpu, file, slot, uuid);
            gpu->xid = sample_last_xid(file, uuid, gpu->xid);
        }
        s->gpus[i] = *gpu;
    }
}

/* ---- kernels */

static void sample_triple_read(const struct json_value *triple, uint32_t out[3])
{
    unsigned i = 0;

    json_foreach(n, triple)
    {
        if (i < 3)
            out[i++] = (uint32_t)json_number(n, 0);
    }
}

static void sample_kernel_read(unsigned gpu, unsigned pid, const struct json_value *from,
                               struct serve_kernel *out)
{
    const char *name = check_demangle(json_text(json_get(from, "kernel"), "?"), DEMANGLE_SIMPLE);

    *out = (struct serve_kernel){.gpu = gpu, .pid = pid};
    snprintf(out->name, sizeof(out->name), "%s", name);
    sample_triple_read(json_get(from, "grid"), out->grid);
    sample_triple_read(json_get(from, "block"), out->block);
    out->running_ns = json_number(json_get(from, "running_ns"), 0);
    out->blocks = json_number(json_get(from, "blocks"), 0);
    out->begun = json_number(json_get(from, "begun"), 0);
    out->threads = json_number(json_get(from, "threads"), 0);
    out->of = json_number(json_get(from, "threads_of"), 0);
}

struct answer {
    unsigned nkernels;
    struct serve_kernel kernels[SERVE_KERNELS_MAX];
};

static void sample_report_read(const struct asked *who, const struct json_value *root,
                               struct answer *out)
{
    json_foreach(device, json_get(root, "devices"))
    {
        unsigned gpu =
            who->gpu != UINT_MAX ? who->gpu : (unsigned)json_number(json_get(device, "device"), 0);

        json_foreach(k, json_get(device, "kernels"))
        {
            if (out->nkernels < SERVE_KERNELS_MAX)
                sample_kernel_read(gpu, who->pid, k, &out->kernels[out->nkernels++]);
        }
    }
}

static void sample_process_ask(const struct asked *who, struct answer *out)
{
    static char text[REPORT_B];
    const struct json_value *root;
    struct hd_arena arena;

    assert(sampler.report);
    hd_arena_init(&arena);
    if (sampler.report((int)who->pid, text, sizeof(text)) == HD_OK &&
        json_read(&arena, text, strlen(text), &root) == HD_OK)
        sample_report_read(who, root, out);
    hd_arena_fini(&arena);
}

/* Its place among those that are left alone for a while, or one that is free. */
static struct asked *sample_slow_place(unsigned pid, uint64_t now_ns)
{
    struct asked *free_one = NULL;

    for (size_t i = 0; i < ASKED_MAX; i++) {
        struct asked *s = &asker.slow[i];

        if (s->pid == pid && s->not_before_ns > now_ns)
            return s;
        if (s->not_before_ns <= now_ns)
            free_one = s;
    }
    return free_one;
}

static void sample_ask_one(const struct asked *who, struct answer *out)
{
    uint64_t begin_ns = reg_now_ns();
    struct asked *slow = sample_slow_place(who->pid, begin_ns);

    if (slow && slow->pid == who->pid && slow->not_before_ns > begin_ns)
        return;
    sample_process_ask(who, out);
    uint64_t end_ns = reg_now_ns();
    if (slow && end_ns - begin_ns > SLOW_NS)
        *slow = (struct asked){.pid = who->pid, .not_before_ns = end_ns + AGAIN_NS};
}

/* The thread that asks, one question after the other. */
static void *sample_ask_all(void *unused)
{
    static struct answer answer;
    struct asked asked[ASKED_MAX];

    (void)unused;
    for (;;) {
        pthread_mutex_lock(&asker.lock);
        while (!asker.is_busy)
            pthread_cond_wait(&asker.wake, &asker.lock);
        unsigned n = asker.nasked;
        assert(n <= ASKED_MAX);
        memcpy(asked, asker.asked, sizeof(asked));
        pthread_mutex_unlock(&asker.lock);
        answer.nkernels = 0;
        for (unsigned i = 0; i < n; i++)
            sample_ask_one(&asked[i], &answer);
        pthread_mutex_lock(&asker.lock);
        memcpy(asker.kernels, answer.kernels, sizeof(answer.kernels));
        asker.nkernels = answer.nkernels;
        asker.has_answered = true;
        asker.is_busy = false;
        pthread_mutex_unlock(&asker.lock);
    }
    return NULL;
}

static struct asked *sample_asked_find(struct asked *asked, unsigned n, unsigned pid)
{
    for (unsigned i = 0; i < n; i++)
        if (asked[i].pid == pid)
            return &asked[i];
    return NULL;
}

/* Those that do something: the others are left alone. */
static unsigned sample_asked_list(const struct smi *smi, struct asked out[ASKED_MAX])
{
    unsigned n = 0;

    for (unsigned i = 0; i < smi->ngpus; i++)
        for (unsigned p = 0; p < smi->gpus[i].nprocesses; p++) {
            const struct smi_process *process = &smi->gpus[i].processes[p];
            struct asked *before = sample_asked_find(out, n, process->pid);

            if (before)
                before->gpu = UINT_MAX;
            else if (process->sm > 0 && n < ASKED_MAX)
                out[n++] = (struct asked){.pid = process->pid, .gpu = smi->gpus[i].index};
        }
    return n;
}

/* Asks anew, and gives what was answered before, of processes that still run. */
static void sample_kernels_read(struct serve_snapshot *s)
{
    struct asked asked[ASKED_MAX] = {0};
    unsigned n = sample_asked_list(&s->smi, asked);

    pthread_mutex_lock(&asker.lock);
    s->has_kernels = asker.has_answered;
    assert(!s->nkernels && asker.nkernels <= SERVE_KERNELS_MAX);
    for (unsigned i = 0; i < asker.nkernels; i++)
        if (sample_asked_find(asked, n, asker.kernels[i].pid))
            s->kernels[s->nkernels++] = asker.kernels[i];
    if (!asker.is_busy) {
        memcpy(asker.asked, asked, sizeof(asked));
        asker.nasked = n;
        asker.is_busy = true;
        pthread_cond_signal(&asker.wake);
    }
    pthread_mutex_unlock(&asker.lock);
}

bool serve_sample_is_asking(void)
{
    pthread_mutex_lock(&asker.lock);
    bool is = asker.is_busy;
    pthread_mutex_unlock(&asker.lock);
    return is;
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
    sample_totals_read(out);
    if (with_kernels)
        sample_kernels_read(out);
    serve_requests_read(out);
    return true;
}
