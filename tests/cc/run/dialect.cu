/* What nvcc takes and clang alone does not: src/clang/dialect.c, and virtual bases. */
#include <cstdio>
#include <cstring>

#if __has_include(<cuda/barrier>)
#include <cuda/barrier>
#include <cuda/pipeline>
#define LIBCUDACXX
#endif

#define LAUNCH(kernel, ...) kernel << <1, 1 >> > (__VA_ARGS__)

/* ---- launches */

__global__ void add(int *out, int what)
{
    if (blockIdx.x + blockIdx.y + threadIdx.x == 0)
        *out += what * gridDim.x * gridDim.y * blockDim.x;
}
template <int What> __global__ void add_constant(int *out)
{
    *out += What;
}
template <class T> struct stream {
    int shifted;
};
template <class T> stream<T> operator<<(stream<T> s, int by)
{
    return stream<T>{s.shifted << by};
}
template <class T> static void launch(int *out, T n)
{
    add << < dim3(1), 1 >> > (out, (int)n);
    add_constant<3> << <1, 1>> >(out);
    add<<<{1, 1, 1}, {1}, {0}, {}>>>(out, 10);
    cudaDeviceSynchronize();
}

/* ---- attributes and alignment */

struct counted {
    __host__ __device__ [[nodiscard]] int size() const
    {
        return 1;
    }
    __device__ [[deprecated("old")]] [[nodiscard]] static int old();
};
static __global__ __launch_bounds__(64) void first(int *out);
__launch_bounds__(64) static __global__ void first(int *out)
{
    __shared__ alignas(16) int b[4];
    alignas(32) static __shared__ char c[3];
    extern __shared__ __align__(64) int dynamic[];
    dynamic[0] = 5;
    b[0] = 1;
    c[0] = 2;
    *out = b[0] + c[0] + dynamic[0] + ((size_t)b % 16 == 0) + ((size_t)c % 32 == 0) +
           ((size_t)dynamic % 64 == 0) + counted().size();
}
__device__ [[nodiscard]] inline int unused(int x)
{
    return x;
}
template <typename T> __global__ [[maybe_unused]] static void templated(T *out)
{
    *out = (T)unused(4);
}

/* ---- memory of the launch that has a bound: nvcc warns, and takes it for as much as there is */

template <class T> __global__ void bounded(T *out)
{
    extern __shared__ volatile T rows[sizeof(T) > 1 ? 2 : 1][4];
    rows[3][1] = 30;
    rows[1][1] = 7;
    *out = rows[3][1] + rows[1][1] + sizeof(rows[0]);
}
__global__ void bounded_flat(int *out)
{
    alignas(16) __shared__ extern double flat[128], *lists[3];
    flat[127] = 1;
    *out = flat[127];
    static_assert(sizeof(flat[0]) == sizeof(lists[0]), "elements");
}

/* ---- constructors of variables in shared memory, which are not run */

struct initialised {
    int v = 7, w[2] = {1, 2};
};
struct empty {
    int v;
    __device__ empty()
    {
    }
};
struct full {
    int v;
    __device__ full() : v(3)
    {
    }
    __device__ ~full()
    {
        v = 5;
    }
};
template <class T, class U> struct pair_of {
    T a;
    U b;
    __device__ pair_of() : a(), b()
    {
    }
};
__shared__ initialised global_one;
namespace named {
static __shared__ initialised global_two[2];
}
template <class T> __device__ int *in_function()
{
    __shared__ T one, many[2][3];
    __shared__ alignas(64) pair_of<T, int> both[2];
    one.v = 1;
    many[1][2].v = 2;
    both[1].a.v = 4;
    auto copies = [=] { return one.v + (int)sizeof(many); };
    auto refers = [&] { return many[1][2].v++; };
    one.v = copies() - (int)sizeof(many) + refers() + ((size_t)both % 64 == 0) * 100;
    return &one.v;
}
template <class T> __global__ void shared(int *out)
{
    typedef T mine;
    __shared__ mine again;
    again.v = 1000;
    *out = *in_function<T>() + again.v;
}
__global__ void globals(int *out)
{
    global_one.v = 1;
    named::global_two[1].w[1] = 20;
    *out = global_one.v + named::global_two[1].w[1];
}
#if defined(LIBCUDACXX)
__global__ void barriers(int *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ cuda::std::atomic<int> atomic;
    __shared__ int copy[32];
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
        atomic.store(0);
    }
    __syncthreads();
    atomic.fetch_add(1);
    barrier.arrive_and_wait();
    *out = atomic.load() + (sizeof(state) > 0);
    copy[threadIdx.x] = 1;
}
#endif

