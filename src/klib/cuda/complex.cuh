/* Complex numbers, as elements of matrices, lines and sums. */
#ifndef KLIB_COMPLEX_CUH
#define KLIB_COMPLEX_CUH

#include "base.cuh"

namespace klib {

/* As the toolkit's float2 and double2 lie. */
template <class R> struct complex {
    R x, y;

    complex() = default;
    KLIB_BOTH complex(R re, R im = R(0)) : x(re), y(im)
    {
    }
    KLIB_DEVICE bool operator==(complex b) const
    {
        return x == b.x && y == b.y;
    }
};
template <class R> KLIB_DEVICE complex<R> operator+(complex<R> a, complex<R> b)
{
    return {a.x + b.x, a.y + b.y};
}
template <class R> KLIB_DEVICE complex<R> operator-(complex<R> a, complex<R> b)
{
    return {a.x - b.x, a.y - b.y};
}
template <class R> KLIB_DEVICE complex<R> operator*(complex<R> a, complex<R> b)
{
    return {multiply_add(a.x, b.x, -(a.y * b.y)), multiply_add(a.x, b.y, a.y * b.x)};
}
template <class R> KLIB_DEVICE complex<R> conjugate(complex<R> a)
{
    return {a.x, -a.y};
}
/* Four fused multiply-adds. */
template <class R> KLIB_DEVICE complex<R> multiply_add(complex<R> a, complex<R> b, complex<R> c)
{
    return {multiply_add(a.x, b.x, multiply_add(-a.y, b.y, c.x)),
            multiply_add(a.x, b.y, multiply_add(a.y, b.x, c.y))};
}

template <class R> struct sum_type<complex<R>> {
    using type = complex<R>;
};

} // namespace klib

#endif
