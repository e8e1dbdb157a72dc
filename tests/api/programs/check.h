/*
 * What the programs of this folder share: checks that say where they failed, and a module in PTX.
 *
 *     OK(call)           a driver or runtime call that has to succeed
 *     FAILS(call, code)  one that has to fail with this code; a runtime call's error is taken back
 *     EQ(got, want)      two integers
 *     TRUE(condition)
 *
 * main() ends with `return finish();`, which prints PASS.
 */
#ifndef HEDDLE_TEST_PROGRAMS_CHECK_H
#define HEDDLE_TEST_PROGRAMS_CHECK_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>

static int check_failures;

static inline bool check_srcloc(bool passed, const char *file, int line, const char *text)
{
    if (passed)
        return true;
    printf("FAIL %s:%d: %s", file, line, text);
    check_failures++;
    return false;
}

static inline bool check_code(CUresult got, CUresult want, const char *file, int line,
                              const char *text)
{
    const char *name = "?";
    if (check_srcloc(got == want, file, line, text))
        return true;
    cuGetErrorName(got, &name);
    printf(" is %s (%d), not %d\n", name, (int)got, (int)want);
    return false;
}

static inline bool check_code(cudaError_t got, cudaError_t want, const char *file, int line,
                              const char *text)
{
    if (want != cudaSuccess)
        cudaGetLastError();
    if (check_srcloc(got == want, file, line, text))
        return true;
    printf(" is %s (%d), not %d\n", cudaGetErrorName(got), (int)got, (int)want);
    return false;
}

static inline bool check_equal(long long got, long long want, const char *file, int line,
                               const char *text)
{
    if (check_srcloc(got == want, file, line, text))
        return true;
    printf(" is %lld, not %lld\n", got, want);
    return false;
}

static inline bool check_true(bool passed, const char *file, int line, const char *text)
{
    if (check_srcloc(passed, file, line, text))
        return true;
    printf("\n");
    return false;
}

/* The success of either API. */
static inline bool check_ok(CUresult got, const char *file, int line, const char *text)
{
    return check_code(got, CUDA_SUCCESS, file, line, text);
}
static inline bool check_ok(cudaError_t got, const char *file, int line, const char *text)
{
    return check_code(got, cudaSuccess, file, line, text);
}

#define OK(call)          check_ok(call, __FILE__, __LINE__, #call)
#define FAILS(call, code) check_code(call, code, __FILE__, __LINE__, #call)
#define EQ(got, want)     check_equal((long long)(got), (long long)(want), __FILE__, __LINE__, #got)
#define TRUE(...)         check_true((__VA_ARGS__), __FILE__, __LINE__, #__VA_ARGS__)

static inline int finish(void)
{
    if (check_failures) {
        printf("%d checks failed\n", check_failures);
        return 1;
    }
    printf("PASS\n");
    return 0;
}

/* How many of n words differ from first, first + step ... */
static inline int check_wrong(const int *words, int n, int first, int step)
{
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += words[i] != first + i * step;
    return wrong;
}

/*
 * fill(int *out, int n, int value): out[i] = value + i * step, where `step` is a variable that
 * starts as 1; sum_table(int *out): the sum of the constant `table`.
 */
static const char module_ptx[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 step = 1;
.visible .const .align 4 .u32 table[4] = {1, 2, 3, 4};
.visible .entry fill(.param .u64 fill_out, .param .u32 fill_n, .param .u32 fill_value)
{
    .reg .pred %p;
    .reg .b32 %i, %b, %t, %n, %v, %s;
    .reg .b64 %out, %at;
    mov.u32 %i, %tid.x;
    mov.u32 %b, %ctaid.x;
    mov.u32 %t, %ntid.x;
    mad.lo.s32 %i, %b, %t, %i;
    ld.param.u32 %n, [fill_n];
    setp.ge.s32 %p, %i, %n;
    @%p bra done;
    ld.param.u64 %out, [fill_out];
    ld.param.u32 %v, [fill_value];
    ld.global.u32 %s, [step];
    mad.lo.s32 %v, %i, %s, %v;
    mad.wide.s32 %at, %i, 4, %out;
    st.global.u32 [%at], %v;
done:
    ret;
}
.visible .entry sum_table(.param .u64 sum_out)
{
    .reg .b32 %a, %b, %c, %d;
    .reg .b64 %out;
    ld.param.u64 %out, [sum_out];
    ld.const.u32 %a, [table];
    ld.const.u32 %b, [table + 4];
    ld.const.u32 %c, [table + 8];
    ld.const.u32 %d, [table + 12];
    add.s32 %a, %a, %b;
    add.s32 %a, %a, %c;
    add.s32 %a, %a, %d;
    st.global.u32 [%out], %a;
    ret;
}
)";

#endif
