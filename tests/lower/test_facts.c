/*
 * How much value facts know of the PTX in this tree: figures of analysis/facts.h over all kernels,
 * optimised as every device is given them, for any launch and for whole warps in one dimension.
 * Golden, so that a rule that loses something is seen, and one that gains is worth a line.
 */
#include "golden.h"

#include "analysis/facts.h"
#include "base/clock.h"
#include "lower/lower.h"
#include "opt/opt.h"

static const char *root;

static const struct ir_launch_facts one_d = {
    .group = 32, .warps = 1, .extents = IR_BLOCK_1D, .full = true};

struct figures {
    struct facts_counts any, one_d;
    uint64_t visits, values, cut, given_up, ns;
};

static void count_func(const struct ir_func *func, const struct ir_launch_facts *launch,
                       struct facts_counts *counts, struct figures *all)
{
    struct hd_arena arena;
    struct facts f;

    hd_arena_init(&arena);
    const uint64_t start = hd_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const enum hd_status status = facts_compute(func, launch, &arena, &f);
    all->ns += hd_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
    if (status == HD_OK) {
        facts_count(&f, counts);
        all->visits += f.visits;
        all->values += f.nvalues;
        all->cut += f.forms_cut;
        all->given_up += f.loops_given_up;
    } else {
        ok(false, "%s: %s", func->name, hd_error_message());
    }
    hd_arena_fini(&arena);
}

static bool count_file(const char *path, struct figures *all)
{
    const struct opt_options options = {.target = OPT_TARGET_COMMON};
    struct ptx_module *ptx;
    const struct ptx_module *unit;
    struct ir_module *ir = NULL;
    struct hd_arena arena;
    struct hd_buf text;

    hd_arena_init(&arena);
    hd_buf_init(&text);
    bool good = hd_file_read(path, 1 << 24, &text) == HD_OK &&
                ptx_parse(&arena, text.ptr, text.len, path, &ptx) == HD_OK &&
                ptx_check(ptx) == HD_OK;
    unit = good ? ptx : NULL;
    good = good && lower_ptx(&unit, 1, "t", &ir) == HD_OK && opt_run(ir, &options) == HD_OK;
    if (!good)
        diag("%s: %s", path, hd_error_message());
    if (good) {
        ir_foreach_func(func, ir) {
            if (func->is_declaration)
                continue;
            count_func(func, NULL, &all->any, all);
            count_func(func, &one_d, &all->one_d, all);
        }
    }
    ir_module_destroy(ir);
    hd_buf_fini(&text);
    hd_arena_fini(&arena);
    return good;
}

static void make(const char *mode, const char *argument, const char *input, size_t len,
                 struct hd_buf *out)
{
    struct figures all = {0};

    for (const char *at = strchr(input, '\n') + 1; at < input + len;) {
        const char *end = memchr(at, '\n', (size_t)(input + len - at));
        char path[4096];
        end = end ? end : input + len;
        snprintf(path, sizeof(path), "%s/%.*s", root, (int)(end - at), at);
        if (end > at && !count_file(path, &all))
            hd_buf_printf(out, "%s is not read\n", path + strlen(root) + 1);
        at = end + 1;
    }
    hd_buf_printf(out, "%-10s %8s %8s\n", "", "any", "1d_full");
#define X(name, doc)                                                                               \
    hd_buf_printf(out, "%-10s %8llu %8llu  %s\n", #name, (unsigned long long)all.any.name,         \
                  (unsigned long long)all.one_d.name, doc);
    FACTS_COUNT_LIST(X)
#undef X
    hd_buf_printf(out, "visits     %8.2f per value\n", (double)all.visits / (double)all.values);
    hd_buf_printf(out, "cut        %8llu forms\n", (unsigned long long)all.cut);
    hd_buf_printf(out, "given up   %8llu loops\n", (unsigned long long)all.given_up);
    diag("%llu values, %.2f million a second", (unsigned long long)all.values,
         (double)all.values * 1e3 / (double)all.ns);
}

int main(int argc, char **argv)
{
    char path[4096];
    root = argc > 1 ? argv[1] : ".";
    snprintf(path, sizeof(path), "%s/tests/lower/facts.txt", root);
    golden_file(path, make);
    return done();
}