/* ---- assembly */

__global__ void assembly(unsigned *out)
{
    unsigned lane, width, named, doubled;
    asm("mov.u32 %0, %laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%laneid;\n\t"
                 "add.u32 %0, %0, WARP_SZ; // 100% of it"
                 : "=r"(width));
    asm volatile("{ .reg .u32 %mine; mov.u32 %mine, %laneid; }" ::: "memory");
    asm volatile("{ .reg .u32 %mine; mov.u32 %mine, %laneid; }");
    asm("{\n\t.reg .u32 t1;\n\tmov.u32 t1, %ctaid.x;\n\tadd.u32 %0, t1, %1;\n\t}" : "=r"(named) : "r"(3));
    asm(R"({ .reg .u32 n; mov.u32 n, %ntid.x; mul.lo.u32 %0, %1, n; })" : "=r"(doubled) : "r"(2));
    out[threadIdx.x] = lane + width + named + doubled;
}

/* ---- static members of `this` in constant conditions */

struct of_base {
    static constexpr bool inherited = true;
};
template <class T> class chooses : of_base {
    static constexpr auto is_pair = sizeof(T) == sizeof(long long);
    enum { count = 3 };
    T value;

  public:
    __host__ __device__ constexpr explicit chooses(T v) : value(v)
    {
    }
    __host__ __device__ constexpr int first() const noexcept
    {
        static_assert(this->count == 3 && this -> inherited, "this->count");
        if constexpr (this->is_pair && (this->inherited)) {
            return value.x;
        } else {
            return value;
        }
    }
    __host__ __device__ int second()
    {
        auto inner = [this] {
            if constexpr (not this->is_pair)
                return this->value;
            else
                return this->value.y;
        };
        return inner();
    }
};
__global__ void conditions(int *out)
{
    chooses<int2> pair(make_int2(1, 20));
    chooses<int> one(300);
    *out = pair.first() + pair.second() + one.first() + one.second();
}

/* ---- templates of dependent classes, without the word */

enum class kind { no, yes };
template <class T> struct compares {
    template <kind What> __host__ __device__ int operator()(T a, T b) const
    {
        return What == kind::yes ? 10 + (a == b) : a == b;
    }
    template <int By> __host__ __device__ T plus(T a) const
    {
        return a + By;
    }
    template <class U> using other = compares<U>;
    __host__ __device__ bool operator<(const compares &) const;
};
template <class T> __host__ __device__ bool compares<T>::operator<(const compares &) const
{
    return false;
}
template <class T> struct calls {
    compares<T> compare;
    template <class V> __host__ __device__ int count(V v) const
    {
        typename compares<T>::other<V> same;
        auto const within = [&] {
            switch (this->compare.operator()<kind::yes>(v, 1)) {
            case 11:
                return 200;
            default:
                return 100;
            }
        }();
        return within + compare.operator () <kind::no>(v, 1) + (&compare)->plus<4>(v) +
               same.operator()<kind::yes>(v, v);
    }
};
__global__ void templates(int *out)
{
    *out = calls<int>().count(1);
}

/* ---- virtual bases */

