/* One TS x TS tile of C at (x, y), RB rows of it in registers at a time. The includer defines
 * TS, RB and TILE. */
static void TILE(const float *RS A, const float *RS B, float *RS C, long n, long y, long x)
{
    float as[TS][TS] __attribute__((aligned(64))), bs[TS][TS] __attribute__((aligned(64)));
    __m512 acc[TS][TS / 16];

    for (int i = 0; i < TS; i++)
        for (int j = 0; j < TS / 16; j++)
            acc[i][j] = _mm512_setzero_ps();
    for (long k0 = 0; k0 < n; k0 += TS) {
        for (int i = 0; i < TS; i++)
            for (int j = 0; j < TS; j++) {
                as[i][j] = A[(y + i) * n + k0 + j];
                bs[i][j] = B[(k0 + i) * n + x + j];
            }
        for (int i0 = 0; i0 < TS; i0 += RB) {
            __m512 r[RB][TS / 16];

#pragma unroll
            for (int i = 0; i < RB; i++)
#pragma unroll
                for (int j = 0; j < TS / 16; j++)
                    r[i][j] = acc[i0 + i][j];
            for (int k = 0; k < TS; k++) {
#pragma unroll
                for (int i = 0; i < RB; i++) {
                    __m512 a = _mm512_set1_ps(as[i0 + i][k]);

#pragma unroll
                    for (int j = 0; j < TS / 16; j++)
                        r[i][j] = _mm512_fmadd_ps(a, _mm512_load_ps(&bs[k][j * 16]), r[i][j]);
                }
            }
#pragma unroll
            for (int i = 0; i < RB; i++)
#pragma unroll
                for (int j = 0; j < TS / 16; j++)
                    acc[i0 + i][j] = r[i][j];
        }
    }
    for (int i = 0; i < TS; i++)
        for (int j = 0; j < TS / 16; j++)
            _mm512_storeu_ps(C + (y + i) * n + x + j * 16, acc[i][j]);
}
