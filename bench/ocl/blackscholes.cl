/* European option prices in closed form: exp, log, sqrt and divisions. */
/* Cumulative normal distribution, Abramowitz & Stegun 26.2.17. */
inline float cnd(float d)
{
    const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f,
                A5 = 1.330274429f;
    const float RS = 0.39894228040143267793994605993438f;
    float K = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float c = RS * exp(-0.5f * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))));

    return d > 0 ? 1.0f - c : c;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
blackscholes(__global const float *restrict S, __global const float *restrict X,
             __global const float *restrict T, __global float *restrict C,
             __global float *restrict P, int n, float r, float v)
{
    int i = get_global_id(0);

    if (i >= n)
        return;
    float s = S[i], x = X[i], t = T[i];
    float sq = sqrt(t);
    float d1 = (log(s / x) + (r + 0.5f * v * v) * t) / (v * sq), d2 = d1 - v * sq;
    float n1 = cnd(d1), n2 = cnd(d2), e = exp(-r * t);

    C[i] = s * n1 - x * e * n2;
    P[i] = x * e * (1.0f - n2) - s * (1.0f - n1);
}
