/* What compilers ask of HEDDLE_TUNING, and what the process tells for HEDDLE_TUNE. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "ir/profile.h"
#include "tune/tune.h"

static pthread_mutex_t tune_lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(tune, tune_lock);

/* A kernel's costs in this process: the kernel of the base with the same number. */
struct costs {
    bool is_known[TUNE_EVALUATORS];
    uint64_t cost[TUNE_EVALUATORS];
    struct tune_point point;
};

/* tune_lock; */
static struct {
    struct tune_base used; /* HEDDLE_TUNING */
    bool is_read;
    struct tune_base measured;
    HD_VEC(struct costs) costs;
    struct hd_map by_name; /* index + 1 in both; 0: several kernels have the name */
    pid_t process;         /* who told it; 0: nobody yet */
} tune;

/* ---- HEDDLE_TUNING */

static enum hd_status read_locked(void)
{
    const char *path = hd_env("HEDDLE_TUNING");
    enum hd_status status = tune.is_read ? HD_OK : tune_base_read(path, &tune.used);

    if (status == HD_NOT_FOUND)
        status = hd_error(HD_BAD_ARG, "HEDDLE_TUNING=%s: there is no such file", path);
    tune.is_read = status == HD_OK;
    return status;
}

enum hd_status tune_start(void)
{
    enum hd_status status;

    if (!hd_env("HEDDLE_TUNING"))
        return HD_OK;
    pthread_mutex_lock(&tune_lock);
    status = read_locked();
    pthread_mutex_unlock(&tune_lock);
    return status;
}

enum hd_status tune_find(const struct ir_func *kernel, const char *device,
                         struct tune_point *out_point)
{
    const struct tune_kernel *known = NULL;
    enum hd_status status;
    uint64_t hash;

    *out_point = (struct tune_point){0};
    if (!hd_env("HEDDLE_TUNING"))
        return HD_OK;
    if (!ir_profile_hash(kernel, &hash))
        return hd_error(HD_NO_MEMORY, "kernel %s: no memory for its tuning", kernel->name);
    pthread_mutex_lock(&tune_lock);
    status = read_locked();
    if (status == HD_OK)
        known = tune_base_find(&tune.used, device, kernel->name, hash);
    if (known && known->is_chosen)
        *out_point = known->chosen;
    pthread_mutex_unlock(&tune_lock);
    return status;
}

/* ---- HEDDLE_TUNE */

bool tune_is_recorded(void)
{
    return hd_env("HEDDLE_TUNE") != NULL;
}

static void forget_locked(void)
{
    tune_base_fini(&tune.measured);
    hd_vec_fini(&tune.costs);
    hd_map_fini(&tune.by_name);
    tune_base_init(&tune.measured);
    hd_map_init(&tune.by_name);
}

static void write_at_exit(void)
{
    const char *path = hd_env("HEDDLE_TUNE");
    bool good = true;

    pthread_mutex_lock(&tune_lock);
    if (path && tune.process == getpid()) {
        for (size_t i = 0; i < tune.costs.len; i++)
            for (unsigned e = 0; e < TUNE_EVALUATORS; e++) {
                const struct costs *costs = &tune.costs.at[i];
                struct tune_measure measure = {(enum tune_evaluator)e, costs->cost[e],
                                               costs->point};

                if (costs->is_known[e])
                    good = good && hd_vec_push(&tune.measured.kernels.at[i].measures, measure);
            }
        if (!good)
            hd_log("HEDDLE_TUNE: no memory for what was measured");
        else if (tune_base_write(&tune.measured, path) != HD_OK)
            hd_log("HEDDLE_TUNE: nothing is added: %s", hd_error_message());
        forget_locked();
    }
    pthread_mutex_unlock(&tune_lock);
}

/* A child of fork() begins with nothing. */
static void begin_locked(void)
{
    if (tune.process == getpid())
        return;
    if (!tune.process)
        (void)atexit(write_at_exit);
    forget_locked();
    tune.process = getpid();
}

static bool note_locked(const struct ir_func *kernel, const char *device, uint64_t hash,
                        const struct tune_point *point, const struct tune_set *applies)
{
    struct hd_str name = hd_str_from(kernel->name);
    size_t before = tune.measured.kernels.len, at;
    struct tune_kernel *k;
    void *other;

    if (!hd_vec_reserve(&tune.costs, before + 1))
        return false;
    k = tune_base_add(&tune.measured, hd_str_from(device), name, hash);
    if (!k)
        return false;
    at = (size_t)(k - tune.measured.kernels.at);
    for (size_t i = 0; i < HD_COUNT_OF(applies->bits); i++)
        k->applies.bits[i] |= applies->bits[i];
    if (at < before)
        return true;
    assert(tune.costs.len == before);
    tune.costs.at[tune.costs.len++] = (struct costs){.point = *point};
    if (hd_map_find(&tune.by_name, name, &other)) {
        hd_log("kernel %s: several kernels have this name: what they take is not told apart",
               kernel->name);
        return hd_map_put(&tune.by_name, hd_str_from(k->name), NULL);
    }
    return hd_map_put(&tune.by_name, hd_str_from(k->name), (void *)(uintptr_t)(at + 1));
}

void tune_compiled(const struct ir_func *kernel, const char *device, const struct tune_point *point,
                   const struct tune_set *applies)
{
    uint64_t hash;
    bool ok;

    if (!tune_is_recorded())
        return;
    pthread_mutex_lock(&tune_lock);
    begin_locked();
    ok = ir_profile_hash(kernel, &hash) && note_locked(kernel, device, hash, point, applies);
    pthread_mutex_unlock(&tune_lock);
    if (!ok)
        hd_log("HEDDLE_TUNE: kernel %s: no memory to measure it", kernel->name);
}

void tune_cost(const char *kernel, enum tune_evaluator evaluator, uint64_t cost)
{
    const struct tune_evaluator_info *info = tune_evaluator(evaluator);
    enum tune_target target;
    struct costs *costs;
    uintptr_t at;

    pthread_mutex_lock(&tune_lock);
    begin_locked();
    at = (uintptr_t)hd_map_get(&tune.by_name, hd_str_from(kernel));
    /* Launches take time on every device; it is a cost where code is host code. */
    if (at && tune_device_target(hd_str_from(tune.measured.kernels.at[at - 1].device), &target) &&
        target == info->target) {
        costs = &tune.costs.at[at - 1];
        costs->is_known[evaluator] = true;
        costs->cost[evaluator] = cost + (info->kind != TUNE_STATIC ? costs->cost[evaluator] : 0);
    }
    pthread_mutex_unlock(&tune_lock);
}
