/* Elements of matrices: their bytes, and what they are as floats. */
#include <assert.h>
#include <string.h>

#include "klib/blas.h"
#include "klib/halves.h"

int64_t klib_bytes(enum klib_type type, int64_t elements)
{
    static const uint8_t bits[] = {
        [KLIB_F32] = 32,  [KLIB_F64] = 64, [KLIB_C32] = 64, [KLIB_C64] = 128, [KLIB_F16] = 16,
        [KLIB_BF16] = 16, [KLIB_I8] = 8,   [KLIB_I32] = 32, [KLIB_E4M3] = 8,  [KLIB_E5M2] = 8,
        [KLIB_E2M1] = 4,  [KLIB_U8] = 8,   [KLIB_I64] = 64, [KLIB_BOOL] = 8,  [KLIB_UE8M0] = 8};

    return elements * bits[type] / 8;
}

#define COLUMN(name, T)                                                                            \
    for (int64_t i = 0; i < rows; i++)                                                             \
        to[i] = name(((const T *)column)[i]);                                                      \
    break
#define AS_IT_IS(x) (x)

void klib_widen(float *to, const char *from, enum klib_type type, int64_t ld, int64_t rows,
                int64_t columns)
{
    for (int64_t j = 0; j < columns; j++, to += rows) {
        const char *column = from + klib_bytes(type, j * ld);
        switch (type) {
        case KLIB_F16:
            COLUMN(klib_f32_of_f16, uint16_t);
        case KLIB_BF16:
            COLUMN(klib_f32_of_bf16, uint16_t);
        case KLIB_I8:
            COLUMN(AS_IT_IS, int8_t);
        case KLIB_E4M3:
            COLUMN(klib_f32_of_e4m3, uint8_t);
        case KLIB_E5M2:
            COLUMN(klib_f32_of_e5m2, uint8_t);
        case KLIB_E2M1:
            for (int64_t i = 0; i + 1 < rows; i += 2) {
                to[i] = klib_f32_of_e2m1((uint8_t)column[i / 2]);
                to[i + 1] = klib_f32_of_e2m1((uint8_t)column[i / 2] >> 4);
            }
            if (rows % 2)
                to[rows - 1] = klib_f32_of_e2m1((uint8_t)column[rows / 2]);
            break;
        default:
            assert(type == KLIB_F32);
            memcpy(to, column, (size_t)rows * sizeof(float));
        }
    }
}
#undef COLUMN
