/* RMSNorm of each head and rotary embedding in one pass over queries or keys in bf16: 32 threads
 * per head with four elements each; sums and partners through local memory. */
#define HEAD 128
#define EPS  1e-6f

static float4 bf16_load(__global const ushort *p)
{
    return as_float4(convert_uint4(vload4(0, p)) << 16);
}

/* To nearest, ties to even. */
static void bf16_store(float4 v, __global ushort *p)
{
    uint4 b = as_uint4(v);

    vstore4(convert_ushort4((b + 0x7fffu + (b >> 16 & 1u)) >> 16), 0, p);
}

/* table: per token the cosines, then the sines. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
rmsnorm_rope(__global const ushort *restrict in, __global const float *restrict weight,
             __global const float *restrict table, __global ushort *restrict out, int count,
             int heads)
{
    __local float sums[256];
    __local float4 values[256];
    int t = get_local_id(0), lane = t % 32, head = get_group_id(0) * 8 + t / 32;
    int here = head < count ? head : count - 1; /* every thread has to reach the barriers */
    __global const float *angles = table + here / heads * HEAD + lane % 16 * 4;
    float4 x = bf16_load(in + here * HEAD + lane * 4), other;
    float4 c = vload4(0, angles), s = vload4(0, angles + HEAD / 2);

    sums[t] = dot(x, x);
    for (int d = 16; d > 0; d >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < d)
            sums[t] += sums[t + d];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    x *= rsqrt(sums[t - lane] / HEAD + EPS) * vload4(0, weight + lane * 4);
    values[t] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    other = values[t ^ 16];
    x = x * c + (lane < 16 ? -other : other) * s;
    if (head < count)
        bf16_store(x, out + head * HEAD + lane * 4);
}
