/* The kernel of the HAL's tests: as IR for devices that compile, as C for the fake JIT. */
#ifndef HD_TESTS_HAL_BUMP_KERNEL_H
#define HD_TESTS_HAL_BUMP_KERNEL_H

#include "../dev/fake_jit.h"

#define BIG_B      400 /* parameter block that does not fit the packet */
#define TIMEOUT_NS 20000000000u

/* p[global thread] += n, where p and n are the first and the last 8 bytes of the parameters. */
static const char kernel_text[] =
    "module \"t\" sm 75\n"
    "kernel @bump visible {\n  params 400\n"
    "bb0:\n  %0:b64 = const.b64 0x0\n  %1:b64 = ld.b64.param [%0]\n"
    "  %2:b32 = ld.b32.param [%0+392]\n  %3:b32 = sreg.b32 tid.x\n"
    "  %4:b32 = sreg.b32 ctaid.x\n  %5:b32 = sreg.b32 ntid.x\n  %6:b32 = mul.u32 %4, %5\n"
    "  %7:b32 = add.u32 %6, %3\n  %8:b32 = const.b32 0x4\n  %9:b64 = mulwide.u32 %7, %8\n"
    "  %10:b64 = add.u64 %1, %9\n  %11:b32 = ld.b32.global [%10]\n  %12:b32 = add.u32 %11, %2\n"
    "  st.b32.global [%10], %12\n  ret\n}\n"
    "kernel @idle visible {\n  params 400\nbb0:\n  ret\n}\n";

static void bump_cta(struct jit_cta *cta)
{
    const char *params = cta->launch->params;
    volatile uint32_t *p = *(uint32_t *const *)params;
    uint32_t n = *(const uint32_t *)(params + 392), block = cta->launch->block[0];

    for (uint32_t t = 0; t < block; t++)
        p[cta->ctaid[0] * block + t] += n;
}

static void idle_cta(struct jit_cta *cta)
{
    (void)cta;
}

const struct fake_kernel fake_kernels[] = {
    {"bump", {.run_cta = bump_cta, .cost_ops = UINT64_MAX}},
    {"idle", {.run_cta = idle_cta, .cost_ops = UINT64_MAX}},
    {0},
};

#endif
