/*
 * What nvcc has built in of atomic operations with an order and a scope (CUDA 12.8):
 *
 *     int old = __nv_atomic_fetch_add(&count, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
 *
 * __nv_atomic_load, store, exchange and compare_exchange take objects of any type by pointers,
 * those ending in _n scalars by value; fetch_ returns the old value, without it nothing is
 * returned. The scope is the system where none is given. From compute capability 7.0; 16 bytes are
 * exchanged from 9.0. And atomicCAS(), atomicExch() of 16 bytes, which are relaxed.
 */
#ifndef HEDDLE_CUDA_DEVICE_ATOMIC_BUILTINS_H
#define HEDDLE_CUDA_DEVICE_ATOMIC_BUILTINS_H

enum {
    __NV_ATOMIC_RELAXED,
    __NV_ATOMIC_CONSUME,
    __NV_ATOMIC_ACQUIRE,
    __NV_ATOMIC_RELEASE,
    __NV_ATOMIC_ACQ_REL,
    __NV_ATOMIC_SEQ_CST
};
enum {
    __NV_THREAD_SCOPE_THREAD,
    __NV_THREAD_SCOPE_BLOCK,
    __NV_THREAD_SCOPE_CLUSTER,
    __NV_THREAD_SCOPE_DEVICE,
    __NV_THREAD_SCOPE_SYSTEM
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700

#define HEDDLE_FN  static __device__ __forceinline__
#define HEDDLE_SYS = __NV_THREAD_SCOPE_SYSTEM

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define HEDDLE_CLUSTER ".gpu" /* the narrowest scope that holds a cluster */
#else
#define HEDDLE_CLUSTER ".cluster"
#endif

template <class _Tp> struct heddle_atomic_plain {
    typedef _Tp type;
};
template <class _Tp> struct heddle_atomic_plain<const _Tp> {
    typedef _Tp type;
};
template <class _Tp> struct heddle_atomic_plain<volatile _Tp> {
    typedef _Tp type;
};
template <class _Tp> struct heddle_atomic_plain<const volatile _Tp> {
    typedef _Tp type;
};

/* The word that has an object's bits; no type where no instruction takes that many. */
template <int size> struct heddle_atomic_word;
template <> struct heddle_atomic_word<1> {
    typedef unsigned char type;
};
template <> struct heddle_atomic_word<2> {
    typedef unsigned short type;
};
template <> struct heddle_atomic_word<4> {
    typedef unsigned int type;
};
template <> struct heddle_atomic_word<8> {
    typedef unsigned long long type;
};
template <> struct heddle_atomic_word<16> {
    typedef unsigned __int128 type;
};
#define HEDDLE_PLAIN(T) typename heddle_atomic_plain<T>::type
#define HEDDLE_WORD(T)  typename heddle_atomic_word<sizeof(T)>::type

template <class _To, class _From> HEDDLE_FN _To heddle_atomic_bits(const _From &from)
{
    _To to;
    static_assert(sizeof(_To) == sizeof(_From), "an atomic operation's operands differ in size");
    __builtin_memcpy(&to, &from, sizeof(to));
    return to;
}

/* One instruction in every scope, and in the orders that it has. */
#define HEDDLE_SCOPES(insn, order)                                                                 \
    if (scope <= __NV_THREAD_SCOPE_BLOCK)                                                          \
        insn(order, ".cta");                                                                       \
    else if (scope == __NV_THREAD_SCOPE_CLUSTER)                                                   \
        insn(order, HEDDLE_CLUSTER);                                                               \
    else if (scope == __NV_THREAD_SCOPE_DEVICE)                                                    \
        insn(order, ".gpu");                                                                       \
    else                                                                                           \
        insn(order, ".sys")
#define HEDDLE_RMW_ORDERS(insn)                                                                    \
    if (order == __NV_ATOMIC_RELAXED) {                                                            \
        HEDDLE_SCOPES(insn, ".relaxed");                                                           \
    } else if (order == __NV_ATOMIC_RELEASE) {                                                     \
        HEDDLE_SCOPES(insn, ".release");                                                           \
    } else if (order == __NV_ATOMIC_ACQ_REL) {                                                     \
        HEDDLE_SCOPES(insn, ".acq_rel");                                                           \
    } else {                                                                                       \
        HEDDLE_SCOPES(insn, ".acquire");                                                           \
    }

#define HEDDLE_FENCE(order, scope) __asm__ __volatile__("fence" order scope ";" ::: "memory")
HEDDLE_FN void __nv_atomic_thread_fence(int order, int scope HEDDLE_SYS)
{
    if (order == __NV_ATOMIC_SEQ_CST) {
        HEDDLE_SCOPES(HEDDLE_FENCE, ".sc");
    } else if (order != __NV_ATOMIC_RELAXED) {
        HEDDLE_SCOPES(HEDDLE_FENCE, ".acq_rel");
    }
}

/* What stands in front of a sequentially consistent operation, which is an acquiring one then. */
HEDDLE_FN void heddle_atomic_begin(int order, int scope)
{
    if (order == __NV_ATOMIC_SEQ_CST)
        __nv_atomic_thread_fence(order, scope);
}

#define HEDDLE_LOAD(order, scope)                                                                  \
    __asm__ __volatile__("ld" order scope HEDDLE_TYPE " %0, [%1];"                                 \
                         : HEDDLE_OUT(value)                                                       \
                         : "l"(ptr)                                                                \
                         : "memory")
#define HEDDLE_STORE(order, scope)                                                                 \
    __asm__ __volatile__("st" order scope HEDDLE_TYPE " [%0], %1;" ::"l"(ptr), HEDDLE_IN(value)    \
                         : "memory")
#define HEDDLE_ACCESS(Word)                                                                        \
    HEDDLE_FN void heddle_atomic_get(const volatile Word *ptr, Word *out, int order, int scope)    \
    {                                                                                              \
        HEDDLE_REG(value);                                                                         \
        heddle_atomic_begin(order, scope);                                                         \
        if (order == __NV_ATOMIC_RELAXED) {                                                        \
            HEDDLE_SCOPES(HEDDLE_LOAD, ".relaxed");                                                \
        } else {                                                                                   \
            HEDDLE_SCOPES(HEDDLE_LOAD, ".acquire");                                                \
        }                                                                                          \
        *out = (Word)value;                                                                        \
    }                                                                                              \
    HEDDLE_FN void heddle_atomic_set(volatile Word *ptr, Word word, int order, int scope)          \
    {                                                                                              \
        HEDDLE_REG(value) = word;                                                                  \
        heddle_atomic_begin(order, scope);                                                         \
        if (order == __NV_ATOMIC_RELEASE) {                                                        \
            HEDDLE_SCOPES(HEDDLE_STORE, ".release");                                               \
        } else {                                                                                   \
            HEDDLE_SCOPES(HEDDLE_STORE, ".relaxed");                                               \
        }                                                                                          \
    }
#define HEDDLE_EXCHANGE(order, scope)                                                              \
    __asm__ __volatile__("atom" order scope ".exch" HEDDLE_TYPE " %0, [%1], %2;"                   \
                         : HEDDLE_OUT(old)                                                         \
                         : "l"(ptr), HEDDLE_IN(value)                                              \
                         : "memory")
#define HEDDLE_EXCHANGES(Word)                                                                     \
    HEDDLE_FN Word heddle_atomic_swap(volatile Word *ptr, Word word, int order, int scope)         \
    {                                                                                              \
        HEDDLE_REG(value) = word;                                                                  \
        HEDDLE_REG(old);                                                                           \
        heddle_atomic_begin(order, scope);                                                         \
        HEDDLE_RMW_ORDERS(HEDDLE_EXCHANGE)                                                         \
        return (Word)old;                                                                          \
    }
#define HEDDLE_SELECT(order, scope)                                                                \
    __asm__ __volatile__("atom" order scope ".cas" HEDDLE_TYPE " %0, [%1], %2, %3;"                \
                         : HEDDLE_OUT(old)                                                         \
                         : "l"(ptr), HEDDLE_IN(wanted), HEDDLE_IN(value)                           \
                         : "memory")
#define HEDDLE_COMPARES(Word)                                                                      \
    HEDDLE_FN Word heddle_atomic_cas(volatile Word *ptr, Word compare, Word word, int order,       \
                                     int scope)                                                    \
    {                                                                                              \
        HEDDLE_REG(wanted) = compare;                                                              \
        HEDDLE_REG(value) = word;                                                                  \
        HEDDLE_REG(old);                                                                           \
        heddle_atomic_begin(order, scope);                                                         \
        HEDDLE_RMW_ORDERS(HEDDLE_SELECT)                                                           \
        return (Word)old;                                                                          \
    }

#define HEDDLE_TYPE      ".b8"
#define HEDDLE_REG(name) unsigned int name /* PTX has no registers of 8 bits */
#define HEDDLE_OUT(name) "=r"(name)
#define HEDDLE_IN(name)  "r"(name)
HEDDLE_ACCESS(unsigned char)
#undef HEDDLE_TYPE
#undef HEDDLE_REG
#undef HEDDLE_OUT
#undef HEDDLE_IN

#define HEDDLE_TYPE      ".b16"
#define HEDDLE_REG(name) unsigned short name
#define HEDDLE_OUT(name) "=h"(name)
#define HEDDLE_IN(name)  "h"(name)
HEDDLE_ACCESS(unsigned short)
HEDDLE_COMPARES(unsigned short)
#undef HEDDLE_TYPE
#undef HEDDLE_REG
#undef HEDDLE_OUT
#undef HEDDLE_IN

#define HEDDLE_TYPE      ".b32"
#define HEDDLE_REG(name) unsigned int name
#define HEDDLE_OUT(name) "=r"(name)
#define HEDDLE_IN(name)  "r"(name)
HEDDLE_ACCESS(unsigned int)
HEDDLE_EXCHANGES(unsigned int)
HEDDLE_COMPARES(unsigned int)
#undef HEDDLE_TYPE
#undef HEDDLE_REG
#undef HEDDLE_OUT
#undef HEDDLE_IN

#define HEDDLE_TYPE      ".b64"
#define HEDDLE_REG(name) unsigned long long name
#define HEDDLE_OUT(name) "=l"(name)
#define HEDDLE_IN(name)  "l"(name)
HEDDLE_ACCESS(unsigned long long)
HEDDLE_EXCHANGES(unsigned long long)
HEDDLE_COMPARES(unsigned long long)
#undef HEDDLE_TYPE
#undef HEDDLE_REG
#undef HEDDLE_OUT
#undef HEDDLE_IN
#undef HEDDLE_ACCESS
#undef HEDDLE_LOAD
#undef HEDDLE_STORE
#undef HEDDLE_EXCHANGES
#undef HEDDLE_EXCHANGE
#undef HEDDLE_COMPARES
#undef HEDDLE_SELECT

/* 16 bytes: clang's constraints know halves only. */
#define HEDDLE_LO(word)     ((unsigned long long)(word))
#define HEDDLE_HI(word)     ((unsigned long long)((word) >> 64))
#define HEDDLE_BOTH(lo, hi) ((unsigned __int128)(hi) << 64 | (lo))
#define HEDDLE_LOAD16(order, scope)                                                                \
    __asm__ __volatile__("{ .reg .b128 q; ld" order scope ".b128 q, [%2]; mov.b128 {%0, %1}, q; }" \
                         : "=l"(lo), "=l"(hi)                                                      \
                         : "l"(ptr)                                                                \
                         : "memory")
#define HEDDLE_STORE16(order, scope)                                                               \
    __asm__ __volatile__("{ .reg .b128 q; mov.b128 q, {%1, %2}; st" order scope                    \
                         ".b128 [%0], q; }" ::"l"(ptr),                                            \
                         "l"(HEDDLE_LO(word)), "l"(HEDDLE_HI(word))                                \
                         : "memory")
#define HEDDLE_EXCHANGE16(order, scope)                                                            \
    __asm__ __volatile__("{ .reg .b128 q, old; mov.b128 q, {%3, %4}; atom" order scope             \
                         ".exch.b128 old, [%2], q; mov.b128 {%0, %1}, old; }"                      \
                         : "=l"(lo), "=l"(hi)                                                      \
                         : "l"(ptr), "l"(HEDDLE_LO(word)), "l"(HEDDLE_HI(word))                    \
                         : "memory")
#define HEDDLE_SELECT16(order, scope)                                                              \
    __asm__ __volatile__("{ .reg .b128 c, q, old; mov.b128 c, {%3, %4}; mov.b128 q, {%5, %6}; "    \
                         "atom" order scope ".cas.b128 old, [%2], c, q; mov.b128 {%0, %1}, old; }" \
                         : "=l"(lo), "=l"(hi)                                                      \
                         : "l"(ptr), "l"(HEDDLE_LO(compare)), "l"(HEDDLE_HI(compare)),             \
                           "l"(HEDDLE_LO(word)), "l"(HEDDLE_HI(word))                              \
                         : "memory")
HEDDLE_FN void heddle_atomic_get(const volatile unsigned __int128 *ptr, unsigned __int128 *out,
                                 int order, int scope)
{
    unsigned long long lo, hi;
    heddle_atomic_begin(order, scope);
    if (order == __NV_ATOMIC_RELAXED) {
        HEDDLE_SCOPES(HEDDLE_LOAD16, ".relaxed");
    } else {
        HEDDLE_SCOPES(HEDDLE_LOAD16, ".acquire");
    }
    *out = HEDDLE_BOTH(lo, hi);
}
HEDDLE_FN void heddle_atomic_set(volatile unsigned __int128 *ptr, unsigned __int128 word, int order,
                                 int scope)
{
    heddle_atomic_begin(order, scope);
    if (order == __NV_ATOMIC_RELEASE) {
        HEDDLE_SCOPES(HEDDLE_STORE16, ".release");
    } else {
        HEDDLE_SCOPES(HEDDLE_STORE16, ".relaxed");
    }
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
HEDDLE_FN unsigned __int128 heddle_atomic_swap(volatile unsigned __int128 *ptr,
                                               unsigned __int128 word, int order, int scope)
{
    unsigned long long lo, hi;
    heddle_atomic_begin(order, scope);
    HEDDLE_RMW_ORDERS(HEDDLE_EXCHANGE16)
    return HEDDLE_BOTH(lo, hi);
}
HEDDLE_FN unsigned __int128 heddle_atomic_cas(volatile unsigned __int128 *ptr,
                                              unsigned __int128 compare, unsigned __int128 word,
                                              int order, int scope)
{
    unsigned long long lo, hi;
    heddle_atomic_begin(order, scope);
    HEDDLE_RMW_ORDERS(HEDDLE_SELECT16)
    return HEDDLE_BOTH(lo, hi);
}

/* Any type of 16 bytes that is aligned to them. */
template <bool is, class _Tp> struct heddle_atomic_if {};
template <class _Tp> struct heddle_atomic_if<true, _Tp> {
    typedef _Tp type;
};
#define HEDDLE_16(T)                                                                               \
    typename heddle_atomic_if<                                                                     \
        sizeof(T) == 16 && __alignof__(T) >= 16 && __is_trivially_copyable(T), T>::type
#define HEDDLE_ATOMIC16(suffix, scope)                                                             \
    template <class _Tp> HEDDLE_FN HEDDLE_16(_Tp) atomicExch##suffix(_Tp *address, _Tp value)      \
    {                                                                                              \
        return heddle_atomic_bits<_Tp>(heddle_atomic_swap(                                         \
            (unsigned __int128 *)address, heddle_atomic_bits<unsigned __int128>(value),            \
            __NV_ATOMIC_RELAXED, scope));                                                          \
    }                                                                                              \
    template <class _Tp>                                                                           \
    HEDDLE_FN HEDDLE_16(_Tp) atomicCAS##suffix(_Tp *address, _Tp compare, _Tp value)               \
    {                                                                                              \
        return heddle_atomic_bits<_Tp>(heddle_atomic_cas(                                          \
            (unsigned __int128 *)address, heddle_atomic_bits<unsigned __int128>(compare),          \
            heddle_atomic_bits<unsigned __int128>(value), __NV_ATOMIC_RELAXED, scope));            \
    }
HEDDLE_ATOMIC16(, __NV_THREAD_SCOPE_DEVICE)
HEDDLE_ATOMIC16(_block, __NV_THREAD_SCOPE_BLOCK)
HEDDLE_ATOMIC16(_system, __NV_THREAD_SCOPE_SYSTEM)
#undef HEDDLE_ATOMIC16
#undef HEDDLE_16
#endif
#undef HEDDLE_SELECT16
#undef HEDDLE_EXCHANGE16
#undef HEDDLE_STORE16
#undef HEDDLE_LOAD16
#undef HEDDLE_BOTH
#undef HEDDLE_HI
#undef HEDDLE_LO

template <class _Tp>
HEDDLE_FN void __nv_atomic_load(_Tp *ptr, HEDDLE_PLAIN(_Tp) * ret, int order, int scope HEDDLE_SYS)
{
    HEDDLE_WORD(_Tp) word;
    heddle_atomic_get((const volatile HEDDLE_WORD(_Tp) *)ptr, &word, order, scope);
    *ret = heddle_atomic_bits<HEDDLE_PLAIN(_Tp)>(word);
}
template <class _Tp>
HEDDLE_FN HEDDLE_PLAIN(_Tp) __nv_atomic_load_n(_Tp *ptr, int order, int scope HEDDLE_SYS)
{
    HEDDLE_PLAIN(_Tp) value;
    __nv_atomic_load(ptr, &value, order, scope);
    return value;
}
template <class _Tp>
HEDDLE_FN void __nv_atomic_store(_Tp *ptr, HEDDLE_PLAIN(_Tp) * val, int order, int scope HEDDLE_SYS)
{
    heddle_atomic_set((volatile HEDDLE_WORD(_Tp) *)ptr, heddle_atomic_bits<HEDDLE_WORD(_Tp)>(*val),
                      order, scope);
}
template <class _Tp>
HEDDLE_FN void __nv_atomic_store_n(_Tp *ptr, HEDDLE_PLAIN(_Tp) val, int order, int scope HEDDLE_SYS)
{
    __nv_atomic_store(ptr, &val, order, scope);
}
template <class _Tp>
HEDDLE_FN void __nv_atomic_exchange(_Tp *ptr, HEDDLE_PLAIN(_Tp) * val, HEDDLE_PLAIN(_Tp) * ret,
                                    int order, int scope HEDDLE_SYS)
{
    *ret = heddle_atomic_bits<HEDDLE_PLAIN(_Tp)>(
        heddle_atomic_swap((volatile HEDDLE_WORD(_Tp) *)ptr,
                           heddle_atomic_bits<HEDDLE_WORD(_Tp)>(*val), order, scope));
}
template <class _Tp>
HEDDLE_FN HEDDLE_PLAIN(_Tp)
    __nv_atomic_exchange_n(_Tp *ptr, HEDDLE_PLAIN(_Tp) val, int order, int scope HEDDLE_SYS)
{
    HEDDLE_PLAIN(_Tp) old;
    __nv_atomic_exchange(ptr, &val, &old, order, scope);
    return old;
}

/* The order that holds whether it succeeds or fails. */
HEDDLE_FN int heddle_atomic_stronger(int success, int failure)
{
    bool both = (success == __NV_ATOMIC_RELEASE || failure == __NV_ATOMIC_RELEASE) &&
                success != failure && success != __NV_ATOMIC_RELAXED &&
                failure != __NV_ATOMIC_RELAXED;
    int stronger = success > failure ? success : failure;
    return both && stronger < __NV_ATOMIC_ACQ_REL ? (int)__NV_ATOMIC_ACQ_REL : stronger;
}
/* A weak one may fail without a reason; this one never does. */
template <class _Tp>
HEDDLE_FN bool
__nv_atomic_compare_exchange(_Tp *ptr, HEDDLE_PLAIN(_Tp) * expected, HEDDLE_PLAIN(_Tp) * desired,
                             bool weak, int success_order, int failure_order, int scope HEDDLE_SYS)
{
    HEDDLE_WORD(_Tp) wanted = heddle_atomic_bits<HEDDLE_WORD(_Tp)>(*expected);
    HEDDLE_WORD(_Tp)
    old = heddle_atomic_cas((volatile HEDDLE_WORD(_Tp) *)ptr, wanted,
                            heddle_atomic_bits<HEDDLE_WORD(_Tp)>(*desired),
                            heddle_atomic_stronger(success_order, failure_order), scope);
    *expected = heddle_atomic_bits<HEDDLE_PLAIN(_Tp)>(old);
    return old == wanted;
}
template <class _Tp>
HEDDLE_FN bool __nv_atomic_compare_exchange_n(_Tp *ptr, HEDDLE_PLAIN(_Tp) * expected,
                                              HEDDLE_PLAIN(_Tp) desired, bool weak,
                                              int success_order, int failure_order,
                                              int scope HEDDLE_SYS)
{
    return __nv_atomic_compare_exchange(ptr, expected, &desired, weak, success_order, failure_order,
                                        scope);
}

/*
 * Arithmetic by type: what PTX calls the type and the constraint of its register. Enumerations of
 * long are those of int or long long, by size.
 */
#define HEDDLE_FETCH(order, scope)                                                                 \
    __asm__ __volatile__("atom" order scope HEDDLE_OP " %0, [%1], %2;"                             \
                         : HEDDLE_OUT(old)                                                         \
                         : "l"(ptr), HEDDLE_IN(value)                                              \
                         : "memory")
#define HEDDLE_FETCH_FN(op, T)                                                                     \
    HEDDLE_FN T heddle_atomic_##op(volatile T *ptr, T value, int order, int scope)                 \
    {                                                                                              \
        T old;                                                                                     \
        heddle_atomic_begin(order, scope);                                                         \
        HEDDLE_RMW_ORDERS(HEDDLE_FETCH)                                                            \
        return old;                                                                                \
    }
#define HEDDLE_OUT(name) "=r"(name)
#define HEDDLE_IN(name)  "r"(name)
#define HEDDLE_OP        ".add.u32"
HEDDLE_FETCH_FN(add, int)
HEDDLE_FETCH_FN(add, unsigned int)
#undef HEDDLE_OP
#define HEDDLE_OP ".and.b32"
HEDDLE_FETCH_FN(and, int)
HEDDLE_FETCH_FN(and, unsigned int)
#undef HEDDLE_OP
#define HEDDLE_OP ".or.b32"
HEDDLE_FETCH_FN(or, int)
HEDDLE_FETCH_FN(or, unsigned int)
#undef HEDDLE_OP
#define HEDDLE_OP ".xor.b32"
HEDDLE_FETCH_FN(xor, int)
HEDDLE_FETCH_FN(xor, unsigned int)
#undef HEDDLE_OP
#define HEDDLE_OP ".min.s32"
HEDDLE_FETCH_FN(min, int)
#undef HEDDLE_OP
#define HEDDLE_OP ".min.u32"
HEDDLE_FETCH_FN(min, unsigned int)
#undef HEDDLE_OP
#define HEDDLE_OP ".max.s32"
HEDDLE_FETCH_FN(max, int)
#undef HEDDLE_OP
#define HEDDLE_OP ".max.u32"
HEDDLE_FETCH_FN(max, unsigned int)
#undef HEDDLE_OP
#undef HEDDLE_OUT
#undef HEDDLE_IN
#define HEDDLE_OUT(name) "=l"(name)
#define HEDDLE_IN(name)  "l"(name)
#define HEDDLE_OP        ".add.u64"
HEDDLE_FETCH_FN(add, long long)
HEDDLE_FETCH_FN(add, unsigned long long)
#undef HEDDLE_OP
#define HEDDLE_OP ".and.b64"
HEDDLE_FETCH_FN(and, long long)
HEDDLE_FETCH_FN(and, unsigned long long)
#undef HEDDLE_OP
#define HEDDLE_OP ".or.b64"
HEDDLE_FETCH_FN(or, long long)
HEDDLE_FETCH_FN(or, unsigned long long)
#undef HEDDLE_OP
#define HEDDLE_OP ".xor.b64"
HEDDLE_FETCH_FN(xor, long long)
HEDDLE_FETCH_FN(xor, unsigned long long)
#undef HEDDLE_OP
#define HEDDLE_OP ".min.s64"
HEDDLE_FETCH_FN(min, long long)
#undef HEDDLE_OP
#define HEDDLE_OP ".min.u64"
HEDDLE_FETCH_FN(min, unsigned long long)
#undef HEDDLE_OP
#define HEDDLE_OP ".max.s64"
HEDDLE_FETCH_FN(max, long long)
#undef HEDDLE_OP
#define HEDDLE_OP ".max.u64"
HEDDLE_FETCH_FN(max, unsigned long long)
#undef HEDDLE_OP
#undef HEDDLE_OUT
#undef HEDDLE_IN
#define HEDDLE_OUT(name) "=f"(name)
#define HEDDLE_IN(name)  "f"(name)
#define HEDDLE_OP        ".add.f32"
HEDDLE_FETCH_FN(add, float)
#undef HEDDLE_OP
#undef HEDDLE_OUT
#undef HEDDLE_IN
#define HEDDLE_OUT(name) "=d"(name)
#define HEDDLE_IN(name)  "d"(name)
#define HEDDLE_OP        ".add.f64"
HEDDLE_FETCH_FN(add, double)
#undef HEDDLE_OP
#undef HEDDLE_OUT
#undef HEDDLE_IN
#undef HEDDLE_FETCH_FN
#undef HEDDLE_FETCH

/* The type whose instruction an operand's type has. */
template <class _Tp> struct heddle_atomic_number {
    typedef _Tp type;
};
template <> struct heddle_atomic_number<long> {
    typedef long long type;
};
template <> struct heddle_atomic_number<unsigned long> {
    typedef unsigned long long type;
};
#define HEDDLE_NUMBER(T) typename heddle_atomic_number<HEDDLE_PLAIN(T)>::type
#define HEDDLE_FETCH_BUILTIN(op, insn, operand)                                                    \
    template <class _Tp>                                                                           \
    HEDDLE_FN HEDDLE_PLAIN(_Tp)                                                                    \
        __nv_atomic_fetch_##op(_Tp *ptr, HEDDLE_PLAIN(_Tp) val, int order, int scope HEDDLE_SYS)   \
    {                                                                                              \
        HEDDLE_NUMBER(_Tp) number = (HEDDLE_NUMBER(_Tp))val;                                       \
        return (HEDDLE_PLAIN(_Tp))heddle_atomic_##insn((volatile HEDDLE_NUMBER(_Tp) *)ptr,         \
                                                       operand, order, scope);                     \
    }                                                                                              \
    template <class _Tp>                                                                           \
    HEDDLE_FN void __nv_atomic_##op(_Tp *ptr, HEDDLE_PLAIN(_Tp) val, int order,                    \
                                    int scope HEDDLE_SYS)                                          \
    {                                                                                              \
        (void)__nv_atomic_fetch_##op(ptr, val, order, scope);                                      \
    }
