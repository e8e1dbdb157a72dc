/* exp and log as short inline polynomials, so that the loop vectoriser takes them (libm calls stay
 * scalar). Range reduction by ln 2 in two parts; coefficients: minimax fits as in the Cephes
 * library, about 1 ulp. */
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float fexp(float x)
{
    x = fminf(fmaxf(x, -87.0f), 88.0f);
    float z = __builtin_roundevenf(x * 1.44269504088896341f);
    float r = x - z * 0.693359375f + z * 2.12194440e-4f;
    float y = 1.9875691500e-4f;
    y = y * r + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * r * r + r + 1.0f;
    int32_t i = ((int32_t)z + 127) << 23;
    float s;
    memcpy(&s, &i, 4);
    return y * s;
}

static inline float flog(float x)
{
    int32_t i;
    memcpy(&i, &x, 4);
    int32_t e = (i - 0x3f3504f3) >> 23;
    i -= e << 23;
    float m;
    memcpy(&m, &i, 4);
    m -= 1.0f;
    float z = m * m;
    float y = 7.0376836292e-2f;
    y = y * m - 1.1514610310e-1f;
    y = y * m + 1.1676998740e-1f;
    y = y * m - 1.2420140846e-1f;
    y = y * m + 1.4249322787e-1f;
    y = y * m - 1.6668057665e-1f;
    y = y * m + 2.0000714765e-1f;
    y = y * m - 2.4999993993e-1f;
    y = y * m + 3.3333331174e-1f;
    y = y * m * z;
    float fe = (float)e;
    y += fe * -2.12194440e-4f - 0.5f * z;
    return m + y + fe * 0.693359375f;
}