struct base {
    int a;
    __device__ base(int v = 1) : a(v)
    {
    }
    __device__ virtual ~base();
    __device__ virtual int f()
    {
        return a;
    }
};
__device__ int destroyed;
__device__ base::~base()
{
    destroyed += a;
}
struct left : virtual base {
    int b;
    __device__ left() : base(2), b(3)
    {
    }
    __device__ ~left()
    {
        destroyed += 10;
    }
    __device__ int f() override
    {
        return a + 10 * b;
    }
};
struct right : virtual base {
    int c;
    __device__ right() : base(4), c(5)
    {
    }
    __device__ virtual ~right()
    {
        destroyed += 100;
    }
};
struct both : left, right {
    int d;
    __device__ both() : base(6), d(7)
    {
    }
    __device__ ~both()
    {
        destroyed += 1000;
    }
    __device__ int f() override
    {
        return left::f() + 100 * c + 1000 * d;
    }
};
__global__ void virtual_bases(int *out)
{
    base *p = new both;
    out[0] = p->f();
    delete p;
    right *q = new both;
    left *many = new left[2];
    out[1] = q->f() + many[1].f();
    delete q;
    delete[] many;
    out[2] = destroyed;
}

/* ---- all of it */

static int *out, wrong;

static void want(const char *what, int value)
{
    cudaError_t error = cudaDeviceSynchronize();
    if (*out != value || error != cudaSuccess) {
        printf("%s: %d, not %d: %s\n", what, *out, value, cudaGetErrorString(error));
        wrong++;
    }
    *out = 0;
}

int main()
{
    cudaMallocManaged(&out, 256);
    *out = 0;
    launch(out, 100.0);
    want("launches", 113);
    LAUNCH(add, out, 4);
    want("launch in a macro", 4);
    unsigned n = 2;
    int two = 2;
    add<<<{n, 2}, {two}>>>(out, 1);
    want("launch with lists", 8);
    if (strcmp("k << <1, 1 >> > (p); asm(\"%x\" : )", "k << <1, 1" " >> > (p); asm(\"%x\" : )") ||
        operator<< <int>(stream<int>{1}, 3).shifted != 8 || (stream<int>{1} << 2).shifted != 4) {
        puts("a string or an operator was changed");
        wrong++;
    }
    first<<<1, 1, 64>>>(out);
    want("alignment", 12);
    templated<int><<<1, 1>>>(out);
    want("attributes", 4);
    bounded<<<1, 1, 256>>>(out);
    want("memory of the launch with bounds", 53);
    bounded_flat<<<1, 1, 1024>>>(out);
    want("memory of the launch with one bound", 1);
    shared<initialised><<<1, 1>>>(out);
    want("default member initialisers", 1103);
    shared<empty><<<1, 1>>>(out);
    want("an empty constructor", 1103);
    shared<full><<<1, 1>>>(out);
    want("a constructor and a destructor", 1103);
    globals<<<1, 1>>>(out);
    want("outside of functions", 21);
#if defined(LIBCUDACXX)
    barriers<<<1, 32>>>(out);
    want("barriers", 33);
#endif
    assembly<<<1, 32>>>((unsigned *)out);
    cudaDeviceSynchronize();
    for (int i = 0; i < 32; i++)
        if (out[i] != i + 32 + i + 3 + 64)
            wrong++;
    templates<<<1, 1>>>(out);
    want("templates", 217);
    conditions<<<1, 1>>>(out);
    want("conditions", 621);
    if (chooses<int2>(make_int2(1, 2)).first() != 1 || chooses<int>(4).second() != 4)
        wrong++;
    virtual_bases<<<1, 1>>>(out);
    cudaDeviceSynchronize();
    if (out[0] != 7536 || out[1] != 7568 || out[2] != 2 * 1116 + 2 * 12) {
        printf("virtual bases: %d %d %d\n", out[0], out[1], out[2]);
        wrong++;
    }
    printf("%d wrong, %s\n", wrong, cudaGetErrorString(cudaDeviceSynchronize()));
    return wrong != 0;
}
