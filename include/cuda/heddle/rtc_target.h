/*
 * NVRTC provides the macros of <nv/target> to every program, and CUDA's own headers count on it.
 * A program that brings libcu++'s <nv/target> gets those in place of these.
 *
 *     NV_IF_TARGET(NV_PROVIDES_SM_80, (return __hfma2(a, b, c);), (return slow(a, b, c);))
 */
#ifndef HEDDLE_RTC_TARGET_H
#define HEDDLE_RTC_TARGET_H

/* A block without its parentheses; a choice in place of a block has none. */
#define HEDDLE_NV_OPEN(...)     HEDDLE_NV_OPEN __VA_ARGS__
#define HEDDLE_NV_JOIN(a, ...)  a##__VA_ARGS__
#define HEDDLE_NV_PASTE(a, ...) HEDDLE_NV_JOIN(a, __VA_ARGS__)
#define HEDDLE_NV_NO_HEDDLE_NV_OPEN
#define HEDDLE_NV_BARE(...) HEDDLE_NV_PASTE(HEDDLE_NV_NO_, HEDDLE_NV_OPEN __VA_ARGS__)

#define HEDDLE_NV_1(block, ...)   HEDDLE_NV_BARE(block)
#define HEDDLE_NV_0(block, ...)   HEDDLE_NV_BARE(__VA_ARGS__)
#define HEDDLE_NV_CHOOSE(is, ...) HEDDLE_NV_##is(__VA_ARGS__)

#define NV_IF_TARGET(is, ...)      HEDDLE_NV_CHOOSE(is, __VA_ARGS__)
#define NV_IF_ELSE_TARGET(is, ...) HEDDLE_NV_CHOOSE(is, __VA_ARGS__)

#define NV_IS_DEVICE  1
#define NV_IS_HOST    0
#define NV_ANY_TARGET 1
#define NV_NO_TARGET  0

