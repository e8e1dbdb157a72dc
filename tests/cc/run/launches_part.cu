#include "launches.h"

__global__ void elsewhere(wide w, float4 v, bool b, short h, double d, int *out)
{
    int sum = w.flag ? 100 : 0;

    for (int n : w.n)
        sum += n;
    sum += (int)(v.x + v.y + v.z + v.w) + (b ? 1000 : 0) + h + (int)(d * 10);
    *out = sum;
}
