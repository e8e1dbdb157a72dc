/* y = alpha x + y: one fma per element, bandwidth bound. */
__kernel void saxpy(int n, float alpha, __global const float *restrict x,
                    __global float *restrict y)
{
    int i = get_global_id(0);

    if (i < n)
        y[i] = alpha * x[i] + y[i];
}
