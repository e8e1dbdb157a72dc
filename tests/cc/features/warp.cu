/* Warp operations, barriers, timers, integer built-ins.
 * expect: shfl\.sync\.idx
 * expect: shfl\.sync\.bfly
 * expect: vote\.sync\.ballot|vote\.ballot
 * expect: match\.any\.sync\.b64
 * expect: redux\.sync
 * expect: activemask
 * expect: bar\.warp\.sync
 * expect: (barrier|bar)\.red|bar\.red
 * expect: prmt
 * expect: shf\.
 * expect: popc
 * expect: bfind|clz
 * expect: brev
 * expect: dp4a
 * expect: %clock64
 * expect: %globaltimer
 * expect: nanosleep
 * expect: fence|membar
 */
__device__ unsigned long long __globaltimer() /* a program may have its own */
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}
__global__ void warp(int *p, double *d, unsigned *u, long long *l)
{
    int i = threadIdx.x;
    p[i] = __shfl_sync(~0u, p[i], 3) + __shfl_xor_sync(~0u, p[i], 1) + __shfl_up_sync(~0u, p[i], 1);
    d[i] = __shfl_down_sync(~0u, d[i], 2, 16);
    u[i] = __ballot_sync(~0u, p[i]) + __activemask() + __match_any_sync(~0u, l[i]);
    p[i] += __all_sync(~0u, p[i]) + __any_sync(~0u, p[i]) + (int)__reduce_add_sync(~0u, u[i]);
    __syncwarp();
    p[i] += __syncthreads_count(p[i]) + __syncthreads_and(p[i]) + __syncthreads_or(p[i]);
    u[i] += __byte_perm(u[i], 5u, 0x1234u) + __funnelshift_l(u[i], u[i + 1], 3) + __popc(u[i]) +
            __popcll(l[i]) + __clz(p[i]) + __ffs(p[i]) + __brev(u[i]) + __umulhi(u[i], 77u);
    p[i] += __dp4a(p[i], p[i + 1], 1) + __mul24(p[i], 3) + __sad(p[i], 2, 3u) + __float_as_int(1.5f * p[i]);
    l[i] = clock64() + __globaltimer() + clock();
    __nanosleep(100);
    __threadfence();
    __threadfence_block();
    __threadfence_system();
}