#if __CUDA_ARCH__ >= 500
#define NV_PROVIDES_SM_50 1
#else
#define NV_PROVIDES_SM_50 0
#endif
#if __CUDA_ARCH__ == 500
#define NV_IS_EXACTLY_SM_50 1
#else
#define NV_IS_EXACTLY_SM_50 0
#endif
#if __CUDA_ARCH__ >= 520
#define NV_PROVIDES_SM_52 1
#else
#define NV_PROVIDES_SM_52 0
#endif
#if __CUDA_ARCH__ == 520
#define NV_IS_EXACTLY_SM_52 1
#else
#define NV_IS_EXACTLY_SM_52 0
#endif
#if __CUDA_ARCH__ >= 530
#define NV_PROVIDES_SM_53 1
#else
#define NV_PROVIDES_SM_53 0
#endif
#if __CUDA_ARCH__ == 530
#define NV_IS_EXACTLY_SM_53 1
#else
#define NV_IS_EXACTLY_SM_53 0
#endif
#if __CUDA_ARCH__ >= 600
#define NV_PROVIDES_SM_60 1
#else
#define NV_PROVIDES_SM_60 0
#endif
#if __CUDA_ARCH__ == 600
#define NV_IS_EXACTLY_SM_60 1
#else
#define NV_IS_EXACTLY_SM_60 0
#endif
#if __CUDA_ARCH__ >= 610
#define NV_PROVIDES_SM_61 1
#else
#define NV_PROVIDES_SM_61 0
#endif
#if __CUDA_ARCH__ == 610
#define NV_IS_EXACTLY_SM_61 1
#else
#define NV_IS_EXACTLY_SM_61 0
#endif
#if __CUDA_ARCH__ >= 620
#define NV_PROVIDES_SM_62 1
#else
#define NV_PROVIDES_SM_62 0
#endif
#if __CUDA_ARCH__ == 620
#define NV_IS_EXACTLY_SM_62 1
#else
#define NV_IS_EXACTLY_SM_62 0
#endif
#if __CUDA_ARCH__ >= 700
#define NV_PROVIDES_SM_70 1
#else
#define NV_PROVIDES_SM_70 0
#endif
#if __CUDA_ARCH__ == 700
#define NV_IS_EXACTLY_SM_70 1
#else
#define NV_IS_EXACTLY_SM_70 0
#endif
#if __CUDA_ARCH__ >= 720
#define NV_PROVIDES_SM_72 1
#else
#define NV_PROVIDES_SM_72 0
#endif
#if __CUDA_ARCH__ == 720
#define NV_IS_EXACTLY_SM_72 1
#else
#define NV_IS_EXACTLY_SM_72 0
#endif
#if __CUDA_ARCH__ >= 750
#define NV_PROVIDES_SM_75 1
#else
#define NV_PROVIDES_SM_75 0
#endif
#if __CUDA_ARCH__ == 750
#define NV_IS_EXACTLY_SM_75 1
#else
#define NV_IS_EXACTLY_SM_75 0
#endif
#if __CUDA_ARCH__ >= 800
#define NV_PROVIDES_SM_80 1
#else
#define NV_PROVIDES_SM_80 0
#endif
#if __CUDA_ARCH__ == 800
#define NV_IS_EXACTLY_SM_80 1
#else
#define NV_IS_EXACTLY_SM_80 0
#endif
#if __CUDA_ARCH__ >= 860
#define NV_PROVIDES_SM_86 1
#else
#define NV_PROVIDES_SM_86 0
#endif
#if __CUDA_ARCH__ == 860
#define NV_IS_EXACTLY_SM_86 1
#else
#define NV_IS_EXACTLY_SM_86 0
#endif
#if __CUDA_ARCH__ >= 870
#define NV_PROVIDES_SM_87 1
#else
#define NV_PROVIDES_SM_87 0
#endif
#if __CUDA_ARCH__ == 870
#define NV_IS_EXACTLY_SM_87 1
#else
#define NV_IS_EXACTLY_SM_87 0
#endif
#if __CUDA_ARCH__ >= 880
#define NV_PROVIDES_SM_88 1
#else
#define NV_PROVIDES_SM_88 0
#endif
#if __CUDA_ARCH__ == 880
#define NV_IS_EXACTLY_SM_88 1
#else
#define NV_IS_EXACTLY_SM_88 0
#endif
#if __CUDA_ARCH__ >= 890
#define NV_PROVIDES_SM_89 1
#else
#define NV_PROVIDES_SM_89 0
#endif
#if __CUDA_ARCH__ == 890
#define NV_IS_EXACTLY_SM_89 1
#else
#define NV_IS_EXACTLY_SM_89 0
#endif
#if __CUDA_ARCH__ >= 900
#define NV_PROVIDES_SM_90 1
#else
#define NV_PROVIDES_SM_90 0
#endif
#if __CUDA_ARCH__ == 900
#define NV_IS_EXACTLY_SM_90 1
#else
#define NV_IS_EXACTLY_SM_90 0
#endif
#if __CUDA_ARCH__ >= 1000
#define NV_PROVIDES_SM_100 1
#else
#define NV_PROVIDES_SM_100 0
#endif
#if __CUDA_ARCH__ == 1000
#define NV_IS_EXACTLY_SM_100 1
#else
#define NV_IS_EXACTLY_SM_100 0
#endif
#if __CUDA_ARCH__ >= 1030
#define NV_PROVIDES_SM_103 1
#else
#define NV_PROVIDES_SM_103 0
#endif
#if __CUDA_ARCH__ == 1030
#define NV_IS_EXACTLY_SM_103 1
#else
#define NV_IS_EXACTLY_SM_103 0
#endif
#if __CUDA_ARCH__ >= 1100
#define NV_PROVIDES_SM_110 1
#else
#define NV_PROVIDES_SM_110 0
#endif
#if __CUDA_ARCH__ == 1100
#define NV_IS_EXACTLY_SM_110 1
#else
#define NV_IS_EXACTLY_SM_110 0
#endif
#if __CUDA_ARCH__ >= 1200
#define NV_PROVIDES_SM_120 1
#else
#define NV_PROVIDES_SM_120 0
#endif
#if __CUDA_ARCH__ == 1200
#define NV_IS_EXACTLY_SM_120 1
#else
#define NV_IS_EXACTLY_SM_120 0
#endif
#if __CUDA_ARCH__ >= 1210
#define NV_PROVIDES_SM_121 1
#else
#define NV_PROVIDES_SM_121 0
#endif
#if __CUDA_ARCH__ == 1210
#define NV_IS_EXACTLY_SM_121 1
#else
#define NV_IS_EXACTLY_SM_121 0
#endif

#endif
