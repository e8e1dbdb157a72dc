/* All-pairs gravity: 256 bodies at a time in local memory. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
nbody(__global const float4 *restrict p, __global float4 *restrict acc, int n)
{
    __local float4 s[256];
    int i = get_group_id(0) * 256 + get_local_id(0);
    float4 me = p[i];
    float ax = 0, ay = 0, az = 0;

    for (int b = 0; b < n; b += 256) {
        s[get_local_id(0)] = p[b + get_local_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < 256; j++) {
            float4 q = s[j];
            float dx = q.x - me.x, dy = q.y - me.y, dz = q.z - me.z;
            float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
            float inv = rsqrt(r2);
            float f = q.w * inv * inv * inv;

            ax += dx * f;
            ay += dy * f;
            az += dz * f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    acc[i] = (float4)(ax, ay, az, 0.0f);
}
