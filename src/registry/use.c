/* Points: what the totals were at some times. See use.h. */
#include "registry/registry.h"

#include <sys/stat.h>

static uint64_t get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void put(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

uint64_t reg_namespace_inode(void)
{
    struct stat info;

    return stat("/proc/self/ns/pid", &info) ? 0 : (uint64_t)info.st_ino;
}

/* Who moves the time of the last point on writes the next. */
void reg_point_add(struct reg_use *use, uint64_t now_ns)
{
    uint64_t last_ns = get(&use->point_ns);

    if (now_ns <= last_ns || now_ns - last_ns < REG_POINT_NS ||
        !atomic_compare_exchange_strong_explicit(&use->point_ns, &last_ns, now_ns,
                                                 memory_order_relaxed, memory_order_relaxed))
        return;
    if (!get(&use->namespace_inode))
        put(&use->namespace_inode, reg_namespace_inode());
    struct reg_point *point = &use->points[get(&use->npoints) % REG_POINTS];
    put(&point->time_ns, 0);
    atomic_thread_fence(memory_order_release);
    put(&point->kernel_ns, reg_busy_ns(get(&use->kernel_busy), now_ns));
    put(&point->copy_ns, reg_busy_ns(get(&use->copy_busy), now_ns));
    put(&point->to_device_B, get(&use->to_device_B));
    put(&point->to_host_B, get(&use->to_host_B));
    atomic_store_explicit(&point->time_ns, now_ns, memory_order_release);
    reg_count(&use->npoints, 1);
}

static bool point_read(const struct reg_point *point, struct reg_totals *out)
{
    out->time_ns = atomic_load_explicit(&point->time_ns, memory_order_acquire);
    out->kernel_ns = get(&point->kernel_ns);
    out->copy_ns = get(&point->copy_ns);
    out->to_device_B = get(&point->to_device_B);
    out->to_host_B = get(&point->to_host_B);
    atomic_thread_fence(memory_order_acquire);
    return out->time_ns && out->time_ns == get(&point->time_ns);
}

unsigned reg_points_read(const struct reg_use *use, struct reg_totals out_points[REG_POINTS])
{
    uint64_t npoints = get(&use->npoints), first = npoints > REG_POINTS ? npoints - REG_POINTS : 0;
    unsigned n = 0;

    for (uint64_t i = first; i - first < REG_POINTS && i < npoints; i++) {
        n += point_read(&use->points[i % REG_POINTS], &out_points[n]);
        if (n > 1 && out_points[n - 1].time_ns <= out_points[n - 2].time_ns)
            n--; /* overwritten meanwhile */
    }
    return n;
}

/* The totals did not change since it became idle. */
static bool idle_point(const struct reg_use *use, const struct reg_totals *now,
                       struct reg_totals *out)
{
    *out = *now;
    out->time_ns = get(&use->idle_ns);
    return !(get(&use->kernel_busy) >> REG_BUSY_BITS) && !(get(&use->copy_busy) >> REG_BUSY_BITS) &&
           out->time_ns && out->time_ns < now->time_ns;
}

/* The part num/den of the way from a to b; nothing when it goes back. */
static uint64_t between(uint64_t a, uint64_t b, uint64_t num, uint64_t den)
{
    return b <= a ? a : a + (uint64_t)((double)(b - a) * (double)num / (double)den);
}

static void interpolate(const struct reg_totals *a, const struct reg_totals *b, uint64_t time_ns,
                        struct reg_totals *out)
{
    uint64_t num = time_ns - a->time_ns, den = b->time_ns - a->time_ns;

    *out = (struct reg_totals){time_ns, between(a->kernel_ns, b->kernel_ns, num, den),
                               between(a->copy_ns, b->copy_ns, num, den),
                               between(a->to_device_B, b->to_device_B, num, den),
                               between(a->to_host_B, b->to_host_B, num, den)};
}

void reg_totals_at(const struct reg_use *use, uint64_t time_ns, const struct reg_totals *now,
                   struct reg_totals *out_totals)
{
    struct reg_totals points[REG_POINTS + 2];
    unsigned n = reg_points_read(use, points);

    if (idle_point(use, now, &points[n]) && (!n || points[n].time_ns > points[n - 1].time_ns))
        n++;
    points[n++] = *now;
    if (time_ns <= points[0].time_ns) {
        /* A point that is to come is none of ours. */
        *out_totals = points[0].time_ns <= now->time_ns ? points[0] : *now;
        return;
    }
    for (unsigned i = 1; i < n; i++) {
        if (time_ns <= points[i].time_ns && points[i - 1].time_ns < points[i].time_ns) {
            interpolate(&points[i - 1], &points[i], time_ns, out_totals);
            return;
        }
    }
    *out_totals = *now;
}
