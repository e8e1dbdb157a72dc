/* The device's printf: conversions, packing of arguments, bad formats, unreadable memory. */
#include "base/text/devprintf.h"
#include "tap.h"

static struct hd_buf out;

/* args: bytes as a compiler packs them. */
static const char *format(const char *fmt, const void *args)
{
    hd_buf_clear(&out);
    hd_devprintf(&out, NULL, (uintptr_t)fmt, (uintptr_t)args);
    return out.ptr ? out.ptr : "";
}

static void test_conversions(void)
{
    struct {
        int32_t i;
        uint32_t u;
        int64_t l;
        double d;
        const char *s;
        int32_t c;
        float pad;
        void *p;
    } a = {-5, 0xdeadbeef, -1234567890123, 3.25, "text", 'x', 0, (void *)0x10};
    eq_str(format("%d|%u|%ld|%g|%s|%c|%p\n", &a), "-5|3735928559|-1234567890123|3.25|text|x|0x10\n",
           "a packed buffer");
    eq_str(format("%5d|%-5u|", &(int32_t[]){-5, 7}), "   -5|7    |", "widths");
    eq_str(format("%08.3f|%+.2e", &(double[]){3.14159, 2000}), "0003.142|+2.00e+03", "precision");
    eq_str(format("%#x %X %o", &(int32_t[]){255, 255, 8}), "0xff FF 10", "bases");
    eq_str(format("%llu %lx %zu", &(uint64_t[]){1ull << 40, 255, 3}), "1099511627776 ff 3",
           "longs");
    eq_str(format("%hhd %hd", &(int32_t[]){257, 65537}), "1 1", "short forms");
    eq_str(format("[%*d][%.*f]", &(struct {
                      int32_t w, v, p;
                      double d;
                  }){4, 7, 1, 2.55}),
           "[   7][2.5]", "stars");
    eq_str(format("%-*d|", &(int32_t[]){4, 7}), "7   |", "star with flag");
    eq_str(format("100%% %y %", NULL), "100% %y %", "percent, unknown conversion, lone percent");
    eq_str(format("%s", &(uint64_t[]){0}), "(null)", "null string");
    eq_str(format("%.2s|%6s", &(const char *[]){"abcdef", "xyz"}), "ab|   xyz", "string precision");
}

static bool refuse(void *ctx, uint64_t address, void *bytes, size_t size_B)
{
    uint64_t limit = *(uint64_t *)ctx;
    if (address + size_B > limit)
        return false;
    memcpy(bytes, (void *)(uintptr_t)address, size_B);
    return true;
}

static void test_results(void)
{
    static const char text[] = "ab%d";
    uint64_t limit = (uintptr_t)text + 2;
    struct hd_devprintf_memory memory = {refuse, &limit};
    hd_buf_clear(&out);
    eq_u64((uint32_t)hd_devprintf(&out, &memory, (uintptr_t)text, 0), (uint32_t)-2, "unreadable");
    eq_str(out.ptr, "ab", "what came before stays");
    eq_u64((uint32_t)hd_devprintf(&out, NULL, 0, 0), (uint32_t)-1, "null format");
    int32_t args[] = {1, 2};
    eq_u64((uint32_t)hd_devprintf(&out, NULL, (uintptr_t)"%d %% %d", (uintptr_t)args), 2, "count");
}

int main(void)
{
    hd_buf_init(&out);
    test_conversions();
    test_results();
    hd_buf_fini(&out);
    return done();
}
