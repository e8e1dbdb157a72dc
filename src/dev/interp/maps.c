/* Accessible addresses of this process. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dev/interp/private.h"

enum { READINGS = 4 };

void refdev_maps_fini(struct refdev_maps *maps)
{
    hd_vec_fini(&maps->ranges);
}

/*
 * Neighbours with equal rights become one range, so an access may cross them. The file is read page
 * by page: what another thread maps or unmaps meanwhile may come twice.
 */
static bool maps_add(struct refdev_maps *maps, struct refdev_range range)
{
    struct refdev_range *last = maps->ranges.len ? &hd_vec_last(&maps->ranges) : NULL;
    if (last)
        range.start = HD_MAX(range.start, last->end);
    if (range.start >= range.end)
        return true;
    if (last && last->end == range.start && last->read == range.read &&
        last->write == range.write) {
        last->end = range.end;
        return true;
    }
    return hd_vec_push(&maps->ranges, range);
}

static void maps_reload(struct refdev_maps *maps)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[512];
    maps->ranges.len = 0;
    while (file && fgets(line, sizeof line, file)) {
        struct refdev_range range;
        char rights[8];
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &range.start, &range.end, rights) != 3)
            continue;
        range.read = rights[0] == 'r';
        range.write = rights[1] == 'w';
        if (!maps_add(maps, range))
            break;
    }
    if (file)
        fclose(file);
}

static bool range_allows(const struct refdev_range *r, uint64_t address, uint64_t size_B,
                         bool write)
{
    bool inside = address >= r->start && address < r->end && size_B <= r->end - address;
    return inside && (write ? r->write : r->read);
}

static bool maps_find(struct refdev_maps *maps, uint64_t address, uint64_t size_B, bool write)
{
    size_t low = 0, high = maps->ranges.len;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (maps->ranges.at[mid].end <= address)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == maps->ranges.len || !range_allows(&maps->ranges.at[low], address, size_B, write))
        return false;
    maps->last = low;
    return true;
}

bool refdev_maps_check(struct refdev_maps *maps, uint64_t address, uint64_t size_B, bool write)
{
    if (maps->last < maps->ranges.len &&
        range_allows(&maps->ranges.at[maps->last], address, size_B, write))
        return true;
    if (maps_find(maps, address, size_B, write))
        return true;
    /* What another thread maps or unmaps next to it meanwhile may hide it from one reading. */
    for (unsigned i = 0; i < READINGS; i++) {
        maps_reload(maps);
        if (maps_find(maps, address, size_B, write))
            return true;
    }
    return false;
}

struct refdev_range refdev_maps_range(const struct refdev_maps *maps)
{
    assert(maps->last < maps->ranges.len);
    return maps->ranges.at[maps->last];
}

/* To or from our own memory at `address`; false: it is not there. Sandboxes may forbid it. */
static bool transfer(bool write, char *buffer, uint64_t address, size_t size_B)
{
    struct iovec mine = {buffer, size_B}, other = {(void *)(uintptr_t)address, size_B};
    ssize_t done_B = write ? process_vm_writev(getpid(), &mine, 1, &other, 1, 0)
                           : process_vm_readv(getpid(), &mine, 1, &other, 1, 0);

    if (done_B < 0 && (errno == ENOSYS || errno == EPERM)) {
        memcpy(write ? other.iov_base : buffer, write ? buffer : other.iov_base, size_B);
        return true;
    }
    return done_B == (ssize_t)size_B;
}

bool refdev_move(uint64_t dst, uint64_t src, uint64_t size_B)
{
    char buffer[16384];
    uint64_t step_B;

    for (uint64_t done_B = 0; done_B < size_B; done_B += step_B) {
        step_B = HD_MIN(size_B - done_B, sizeof(buffer));
        uint64_t at = dst > src ? size_B - done_B - step_B : done_B; /* they may overlap */
        if (!transfer(false, buffer, src + at, step_B) || !transfer(true, buffer, dst + at, step_B))
            return false;
    }
    return true;
}
