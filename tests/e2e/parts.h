/* What parts_a.cu and parts_b.cu share: virtual functions, and a template in both objects. */
struct shape {
    __device__ virtual int area()
    {
        return 1;
    }
    __device__ virtual ~shape()
    {
    }
};

__device__ shape *make_shape(int side);

template <class T> __device__ T instance(T x)
{
    static __device__ T sum = 5;
    return x == 1 ? sum += x : x + ++sum; /* 6, then 100 + 7 */
}
