/*
 * Kernels of PyTorch's that are launched by something else than an operator. The wheels have them
 * as machine code of GPUs, under names that say what they do; the ones here stand in for them
 * (heddle_native_stand_in()).
 */
#pragma once

#include <cerrno>
#include <chrono>
#include <ctime>

#include "launch.hpp"

namespace heddle {

/*
 * at::cuda::sleep(), that is torch.cuda._sleep(): the stream is busy for as many cycles of the
 * device's clock. Here the thread of the device sleeps, and takes no processor meanwhile.
 */
inline int spin(heddle_native_call *call)
{
    const auto cycles = *static_cast<const int64_t *>(call->params);
    int khz = 0;
    CUresult result = Driver::get().device_attribute(&khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
                                                     static_cast<int>(call->device));

    if (result || khz <= 0)
        return heddle_native_fail(call, 1, "the device says no clock rate");
    if (cycles <= 0)
        return 0;
    struct timespec left;
    left.tv_sec = cycles / khz / 1000;
    left.tv_nsec = (cycles / khz % 1000) * 1000000 + cycles % khz * 1000000 / khz;
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
        ;
    return 0;
}

constexpr char spin_ptx[] = R"(.version 7.0
.target sm_52
.address_size 64
.visible .entry spin(.param .u64 cycles)
{
    .reg .pred %p;
    .reg .b64 %d<4>;
    ld.param.u64 %d0, [cycles];
    mov.u64 %d1, %clock64;
again:
    mov.u64 %d2, %clock64;
    sub.s64 %d2, %d2, %d1;
    setp.lt.s64 %p, %d2, %d0;
    @%p bra again;
    ret;
})";

/*
 * c10d's StreamBlock: the stream waits until the host writes 1 into the first of two numbers in
 * pinned memory, or for a time, 0 being for ever; the second says what became of it.
 */
inline int barrier(heddle_native_call *call)
{
    enum Status { RUNNING = 1, TIMED_OUT = 2, ABORTED = 3 };
    struct Params {
        int32_t *value;
        uint64_t timeout_ms;
    };
    const auto *p = static_cast<const Params *>(call->params);
    const auto start = std::chrono::steady_clock::now();
    const std::chrono::milliseconds timeout(p->timeout_ms);
    const struct timespec pause = {0, 1000000};

    __atomic_store_n(&p->value[1], RUNNING, __ATOMIC_RELEASE);
    while (__atomic_load_n(&p->value[0], __ATOMIC_ACQUIRE) != 1) {
        if (p->timeout_ms && std::chrono::steady_clock::now() - start > timeout) {
            __atomic_store_n(&p->value[1], TIMED_OUT, __ATOMIC_RELEASE);
            return 0;
        }
        nanosleep(&pause, nullptr);
    }
    __atomic_store_n(&p->value[1], ABORTED, __ATOMIC_RELEASE);
    return 0;
}

constexpr char barrier_ptx[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry barrier(.param .u64 value, .param .u64 timeout_ms)
{
    .reg .pred %p;
    .reg .b32 %r<2>;
    .reg .b64 %d<5>;
    ld.param.u64 %d0, [value];
    ld.param.u64 %d1, [timeout_ms];
    st.release.sys.u32 [%d0+4], 1;
    mov.u64 %d2, %globaltimer;
again:
    ld.acquire.sys.u32 %r0, [%d0];
    setp.eq.u32 %p, %r0, 1;
    mov.u32 %r1, 3;
    @%p bra over;
    nanosleep.u32 1000000;
    setp.eq.u64 %p, %d1, 0;
    @%p bra again;
    mov.u64 %d3, %globaltimer;
    sub.u64 %d3, %d3, %d2;
    mul.lo.u64 %d4, %d1, 1000000;
    setp.le.u64 %p, %d3, %d4;
    @%p bra again;
    mov.u32 %r1, 2;
over:
    st.release.sys.u32 [%d0+4], %r1;
    ret;
})";

/* CUDAGraph::set_conditional_handle(): the body of a node runs if a tensor says so. */
constexpr char condition_ptx[] = R"(.version 8.3
.target sm_52
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry set_conditional_handle(.param .u64 handle, .param .u64 value)
{
    .reg .b32 %r0;
    .reg .b64 %d<2>;
    ld.param.u64 %d0, [handle];
    ld.param.u64 %d1, [value];
    ld.global.u8 %r0, [%d1];
    {
        .param .b64 a;
        .param .b32 b;
        st.param.b64 [a], %d0;
        st.param.b32 [b], %r0;
        call.uni cudaGraphSetConditional, (a, b);
    }
    ret;
})";

inline void stand_in(const char *symbol, CUkern_st *kernel)
{
    int error = Driver::get().native_stand_in(symbol, kernel);
    TORCH_CHECK(!error, "Heddle: no kernel stands in for ", symbol, ": CUDA error ", error);
}

/* Its name in tools is what a GPU's have. */
inline void stand_in_native(const char *symbol, const char *name, heddle_native_fn *function,
                            const char *ptx, const char *entry)
{
    heddle_native desc{};
    desc.name = name;
    desc.function = function;
    desc.ptx = ptx;
    desc.entry = entry;
    stand_in(symbol, register_native(desc));
}

inline void stand_in_compiled(const char *symbol, const char *ptx, const char *entry)
{
    const Driver &driver = Driver::get();
    CUlibrary library;
    CUkernel kernel;
    CUresult result = driver.library_load(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0);

    if (!result)
        result = driver.library_get_kernel(&kernel, library, entry);
    TORCH_CHECK(!result, "Heddle: no kernel for ", entry, ": CUDA error ",
                static_cast<int>(result));
    stand_in(symbol, kernel);
}

inline void kernels_register()
{
    stand_in_native("_ZN2at4cuda*11spin_kernelEl",
                    "at::cuda::(anonymous namespace)::spin_kernel(long)", spin, spin_ptx, "spin");
    stand_in_native("_ZN4c10d4cuda6detail14kernel_barrierEPim",
                    "c10d::cuda::detail::kernel_barrier(int*, unsigned long)", barrier, barrier_ptx,
                    "barrier");
    stand_in_compiled("_ZN2at4cuda*29set_conditional_handle_kernelE*", condition_ptx,
                      "set_conditional_handle");
}

} // namespace heddle
