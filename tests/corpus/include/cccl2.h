/*
 * What CCCL 3 (CUDA 13) no longer has, for sources that are older: -include {tables}/include/cccl2.h.
 */
#ifndef CORPUS_CCCL2_H
#define CORPUS_CCCL2_H
namespace thrust {
template <typename T = void> struct identity {
    __host__ __device__ const T &operator()(const T &value) const
    {
        return value;
    }
};

template <> struct identity<void> {
    template <typename T> __host__ __device__ T &&operator()(T &&value) const
    {
        return static_cast<T &&>(value);
    }
};
} // namespace thrust
#endif
