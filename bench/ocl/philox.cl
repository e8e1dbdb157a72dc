/* Uniform random numbers by Philox4x32-10: four per counter, stored together. */
static uint4 philox(uint4 c, uint2 key)
{
#pragma unroll
    for (int r = 0; r < 10; r++) {
        uint hi0 = mul_hi(0xd2511f53u, c.x), lo0 = 0xd2511f53u * c.x;
        uint hi1 = mul_hi(0xcd9e8d57u, c.z), lo1 = 0xcd9e8d57u * c.z;

        c = (uint4)(hi1 ^ c.y ^ key.x, lo1, hi0 ^ c.w ^ key.y, lo0);
        key += (uint2)(0x9e3779b9u, 0xbb67ae85u);
    }
    return c;
}

__kernel void philox_uniform(__global float4 *restrict out, int n4, uint2 key)
{
    for (int i = get_global_id(0); i < n4; i += get_global_size(0))
        out[i] = convert_float4(philox((uint4)(i, 0, 0, 0), key) >> 8) * (1.0f / 16777216.0f);
}
