/* cvt between every pair of types. 8-bit values travel in 32-bit registers, as PTX allows. */
#include "silicon.h"

#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct cvt_type {
    const char *name;
    char reg;
    char kind; /* 'u', 's', 'f' */
    unsigned bits;
    enum sil_set set; /* when it is the source */
};

static const struct cvt_type ints[] = {
    {"u8", 'w', 'u', 8, SIL_U32},   {"s8", 'w', 's', 8, SIL_U32},   {"u16", 'h', 'u', 16, SIL_U16},
    {"s16", 'h', 's', 16, SIL_U16}, {"u32", 'w', 'u', 32, SIL_U32}, {"s32", 'w', 's', 32, SIL_U32},
    {"u64", 'l', 'u', 64, SIL_U64}, {"s64", 'l', 's', 64, SIL_U64},
};
static const struct cvt_type floats[] = {
    {"f16", 'h', 'f', 16, SIL_F16},
    {"f32", 'w', 'f', 32, SIL_F32_CVT},
    {"f64", 'l', 'f', 64, SIL_F64_CVT},
};

static void cvt(struct sil_rows *rows, const char *mode, const struct cvt_type *to,
                const struct cvt_type *from)
{
    char name[SIL_NAME_MAX], sig[4] = {to->reg, ':', from->reg, 0};

    snprintf(name, sizeof(name), "cvt%s.%s.%s", mode, to->name, from->name);
    sil_add(rows, from->set, sig, name);
}

static void rows_int_int(struct sil_rows *rows)
{
    for (size_t i = 0; i < COUNT(ints); i++)
        for (size_t j = 0; j < COUNT(ints); j++) {
            if (i == j)
                continue;
            cvt(rows, "", &ints[i], &ints[j]);
            if (ints[i].bits <= ints[j].bits || (ints[i].kind == 'u' && ints[j].kind == 's'))
                cvt(rows, ".sat", &ints[i], &ints[j]);
        }
}

static void rows_float_int(struct sil_rows *rows)
{
    static const char *const modes[] = {".rni", ".rzi", ".rmi", ".rpi"};

    for (size_t i = 0; i < COUNT(ints); i++)
        for (size_t j = 0; j < COUNT(floats); j++)
            for (size_t m = 0; m < COUNT(modes); m++)
                cvt(rows, modes[m], &ints[i], &floats[j]);
    cvt(rows, ".rni.ftz", &ints[4], &floats[1]);
    cvt(rows, ".rzi.ftz", &ints[5], &floats[1]);
    cvt(rows, ".rpi.ftz", &ints[5], &floats[1]);
    cvt(rows, ".rmi.ftz", &ints[7], &floats[1]);
    cvt(rows, ".rzi.sat", &ints[0], &floats[1]);
    cvt(rows, ".rzi.sat", &ints[5], &floats[1]);
}

static void rows_int_float(struct sil_rows *rows)
{
    static const char *const modes[] = {".rn", ".rz", ".rm", ".rp"};

    for (size_t i = 0; i < COUNT(floats); i++)
        for (size_t j = 0; j < COUNT(ints); j++)
            for (size_t m = 0; m < COUNT(modes); m++)
                cvt(rows, modes[m], &floats[i], &ints[j]);
    cvt(rows, ".rn.sat", &floats[1], &ints[5]);
}

