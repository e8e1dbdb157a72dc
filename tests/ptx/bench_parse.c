/*
 * Speed of the PTX parser, next to a scan for newlines as the yardstick of what memory allows.
 *
 *     bench_ptx_parse [FILE.ptx...]      without files: about 20 MB of text in nvcc's style
 *
 * Prints MB per second of CPU time (all of it is one thread), best of five runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ptx/ptx.h"

#define RUNS         5
#define GENERATED_B  (20u << 20)
#define KERNEL_LINES 4000

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* One line of an unrolled loop; `i` varies register numbers and offsets. */
static void generate_line(struct hd_buf *buf, unsigned i)
{
    static const char *const lines[] = {
        "\tld.global.nc.f32 \t%%f%u, [%%rd%u+%u];\n",
        "\tfma.rn.f32 \t%%f%u, %%f%u, %%f%u, 0f3F800000;\n",
        "\tmad.lo.s32 \t%%r%u, %%r%u, %u, %%r7;\n",
        "\tsetp.ge.s32 \t%%p1, %%r%u, %%r%u; // %u\n",
        "\tmul.wide.s32 \t%%rd%u, %%r%u, %u;\n",
        "\t@%%p1 st.shared.v2.f32 \t[%%r%u], {%%f%u, %%f%u};\n",
        "\tadd.s64 \t%%rd%u, %%rd%u, %u;\n",
        "\tshl.b32 \t%%r%u, %%r%u, %u;\n",
    };
    unsigned a = i * 7 % 9000, b = i * 13 % 9000, c = i % 512;
    const char *line = lines[i % HD_COUNT_OF(lines)];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    hd_buf_printf(buf, line, a, b, c);
#pragma GCC diagnostic pop
}

static void generate(struct hd_buf *buf)
{
    hd_buf_puts(buf, ".version 9.0\n.target sm_120\n.address_size 64\n");
    for (unsigned kernel = 0; buf->len < GENERATED_B && !buf->failed; kernel++) {
        hd_buf_printf(buf,
                      "\n.visible .entry _Z6kernelPfi_%u(\n\t.param .u64 .ptr .align 1 "
                      "_Z6kernelPfi_%u_param_0\n)\n{\n\t.reg .pred \t%%p<2>;\n\t.reg .f32 "
                      "\t%%f<9000>;\n\t.reg .b32 \t%%r<9000>;\n\t.reg .b64 \t%%rd<9000>;\n\n",
                      kernel, kernel);
        for (unsigned i = 0; i < KERNEL_LINES; i++)
            generate_line(buf, i);
        hd_buf_printf(buf, "$L__BB%u_1:\n\tret;\n}\n", kernel);
    }
}

static size_t scan_lines(const char *text, size_t len)
{
    size_t lines = 0;
    const char *end = text + len;
    for (const char *p = text; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        lines++;
    return lines;
}

struct best {
    double scan_s, parse_s, check_s, print_s;
};

static void keep_best(double *best, double start)
{
    double took = now_s() - start;
    if (*best == 0 || took < *best)
        *best = took;
}

static bool run_once(const char *name, const struct hd_buf *text, struct best *best)
{
    struct hd_arena arena;
    struct hd_buf printed = {0};
    struct ptx_module *module;
    hd_arena_init(&arena);
    double start = now_s();
    volatile size_t lines = scan_lines(text->ptr, text->len);
    (void)lines;
    keep_best(&best->scan_s, start);
    start = now_s();
    enum hd_status status = ptx_parse(&arena, text->ptr, text->len, name, &module);
    keep_best(&best->parse_s, start);
    if (status == HD_OK) {
        start = now_s();
        status = ptx_check(module);
        keep_best(&best->check_s, start);
    }
    if (status == HD_OK) {
        start = now_s();
        ptx_print(module, &printed);
        keep_best(&best->print_s, start);
    }
    hd_buf_fini(&printed);
    hd_arena_fini(&arena);
    return status == HD_OK;
}

static bool bench(const char *name, const struct hd_buf *text)
{
    struct best best = {0};
    for (unsigned i = 0; i < RUNS; i++) {
        if (!run_once(name, text, &best)) {
            fprintf(stderr, "%s\n", hd_error_message());
            return false;
        }
    }
    double mb = 1e-6 * (double)text->len;
    printf("%-24s %8.2f MB: parse %6.1f MB/s, check %6.1f, print %6.1f, newline scan %7.1f\n", name,
           mb, mb / best.parse_s, mb / best.check_s, mb / best.print_s, mb / best.scan_s);
    return true;
}

int main(int argc, char **argv)
{
    bool pass = true;
    struct hd_buf text = {0};
    if (argc < 2) {
        generate(&text);
        pass = bench("generated", &text);
    }
    for (int i = 1; i < argc; i++) {
        hd_buf_clear(&text);
        if (hd_file_read(argv[i], 1u << 30, &text) != HD_OK) {
            fprintf(stderr, "%s\n", hd_error_message());
            pass = false;
            continue;
        }
        pass &= bench(argv[i], &text);
    }
    hd_buf_fini(&text);
    return pass ? 0 : 1;
}
