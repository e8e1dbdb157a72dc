/* Names that nvcc takes and clang alone refuses: src/clang/refused.c. */
#include <cstdio>
#include <vector>

/* ---- members of dependent base classes, called without `this->` */

template <class T> struct base_of {
    T value;
    template <class U> __device__ T initial(U u) const
    {
        return u + value;
    }
    template <int By> __device__ T plus(T a) const
    {
        return a + By;
    }
    __device__ static T twice(T a)
    {
        return 2 * a;
    }
};
#define CALL(f, ...)                                                                               \
    f(__VA_ARGS__) + 1
template <class T> struct derives : base_of<T> {
    template <class U> __device__ T sum(U n) const
    {
        T initial_value = 1; /* initial(n) */
        return initial_value + initial(n) + initial (n) + twice(n);
    }
    template <class U> __device__ T in_macro(U n) const
    {
        return CALL(initial,
                    n) +
               CALL(twice, n);
    }
    __device__ T in_lambda(T n) const
    {
        auto inner = [&](auto m) { return initial(m) + this->initial(m); };
        return inner(n) + base_of<T>::twice(n);
    }
};
__global__ void members(int *out)
{
    derives<int> d;
    d.value = 100;
    *out = d.sum(1) + 1000 * d.in_macro(2) + 1000000 * d.in_lambda(3);
}

/* ---- types without `typename` */

struct of_types {
    struct type {
        int v;
        __host__ __device__ type(int a, int b) : v(10 * a + b)
        {
        }
    };
    template <class U> struct of {
        typedef U type;
    };
};
template <class T> struct nests {
    typedef T type;
};
template <class T> __device__ int makes(int n)
{
    auto one = T::type(n, 1);
    auto two = nests<nests<T> >::type::type::type(n, 2);
    const typename T::type three = typename T::type(n, 3);
    return one.v + two.v + three.v + nests<int>::type(n);
}
__global__ void types(int *out)
{
    *out = makes<of_types>(1);
}

/* ---- variables of classes that are not literal, in constexpr functions of templates */

struct plain {
    int v;
    __host__ __device__ plain(int n) : v(n)
    {
    }
};
template <class T> struct sketch {
    T first;
    struct pair {
        int a, b;
        __host__ __device__ constexpr pair(int n) : a{n}, b{n + 1}
        {
            plain const c(n);
            a += c.v;
        }
    };
    __host__ constexpr int total(int n) const
    {
        if (n < 0) {
            return -1;
        }
        std::vector<int> all(n);
        int sum = 0;
        for (int i = 0; i < n; i++)
            all[i] = first + i;
        for (int v : all)
            sum += v;
        return sum;
    }
    __host__ __device__ constexpr int either(int n) const
    {
        if constexpr (sizeof(T) == 4) {
            plain const b = plain{n};
            return b.v + first;
        } else {
            return n;
        }
    }
    [[nodiscard]] __host__ __device__ static constexpr inline int listed(int n)
    {
        plain b{n};
        return b.v + 1;
    }
    constexpr int on_host(int n) const
    {
        plain b = n;
        return b.v + 2;
    }
    __device__ constexpr int later(int n) const;
};
template <class T> __device__ constexpr int sketch<T>::later(int n) const
{
    for (int i = 0; i < 2; i++) {
        plain last = {i};
        n += last.v;
    }
    return n;
}
template <class T> constexpr int calls(sketch<T> const &s, int n)
{
    return s.either(n);
}
constexpr int calls_more(int n)
{
    return calls(sketch<int>{7}, n) + sketch<int>::listed(n);
}
__global__ void variables(int *out, sketch<int> s)
{
    *out = s.either(3) + s.listed(4) + s.later(5) + sketch<int>::pair(6).a + calls_more(8);
}

/* ---- alignments that are calls: clang 19 crashes on them */

template <class T> __host__ __device__ constexpr T smaller(T a, T b)
{
    return a < b ? a : b;
}
template <class T> struct words {
    T *at;
    static __host__ __device__ constexpr size_t wanted() noexcept
    {
        return 16;
    }
    template <unsigned N> __host__ __device__ T load(int i) const
    {
        return *static_cast<T *>(__builtin_assume_aligned(
                   at + i, smaller<size_t>(sizeof(T) * N, wanted()))) +
               *(T *)__builtin_assume_aligned(this->at + i, 1 << 2) +
               *(T *)__builtin_assume_aligned(at + i, wanted() >> 1, sizeof(T) >> 9);
    }
};
__global__ void alignments(int *out, words<int> w)
{
    *out = w.load<8>(0);
}

/* ---- all of it */

static int *out, wrong;

static void want(const char *what, int value, int wanted)
{
    if (value != wanted) {
        printf("%s: %d, not %d\n", what, value, wanted);
        wrong++;
    }
}

static void want_out(const char *what, int wanted)
{
    cudaDeviceSynchronize();
    want(what, *out, wanted);
    *out = 0;
}

int main()
{
    cudaMallocManaged(&out, 256);
    members<<<1, 1>>>(out);
    want_out("members", 1 + 101 + 101 + 2 + 1000 * (102 + 1 + 4 + 1) + 1000000 * (103 + 103 + 6));
    types<<<1, 1>>>(out);
    want_out("types", 11 + 12 + 13 + 1);
    sketch<int> s{10};
    variables<<<1, 1>>>(out, s);
    want_out("variables", 13 + 5 + 6 + 12 + 15 + 9);
    want("a vector", s.total(3) + s.total(-1), 33 - 1);
    want("both sides", s.either(1) + s.on_host(20) + calls_more(2) + sketch<int>::pair(3).b, 11 + 22 + 12 + 4);
    out[16] = 7;
    words<int> w{out + 16};
    alignments<<<1, 1>>>(out, w);
    want_out("alignments", 21);
    want("alignments on the host", w.load<8>(0), 21);
    printf("%d wrong, %s\n", wrong, cudaGetErrorString(cudaDeviceSynchronize()));
    return wrong != 0;
}
