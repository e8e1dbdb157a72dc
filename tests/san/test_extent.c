/* What findings lie between. */
#include "san/extent.h"

#include "tap.h"

static struct san_extent of(uint32_t thread, uint32_t block, uint64_t launch, uint64_t address)
{
    struct san_extent e = {.size_B = 4};

    san_extent_add_thread(&e, (uint32_t[]){thread, 0, 7}, (uint32_t[]){block, 1, 0});
    san_extent_add_launch(&e, launch);
    san_extent_add_address(&e, address);
    return e;
}

int main(void)
{
    struct san_extent all = {0}, none = {0}, one = of(5, 2, 9, 0x100), two = of(3, 4, 3, 0x40);

    eq_u64(san_extent_threads(&all), 0, "nothing has no threads");
    san_extent_join(&all, &none);
    ok(!all.has_threads && !all.has_launches && !all.has_addresses, "nothing adds nothing");
    san_extent_join(&all, &one);
    ok(all.thread[0][0] == 5 && all.thread[1][0] == 5 && all.block[0][0] == 2 &&
           all.launch[0] == 9 && all.launch[1] == 9 && all.address[0] == 0x100,
       "the first is taken as it is");
    eq_u64(san_extent_threads(&all), 1, "one thread");
    san_extent_join(&all, &two);
    san_extent_join(&all, &none);
    ok(all.thread[0][0] == 3 && all.thread[1][0] == 5 && all.thread[0][2] == 7 &&
           all.block[0][0] == 2 && all.block[1][0] == 4 && all.block[1][1] == 1,
       "the box of both");
    ok(all.launch[0] == 3 && all.launch[1] == 9 && all.address[0] == 0x40 &&
           all.address[1] == 0x100 && all.size_B == 8,
       "launches, addresses and sizes");
    eq_u64(san_extent_threads(&all), 9, "three threads in three blocks");
    san_extent_add_thread(&all, (uint32_t[]){UINT32_MAX, UINT32_MAX, 0},
                          (uint32_t[]){UINT32_MAX, 0, 0});
    eq_u64(san_extent_threads(&all), UINT64_MAX, "more than can be counted");
    return done();
}
