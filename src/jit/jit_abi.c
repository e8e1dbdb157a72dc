/*
 * Generated code and dev/cpu meet in these structs (jit.h), and fake kernels of tests are written
 * against them: a change of layout is a change of interface and shows here.
 */
#include <stddef.h>

#include "jit/jit.h"

#define AT(type, member, offset)                                                                   \
    _Static_assert(offsetof(struct type, member) == (offset), #type "." #member " moved")
#define SIZE(type, size_B) _Static_assert(sizeof(struct type) == (size_B), #type " has a new size")

AT(jit_barrier, arrived, 0);
AT(jit_barrier, votes, 4);
AT(jit_barrier, generation, 8);
AT(jit_barrier, result_votes, 12);
AT(jit_barrier, result_arrived, 16);
SIZE(jit_barrier, 20);

AT(jit_services, bar_arrive, 0);
AT(jit_services, vprintf_, 8);
AT(jit_services, assertfail, 16);
AT(jit_services, malloc_, 24);
AT(jit_services, free_, 32);
AT(jit_services, fault, 40);
AT(jit_services, clock, 48);
AT(jit_services, globaltimer, 56);
AT(jit_services, nanosleep, 64);
AT(jit_services, yield, 72);
AT(jit_services, check, 80);
AT(jit_services, refuse, 88);
AT(jit_services, texture, 96);
AT(jit_services, runtime, 104);
AT(jit_services, cluster_arrive, 112);
AT(jit_services, cluster_wait, 120);
AT(jit_services, replicas, 128);
AT(jit_services, cluster_cta, 136);
AT(jit_services, probe, 144);
SIZE(jit_services, 152);

AT(jit_launch, grid, 0);
AT(jit_launch, block, 12);
AT(jit_launch, nwarps, 24);
AT(jit_launch, dynamic_smem_B, 28);
AT(jit_launch, total_smem_B, 32);
AT(jit_launch, nsms, 36);
AT(jit_launch, envreg, 40);
AT(jit_launch, grid_id, 48);
AT(jit_launch, params, 56);
AT(jit_launch, vars, 64);
AT(jit_launch, shared_B, 72);
AT(jit_launch, local_B, 80);
AT(jit_launch, services, 88);
AT(jit_launch, device, 96);
AT(jit_launch, space_va, 104);
AT(jit_launch, space_B, 112);
AT(jit_launch, cluster, 120);
AT(jit_launch, cluster_ctas, 132);
AT(jit_launch, explicit_cluster, 136);
AT(jit_launch, ranges, 144);
AT(jit_launch, caches_B, 152);
SIZE(jit_launch, 160);

AT(jit_warp, index, 0);
AT(jit_warp, alive, 4);
AT(jit_warp, state, 8);
AT(jit_warp, frame, 16);
SIZE(jit_warp, 24);

AT(jit_cta, launch, 0);
AT(jit_cta, ctaid, 8);
AT(jit_cta, smid, 20);
AT(jit_cta, shared, 24);
AT(jit_cta, local, 32);
AT(jit_cta, frames, 40);
AT(jit_cta, warps, 48);
AT(jit_cta, live_threads, 56);
AT(jit_cta, opened, 60);
AT(jit_cta, cluster, 64);
AT(jit_cta, cluster_rank, 72);
AT(jit_cta, bars, 80);
AT(jit_cta, tensor, 80 + (JIT_NBARRIERS + 1) * 20 + 4);
AT(jit_cta, counts, 88 + (JIT_NBARRIERS + 1) * 20 + 4);
SIZE(jit_cta, 96 + (JIT_NBARRIERS + 1) * 20 + 4);
