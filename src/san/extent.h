/*
 * What findings of one cause lie between: the bounding box of their threads and blocks, and the
 * least and greatest launch and address. A process keeps one for what it counts without sending it
 * (record.c), `heddle check` one for what it shows as one.
 */
#ifndef HD_SAN_EXTENT_H
#define HD_SAN_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

/* [0] the least, [1] the greatest; meant only where the flag is set. */
struct san_extent {
    bool has_threads, has_launches, has_addresses;
    uint32_t thread[2][3], block[2][3]; /* by dimension */
    uint64_t launch[2], address[2];
    uint64_t size_B; /* the sum: of what leaked */
};

void san_extent_add_thread(struct san_extent *to, const uint32_t thread[3],
                           const uint32_t block[3]);
void san_extent_add_launch(struct san_extent *to, uint64_t launch);
void san_extent_add_address(struct san_extent *to, uint64_t address);
void san_extent_join(struct san_extent *to, const struct san_extent *from);
/* How many threads the box has; UINT64_MAX when that is too small a number for it. */
uint64_t san_extent_threads(const struct san_extent *extent);

#endif
