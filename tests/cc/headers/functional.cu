/*
 * nvfunctional: targets small and large, copies, moves, swaps and empty ones, on the host and in a kernel.
 * targets: 75 90
 * toolkit: no
 */
#include <nvfunctional>
#include <stdio.h>

#define BOTH __host__ __device__

struct adder {
    int by;
    BOTH int operator()(int x) const { return x + by; }
};
struct large {
    int table[40];
    BOTH large() { for (int i = 0; i < 40; i++) table[i] = i * i; }
    BOTH int operator()(int x) const { return table[x % 40]; }
};
struct counts {
    int *alive;
    BOTH explicit counts(int *a) : alive(a) { ++*alive; }
    BOTH counts(const counts &other) : alive(other.alive) { ++*alive; }
    BOTH ~counts() { --*alive; }
    BOTH int operator()(int x) const { return x * *alive; }
};
static BOTH int twice(int x) { return 2 * x; }

/* Bits of what is right. */
static BOTH unsigned int check()
{
    unsigned int r = 0;
    int alive = 0, seen = 3;
    nvstd::function<int(int)> f, g = adder{5}, h = large(), p = twice;
    r |= (!f && f == nullptr && g != nullptr) << 0;
    r |= (g(1) == 6 && h(7) == 49 && p(21) == 42) << 1;
    f = h;
    r |= (f(39) == 1521 && h(39) == 1521) << 2;
    f = static_cast<nvstd::function<int(int)> &&>(h);
    r |= (f(39) == 1521 && !h) << 3;
    swap(f, g);
    r |= (f(1) == 6 && g(5) == 25) << 4;
    f = [&seen](int x) { return x * seen; };
    seen = 10;
    r |= (f(4) == 40) << 5;
    {
        nvstd::function<int(int)> a = counts(&alive), b = a, c;
        c = b;
        r |= (alive == 3 && c(2) == 6) << 6;
        b = nullptr;
        r |= (alive == 2 && !b) << 7;
        a = adder{1};
        r |= (alive == 1) << 8;
    }
    r |= (alive == 0) << 9;
    nvstd::function<void(int &, const adder &)> v = [](int &x, const adder &a) { x = a(x); };
    v(seen, adder{32});
    r |= (seen == 42) << 10;
    return r;
}
static __global__ void kernel(unsigned int *out) { *out = check(); }

int main()
{
    unsigned int host = check(), device = 0, *out;
    cudaMalloc(&out, sizeof(*out));
    kernel<<<1, 1>>>(out);
    bool worked = cudaMemcpy(&device, out, sizeof(device), cudaMemcpyDeviceToHost) == cudaSuccess;
    printf("host %#x device %#x\n", host, device);
    bool right = worked && host == 0x7ff && device == 0x7ff;
    printf(right ? "all right\n" : "wrong\n");
    return !right;
}