static void rows_float_float(struct sil_rows *rows)
{
    static const char *const modes[] = {".rn", ".rz", ".rm", ".rp"};
    static const char *const integral[] = {".rni", ".rzi", ".rmi", ".rpi"};
    static const char *const to_f16[] = {".rn", ".rz"};

    for (size_t m = 0; m < COUNT(modes); m++)
        cvt(rows, modes[m], &floats[1], &floats[2]);
    cvt(rows, ".rn.ftz", &floats[1], &floats[2]);
    cvt(rows, ".rn.sat", &floats[1], &floats[2]);
    cvt(rows, "", &floats[2], &floats[1]);
    cvt(rows, ".ftz", &floats[2], &floats[1]);
    cvt(rows, "", &floats[1], &floats[0]);
    cvt(rows, ".ftz", &floats[1], &floats[0]);
    cvt(rows, "", &floats[2], &floats[0]);
    cvt(rows, ".sat", &floats[1], &floats[1]);
    cvt(rows, ".ftz", &floats[1], &floats[1]);
    for (size_t m = 0; m < COUNT(modes); m++) {
        cvt(rows, modes[m], &floats[0], &floats[1]);
        cvt(rows, modes[m], &floats[0], &floats[2]);
    }
    cvt(rows, ".rn.ftz", &floats[0], &floats[1]);
    cvt(rows, ".rn.sat", &floats[0], &floats[1]);
    for (size_t m = 0; m < COUNT(integral); m++)
        for (size_t t = 0; t < COUNT(floats); t++)
            cvt(rows, integral[m], &floats[t], &floats[t]);
    cvt(rows, ".rni.ftz", &floats[1], &floats[1]);
    cvt(rows, ".rzi.sat", &floats[1], &floats[1]);
    for (size_t m = 0; m < COUNT(to_f16); m++) {
        char name[64];

        snprintf(name, sizeof(name), "cvt%s.bf16.f32", to_f16[m]);
        sil_add(rows, SIL_F32_CVT, "h:w", name);
        snprintf(name, sizeof(name), "cvt%s.relu.bf16.f32", to_f16[m]);
        sil_add(rows, SIL_F32_CVT, "h:w", name);
        snprintf(name, sizeof(name), "cvt%s.relu.f16.f32", to_f16[m]);
        sil_add(rows, SIL_F32_CVT, "h:w", name);
        snprintf(name, sizeof(name), "cvt%s.f16x2.f32", to_f16[m]);
        sil_add(rows, SIL_F32, "w:ww", name);
        snprintf(name, sizeof(name), "cvt%s.bf16x2.f32", to_f16[m]);
        sil_add(rows, SIL_F32, "w:ww", name);
        snprintf(name, sizeof(name), "cvt%s.relu.bf16x2.f32", to_f16[m]);
        sil_add(rows, SIL_F32, "w:ww", name);
    }
}

/* bf16 with other types (needs sm_90), fp8 pairs, tf32 and packed saturation. */
static void rows_special(struct sil_rows *rows)
{
    static const char *const to_int[] = {"u16", "s16", "u32", "s32", "u64", "s64"};
    static const char regs[] = "hhwwll";
    static const enum sil_set sets[] = {SIL_U16, SIL_U16, SIL_U32, SIL_U32, SIL_U64, SIL_U64};
    char name[64], sig[4] = "h:h";

    for (size_t i = 0; i < COUNT(to_int); i++) {
        sig[0] = regs[i];
        sig[2] = 'h';
        snprintf(name, sizeof(name), "cvt.rzi.%s.bf16", to_int[i]);
        sil_add(rows, SIL_BF16, sig, name);
        sig[0] = 'h';
        sig[2] = regs[i];
        snprintf(name, sizeof(name), "cvt.rn.bf16.%s", to_int[i]);
        sil_add(rows, sets[i], sig, name);
    }
    sil_add(rows, SIL_BF16, "w:h", "cvt.f32.bf16");
    sil_add(rows, SIL_BF16, "l:h", "cvt.f64.bf16");
    sil_add(rows, SIL_F64_CVT, "h:l", "cvt.rn.bf16.f64");
    sil_add(rows, SIL_F16, "h:h", "cvt.rn.bf16.f16");
    sil_add(rows, SIL_BF16, "h:h", "cvt.rn.f16.bf16");
    sil_add(rows, SIL_BF16, "h:h", "cvt.rni.bf16.bf16");
    sil_add(rows, SIL_F32_CVT, "w:w", "cvt.rna.tf32.f32");
    sil_add(rows, SIL_F32, "h:ww", "cvt.rn.satfinite.e4m3x2.f32");
    sil_add(rows, SIL_F32, "h:ww", "cvt.rn.satfinite.e5m2x2.f32");
    sil_add(rows, SIL_F32, "h:ww", "cvt.rn.satfinite.relu.e4m3x2.f32");
    sil_add(rows, SIL_F16X2, "h:w", "cvt.rn.satfinite.e4m3x2.f16x2");
    sil_add(rows, SIL_F16X2, "h:w", "cvt.rn.satfinite.e5m2x2.f16x2");
    sil_add(rows, SIL_U16, "w:h", "cvt.rn.f16x2.e4m3x2");
    sil_add(rows, SIL_U16, "w:h", "cvt.rn.f16x2.e5m2x2");
    sil_add(rows, SIL_U32, "w:ww", "cvt.pack.sat.u16.s32");
    sil_add(rows, SIL_U32, "w:ww", "cvt.pack.sat.s16.s32");
    sil_add(rows, SIL_U32, "w:www", "cvt.pack.sat.u8.s32.b32");
    sil_add(rows, SIL_U32, "w:www", "cvt.pack.sat.s8.s32.b32");
}

void sil_rows_cvt(struct sil_rows *rows)
{
    rows_int_int(rows);
    rows_float_int(rows);
    rows_int_float(rows);
    rows_float_float(rows);
    rows_special(rows);
}
