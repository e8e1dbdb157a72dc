/* Atomics of every type and scope.
 * expect: (atom|red)\.(global\.)?add\.u32
 * expect: (atom|red)\.(global\.)?add\.f64
 * expect: atom\.(global\.)?cas\.b64
 * expect: (atom|red)\.(global\.)?(cta\.)?inc\.u32
 * expect: (atom|red)\.(global\.)?sys\.
 * expect: atom\.cas\.b16
 */
__device__ int counter;

__global__ void atomics(int *i, unsigned *u, long long *l, unsigned long long *ul, float *f, double *d,
                        unsigned short *h)
{
    atomicAdd(&counter, 1);
    i[1] = atomicAdd(i, 1) + atomicSub(i, 2) + atomicMin(i, 3) + atomicMax(i, 4) + atomicExch(i, 5);
    i[2] = atomicAnd(i, 1) + atomicOr(i, 2) + atomicXor(i, 3) + atomicCAS(i, 4, 5);
    u[1] = atomicAdd(u, 1u) + atomicInc(u, 7u) + atomicDec(u, 7u) + atomicMin(u, 3u) + atomicCAS(u, 1u, 2u);
    ul[1] = atomicAdd(ul, 1ull) + atomicExch(ul, 2ull) + atomicCAS(ul, 3ull, 4ull) + atomicMax(ul, 5ull);
    l[1] = atomicMin(l, 1ll) + atomicMax(l, 2ll) + atomicAnd(l, 3ll);
    f[1] = atomicAdd(f, 1.0f) + atomicExch(f, 2.0f);
    d[1] = atomicAdd(d, 1.0);
    u[2] = atomicInc_block(u, 9u);
    i[3] = atomicAdd_system(i, 1) + atomicCAS_system(i, 1, 2);
    d[2] = atomicAdd_block(d, 1.0);
    h[1] = atomicCAS(h, (unsigned short)1, (unsigned short)2);
}
