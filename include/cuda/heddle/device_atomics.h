/*
 * atomicAdd() and friends over the scoped primitives of clang's __clang_cuda_device_functions.h
 * (__iAtomicAdd, __ullAtomicMax_system ...). Every operation exists at device scope (no suffix),
 * block scope (_block) and system scope (_system). They return the old value and order nothing.
 */
#ifndef HEDDLE_CUDA_DEVICE_ATOMICS_H
#define HEDDLE_CUDA_DEVICE_ATOMICS_H

#define HEDDLE_FN static __device__ __forceinline__

/* One scope of every two-operand operation: name, type, primitive, type of the primitive. */
#define HEDDLE_ATOMIC(name, type, prim, as, scope)                                                 \
    HEDDLE_FN type name##scope(type *address, type value)                                          \
    {                                                                                              \
        return (type)prim##scope((as *)address, (as)value);                                        \
    }

#define HEDDLE_ATOMIC_CAS(type, prim, as, scope)                                                   \
    HEDDLE_FN type atomicCAS##scope(type *address, type compare, type value)                       \
    {                                                                                              \
        return (type)prim##scope((as *)address, (as)compare, (as)value);                           \
    }

/* 16-bit compare-and-swap, from compute capability 7.0. */
#define HEDDLE_ATOMIC_CAS16(scope, ptx)                                                            \
    HEDDLE_FN unsigned short atomicCAS##scope(unsigned short *address, unsigned short compare,     \
                                              unsigned short value)                                \
    {                                                                                              \
        unsigned short old;                                                                        \
        __asm__ __volatile__("atom" ptx ".cas.b16 %0, [%1], %2, %3;"                               \
                             : "=h"(old)                                                           \
                             : "l"(address), "h"(compare), "h"(value)                              \
                             : "memory");                                                          \
        return old;                                                                                \
    }

