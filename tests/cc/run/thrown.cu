/* Members of the C++ library that throw on the host: on the device they are as with nvcc, and what cannot be is a trap. */
#include <array>
#include <cstdio>
#include <optional>
#include <string_view>
#include <variant>

__global__ void use(int *out, int index)
{
    std::array<int, 3> array{1, 2, 4};
    std::optional<int> some;
    std::variant<int, float> either = 0.5f;
    if (index < 8)
        some = 8;
    const std::array<int, 3> &fixed = array;
    *out = array.at(index) + fixed.at(index - 1) + some.value() +
           std::string_view("\x10\x20", 2).at(index - 1) + (int)(2.0f * std::get<float>(either));
}

int main()
{
    int *out, host = 0;
    cudaMalloc(&out, sizeof(*out));
    use<<<1, 1>>>(out, 1);
    cudaMemcpy(&host, out, sizeof(host), cudaMemcpyDeviceToHost);
    use<<<1, 1>>>(out, 3); /* beyond the end */
    bool failed = cudaDeviceSynchronize() != cudaSuccess;
    bool right = host == 2 + 1 + 8 + 16 + 1 && failed;
    if (!right)
        printf("%d, %d\n", host, failed);
    printf("%s", right ? "all right\n" : "wrong\n");
    return !right;
}
