/*
 * Compiles the kernels of PTX files in every launch class, without running them: which cannot be,
 * and what it costs. A tool, not a test: test_bounded.c and the suites around it assert.
 *
 *     compile_ptx [-p PATH] [-c CLASS] [-f FORM] [-k KERNEL] [-r N] [-v] [-n] [-q | -b] FILE.ptx ..
 *
 * One line per compilation: seconds, LLVM instructions and blocks made, instructions of the IR,
 * bytes of code, frame, warps at once, whether blocks begin in order, passes that did something; -r
 * compiles N times and tells the median, -v runs LLVM's verifier, -n leaves LLVM's part out, -q
 * makes quick code of every kernel, -b of none (else of those that take LLVM long, as a first
 * launch has it); with HEDDLE_DEBUG=llvm, post or asm the text follows. Ends with 1 when one could
 * not be compiled.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "compile.h"
#include "jit/jit_private.h"

#define MAX_TIMES 1000u

struct choice {
    int path, cls, form; /* -1 = all */
    const char *kernel;  /* NULL = all */
    bool verify, count_only;
    unsigned times;
    enum gen_effort effort;
};

static const char *const form_names[] = {"fast", "plain", "simple"};

/* Of this process on a CPU: code is generated on a thread of its own, others may be busy too. */
static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void result_free(struct gen_result *r)
{
    free(r->object);
    free(r->llvm_text);
    free(r->post_text);
    free(r->asm_text);
    *r = (struct gen_result){0};
}

/* Seconds: the median of several. */
static double compile_timed(const struct gen_request *req, unsigned times, struct gen_result *r,
                            enum hd_status *out_status)
{
    double seconds[MAX_TIMES];
    for (unsigned i = 0; i < times; i++) {
        double start = now_s();
        result_free(r);
        *out_status = jit_codegen(req, r);
        seconds[i] = now_s() - start;
    }
    qsort(seconds, times, sizeof(seconds[0]), compare);
    return seconds[times / 2];
}

static bool try_one(const struct ir_func *kernel, enum jit_path path, enum jit_launch_class cls,
                    enum gen_form form, const struct choice *c)
{
    const struct jit_job job = {.kernel = kernel,
                                .cls = cls,
                                .path = path,
                                .features = jit_features(path),
                                .effort = c->effort};
    struct gen_request req = jit_request(&job, (enum jit_form)form);
    req.verify = c->verify;
    req.count_only = c->count_only;
    struct gen_result r = {0};
    enum hd_status status = HD_OK;
    double seconds = compile_timed(&req, c->times, &r, &status);
    struct hd_buf fired;
    hd_buf_init(&fired);
    jit_passes_print(r.facts.fired, &fired);
    printf(
        "%-8s %-8s %-6s %-40.40s %7.4f s %7llu of %6llu ops %6llu blocks %8zu B frame %llu warps "
        "%u%s%s fired %s%s%s\n",
        jit_path_name(path), jit_launch_class_name(cls), form_names[form], kernel->name, seconds,
        (unsigned long long)r.work.llvm_instrs, (unsigned long long)r.work.ir_instrs,
        (unsigned long long)r.work.llvm_blocks, r.object_B, (unsigned long long)r.facts.frame_B,
        r.facts.warps, r.facts.in_order ? ", in order" : "", r.facts.quick ? " quick" : "",
        fired.ptr ? fired.ptr : "-", status == HD_OK ? "" : " FAILED ", r.error);
    if (r.llvm_text)
        puts(r.llvm_text);
    hd_buf_fini(&fired);
    if (r.post_text)
        puts(r.post_text);
    if (r.asm_text)
        puts(r.asm_text);
    fflush(stdout);
    result_free(&r);
    return status == HD_OK;
}

static bool try_kernel(const struct ir_func *kernel, const struct choice *c)
{
    bool ok = true;
    for (int path = JIT_GENERIC; path <= JIT_AVX512; path++) {
        for (int cls = 0; cls < JIT_CLASS_COUNT; cls++) {
            for (int form = GEN_FAST; form <= GEN_SIMPLE; form++) {
                if ((c->path >= 0 && c->path != path) || (c->cls >= 0 && c->cls != cls) ||
                    (c->form >= 0 && c->form != form))
                    continue;
                ok &= try_one(kernel, (enum jit_path)path, (enum jit_launch_class)cls,
                              (enum gen_form)form, c);
            }
        }
    }
    return ok;
}

static char *read_text(const char *name, size_t *out_len)
{
    FILE *f = fopen(name, "rb");
    char *text = NULL;
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    if (n >= 0 && (text = malloc((size_t)n + 1)))
        *out_len = fread(text, 1, (size_t)n, f);
    fclose(f);
    return text;
}

static bool try_file(const char *name, const struct choice *c)
{
    struct compile_unit unit = {.name = name};
    char *text = read_text(name, &unit.len);
    struct ir_module *module = NULL;
    bool ok = text != NULL;
    unit.ptx = text;
    double start = now_s();
    if (!text || compile_ptx(&unit, 1, NULL, OPT_TARGET_CPU, &module) != HD_OK) {
        printf("%s: %s\n", name, text ? hd_error_message() : "cannot be read");
        free(text);
        return false;
    }
    printf("%s: to IR in %.3f s\n", name, now_s() - start);
    ir_foreach_func(f, module) {
        if (f->is_kernel && !f->is_declaration && (!c->kernel || strstr(f->name, c->kernel)))
            ok &= try_kernel(f, c);
    }
    ir_module_destroy(module);
    free(text);
    return ok;
}

static int name_index(const char *name, const char *(*name_of)(int), int count)
{
    for (int i = 0; i < count; i++) {
        if (!strcmp(name, name_of(i)))
            return i;
    }
    fprintf(stderr, "compile_ptx: what is '%s'?\n", name);
    exit(2);
}

static const char *path_name(int i)
{
    return jit_path_name((enum jit_path)i);
}

static const char *class_name(int i)
{
    return jit_launch_class_name((enum jit_launch_class)i);
}

static const char *form_name(int i)
{
    return form_names[i];
}

int main(int argc, char **argv)
{
    struct choice c = {.path = -1, .cls = -1, .form = -1, .effort = GEN_SOON, .times = 1};
    bool ok = true;
    int opt;
    while ((opt = getopt(argc, argv, "p:c:f:k:r:vnqb")) != -1) {
        if (opt == 'p')
            c.path = name_index(optarg, path_name, JIT_AVX512 + 1);
        else if (opt == 'c')
            c.cls = name_index(optarg, class_name, JIT_CLASS_COUNT);
        else if (opt == 'f')
            c.form = name_index(optarg, form_name, GEN_SIMPLE + 1);
        else if (opt == 'k')
            c.kernel = optarg;
        else if (opt == 'r')
            c.times = HD_MIN(HD_MAX((unsigned)strtoul(optarg, NULL, 10), 1u), MAX_TIMES);
        else if (opt == 'v')
            c.verify = true;
        else if (opt == 'n')
            c.count_only = true;
        else if (opt == 'q')
            c.effort = GEN_QUICK;
        else if (opt == 'b')
            c.effort = GEN_BEST;
        else
            return 2;
    }
    for (int i = optind; i < argc; i++)
        ok &= try_file(argv[i], &c);
    return ok ? 0 : 1;
}