#define HEDDLE_ATOMIC_BITS(op, Op, scope)                                                          \
    HEDDLE_ATOMIC(atomic##Op, int, __iAtomic##Op, int, scope)                                      \
    HEDDLE_ATOMIC(atomic##Op, unsigned int, __uAtomic##Op, unsigned int, scope)                    \
    HEDDLE_ATOMIC(atomic##Op, long long, __llAtomic##Op, long long, scope)                         \
    HEDDLE_ATOMIC(atomic##Op, unsigned long long, __ullAtomic##Op, unsigned long long, scope)

#define HEDDLE_ATOMIC_ORDER(Op, scope)                                                             \
    HEDDLE_ATOMIC(atomic##Op, int, __iAtomic##Op, int, scope)                                      \
    HEDDLE_ATOMIC(atomic##Op, unsigned int, __uAtomic##Op, unsigned int, scope)                    \
    HEDDLE_ATOMIC(atomic##Op, long long, __illAtomic##Op, long long, scope)                        \
    HEDDLE_ATOMIC(atomic##Op, unsigned long long, __ullAtomic##Op, unsigned long long, scope)

#define HEDDLE_ATOMIC_SCOPE(scope)                                                                 \
    HEDDLE_ATOMIC(atomicAdd, int, __iAtomicAdd, int, scope)                                        \
    HEDDLE_ATOMIC(atomicAdd, unsigned int, __uAtomicAdd, unsigned int, scope)                      \
    HEDDLE_ATOMIC(atomicAdd, unsigned long long, __ullAtomicAdd, unsigned long long, scope)        \
    HEDDLE_ATOMIC(atomicAdd, float, __fAtomicAdd, float, scope)                                    \
    HEDDLE_ATOMIC(atomicExch, int, __iAtomicExch, int, scope)                                      \
    HEDDLE_ATOMIC(atomicExch, unsigned int, __uAtomicExch, unsigned int, scope)                    \
    HEDDLE_ATOMIC(atomicExch, unsigned long long, __ullAtomicExch, unsigned long long, scope)      \
    HEDDLE_ATOMIC(atomicExch, float, __fAtomicExch, float, scope)                                  \
    HEDDLE_ATOMIC(atomicInc, unsigned int, __uAtomicInc, unsigned int, scope)                      \
    HEDDLE_ATOMIC(atomicDec, unsigned int, __uAtomicDec, unsigned int, scope)                      \
    HEDDLE_ATOMIC_CAS(int, __iAtomicCAS, int, scope)                                               \
    HEDDLE_ATOMIC_CAS(unsigned int, __iAtomicCAS, int, scope)                                      \
    HEDDLE_ATOMIC_CAS(unsigned long long, __ullAtomicCAS, unsigned long long, scope)               \
    HEDDLE_ATOMIC_ORDER(Min, scope)                                                                \
    HEDDLE_ATOMIC_ORDER(Max, scope)                                                                \
    HEDDLE_ATOMIC_BITS(and, And, scope)                                                            \
    HEDDLE_ATOMIC_BITS(or, Or, scope)                                                              \
    HEDDLE_ATOMIC_BITS(xor, Xor, scope)                                                            \
    HEDDLE_FN int atomicSub##scope(int *address, int value)                                        \
    {                                                                                              \
        return __iAtomicAdd##scope(address, (int)(0u - (unsigned int)value));                      \
    }                                                                                              \
    HEDDLE_FN unsigned int atomicSub##scope(unsigned int *address, unsigned int value)             \
    {                                                                                              \
        return __uAtomicAdd##scope(address, 0u - value);                                           \
    }

HEDDLE_ATOMIC_SCOPE()
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
HEDDLE_ATOMIC_SCOPE(_block)
HEDDLE_ATOMIC_SCOPE(_system)
HEDDLE_ATOMIC(atomicAdd, double, __dAtomicAdd, double, )
HEDDLE_ATOMIC(atomicAdd, double, __dAtomicAdd, double, _block)
HEDDLE_ATOMIC(atomicAdd, double, __dAtomicAdd, double, _system)
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
HEDDLE_ATOMIC_CAS16(, "")
HEDDLE_ATOMIC_CAS16(_block, ".cta")
HEDDLE_ATOMIC_CAS16(_system, ".sys")
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/* Each element by itself is added in one piece, the vector is not. */
#define HEDDLE_ATOMIC_FLOATS(scope, ptx)                                                           \
    HEDDLE_FN float2 atomicAdd##scope(float2 *address, float2 value)                               \
    {                                                                                              \
        float2 old;                                                                                \
        __asm__ __volatile__("atom" ptx ".global.add.v2.f32 {%0, %1}, [%2], {%3, %4};"             \
                             : "=f"(old.x), "=f"(old.y)                                            \
                             : "l"(__cvta_generic_to_global(address)), "f"(value.x), "f"(value.y)  \
                             : "memory");                                                          \
        return old;                                                                                \
    }                                                                                              \
    HEDDLE_FN float4 atomicAdd##scope(float4 *address, float4 value)                               \
    {                                                                                              \
        float4 old;                                                                                \
        __asm__ __volatile__("atom" ptx                                                            \
                             ".global.add.v4.f32 {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};"        \
                             : "=f"(old.x), "=f"(old.y), "=f"(old.z), "=f"(old.w)                  \
                             : "l"(__cvta_generic_to_global(address)), "f"(value.x), "f"(value.y), \
                               "f"(value.z), "f"(value.w)                                          \
                             : "memory");                                                          \
        return old;                                                                                \
    }
HEDDLE_ATOMIC_FLOATS(, "")
HEDDLE_ATOMIC_FLOATS(_block, ".cta")
HEDDLE_ATOMIC_FLOATS(_system, ".sys")
#undef HEDDLE_ATOMIC_FLOATS
#endif

#undef HEDDLE_ATOMIC_SCOPE
#undef HEDDLE_ATOMIC_ORDER
#undef HEDDLE_ATOMIC_BITS
#undef HEDDLE_ATOMIC_CAS16
#undef HEDDLE_ATOMIC_CAS
#undef HEDDLE_ATOMIC
#undef HEDDLE_FN

#endif