/* Integers wrap, also the smallest one's negative. */
HEDDLE_FN int heddle_atomic_negative(int x)
{
    return (int)(0u - (unsigned int)x);
}
HEDDLE_FN unsigned int heddle_atomic_negative(unsigned int x)
{
    return 0u - x;
}
HEDDLE_FN long long heddle_atomic_negative(long long x)
{
    return (long long)(0ull - (unsigned long long)x);
}
HEDDLE_FN unsigned long long heddle_atomic_negative(unsigned long long x)
{
    return 0ull - x;
}
HEDDLE_FN float heddle_atomic_negative(float x)
{
    return -x;
}
HEDDLE_FN double heddle_atomic_negative(double x)
{
    return -x;
}
HEDDLE_FETCH_BUILTIN(add, add, number)
HEDDLE_FETCH_BUILTIN(sub, add, heddle_atomic_negative(number))
HEDDLE_FETCH_BUILTIN(and, and, number)
HEDDLE_FETCH_BUILTIN(or, or, number)
HEDDLE_FETCH_BUILTIN(xor, xor, number)
HEDDLE_FETCH_BUILTIN(min, min, number)
HEDDLE_FETCH_BUILTIN(max, max, number)
#undef HEDDLE_FETCH_BUILTIN
#undef HEDDLE_NUMBER

#undef HEDDLE_RMW_ORDERS
#undef HEDDLE_SCOPES
#undef HEDDLE_FENCE
#undef HEDDLE_CLUSTER
#undef HEDDLE_WORD
#undef HEDDLE_PLAIN
#undef HEDDLE_SYS
#undef HEDDLE_FN

#endif
#endif
