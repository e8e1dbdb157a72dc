/* Accessible addresses of this process. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "dev/interp/private.h"

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
    maps_reload(maps);
    return maps_find(maps, address, size_B, write);
}
