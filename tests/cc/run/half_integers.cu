/* Integers to half in the directed modes: around every value that a half has, and beyond them. */
#include <climits>
#include <cstdio>
#include <cuda_fp16.h>

static int wrong;

/* Halves in order as integers. */
static int rank(__half h)
{
    __half_raw raw = h;
    return raw.x & 0x8000 ? -(raw.x & 0x7fff) : raw.x;
}

static void check(const char *name, double v, __half down, __half up, __half zero)
{
    double d = __half2float(down), u = __half2float(up), z = __half2float(zero);
    bool tight = d == u || rank(up) - rank(down) == 1;
    if (d <= v && v <= u && tight && z == (v < 0 ? u : d))
        return;
    if (wrong++ < 10)
        std::printf("%s of %g: %g %g %g\n", name, v, d, u, z);
}

#define CHECK(name, v) check(#name, (double)(v), __##name##2half_rd(v), __##name##2half_ru(v), __##name##2half_rz(v))

int main()
{
    for (int v = -70000; v <= 70000; v++) {
        CHECK(int, v);
        CHECK(ll, (long long)v);
        if (v >= 0) {
            CHECK(uint, (unsigned)v);
            CHECK(ull, (unsigned long long)v);
        }
        if (v >= SHRT_MIN && v <= SHRT_MAX)
            CHECK(short, (short)v);
        if (v >= 0 && v <= USHRT_MAX)
            CHECK(ushort, (unsigned short)v);
    }
    CHECK(int, INT_MIN);
    CHECK(ll, LLONG_MAX);
    CHECK(ull, ULLONG_MAX);
    std::puts(wrong ? "wrong" : "all right");
    return wrong != 0;
}
