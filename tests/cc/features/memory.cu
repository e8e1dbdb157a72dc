/* Cache hints, address spaces, dynamic shared memory, vectors, allocation, printf, assert, trap.
 * expect: ld\.global\.nc
 * expect: ld\.cs\.f32|ld\.global\.cs\.f32
 * expect: st\.cg\.
 * expect: \.extern \.shared
 * expect: vprintf
 * expect: __assertfail
 * expect: \.const
 * expect: trap
 * expect: malloc
 */
#include <cassert>
#include <cstdio>
#include <new>

struct node {
    int value;
    __device__ node(int v) : value(v)
    {
    }
};
__constant__ float table[16];
extern __shared__ float dynamic[];

__global__ void __launch_bounds__(128, 2) memory(float *f, float4 *v, int *q, void **keep)
{
    __shared__ double2 fixed[32];
    int i = threadIdx.x;
    dynamic[i] = __ldg(f + i) + table[i & 15] + __ldcs(f + i);
    fixed[i & 31] = make_double2(1.0, 2.0);
    __syncthreads();
    v[i] = __ldcg(v + i);
    __stcg(v + i, make_float4(dynamic[i ^ 1], (float)fixed[0].x, 3.0f, 4.0f));
    q[i] = __isShared(dynamic) + __isGridConstant(&f) + (int)__cvta_generic_to_shared(dynamic);
    node *n = new node(i);
    q[i] += n->value;
    delete n;
    keep[i] = malloc(16);
    free(keep[i + 1]);
    printf("%d %f\n", i, (double)f[i]);
    assert(f[i] > 0.0f);
    if (q[i] == 77)
        __trap();
}
