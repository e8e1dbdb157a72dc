/* vectors [--ptx] [FILTER]: runs every row on device 0 and prints its vectors; --ptx prints the
 * kernels instead.
 * FILTER keeps the rows whose name contains it. See silicon.h for the format. */
#include "silicon.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 128,
    BATCH = 48,
    CU_JIT_ERROR_LOG_BUFFER = 5,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
};

/* The few driver calls that are needed, with their public signatures. */
static struct {
    int (*init)(unsigned);
    int (*driver_version)(int *);
    int (*device_get)(int *, int);
    int (*device_name)(char *, int, int);
    int (*device_attribute)(int *, int, int);
    int (*primary_retain)(void **, int);
    int (*ctx_set)(void *);
    int (*ctx_sync)(void);
    int (*module_load)(void **, const void *, unsigned, int *, void **);
    int (*module_unload)(void *);
    int (*module_function)(void **, void *, const char *);
    int (*mem_alloc)(uint64_t *, size_t);
    int (*to_device)(uint64_t, const void *, size_t);
    int (*to_host)(void *, uint64_t, size_t);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
} cu;

static const struct {
    const char *name;
    void *slot;
} symbols[] = {
    {"cuInit", &cu.init},
    {"cuDriverGetVersion", &cu.driver_version},
    {"cuDeviceGet", &cu.device_get},
    {"cuDeviceGetName", &cu.device_name},
    {"cuDeviceGetAttribute", &cu.device_attribute},
    {"cuDevicePrimaryCtxRetain", &cu.primary_retain},
    {"cuCtxSetCurrent", &cu.ctx_set},
    {"cuCtxSynchronize", &cu.ctx_sync},
    {"cuModuleLoadDataEx", &cu.module_load},
    {"cuModuleUnload", &cu.module_unload},
    {"cuModuleGetFunction", &cu.module_function},
    {"cuMemAlloc_v2", &cu.mem_alloc},
    {"cuMemcpyHtoD_v2", &cu.to_device},
    {"cuMemcpyDtoH_v2", &cu.to_host},
    {"cuLaunchKernel", &cu.launch},
};

static uint64_t inputs[SIL_MAX_VECTORS][SIL_MAX_IN];
static uint64_t outputs[SIL_MAX_VECTORS][SIL_MAX_IN]; /* the first SIL_MAX_OUT count */
static uint64_t dev_in, dev_out;

/* ---- rows ---- */

unsigned sil_num_out(const char *sig)
{
    return (unsigned)(strchr(sig, ':') - sig);
}

unsigned sil_num_in(const char *sig)
{
    return (unsigned)strlen(strchr(sig, ':') + 1);
}

void sil_add_body(struct sil_rows *rows, enum sil_set set, const char *sig, const char *name,
                  const char *body)
{
    struct sil_row *row;

    if (rows->n == rows->cap) {
        rows->cap = rows->cap ? rows->cap * 2 : 256;
        rows->row = realloc(rows->row, rows->cap * sizeof(*rows->row));
        if (!rows->row)
            abort();
    }
    row = &rows->row[rows->n++];
    row->set = set;
    snprintf(row->sig, sizeof(row->sig), "%s", sig);
    snprintf(row->name, sizeof(row->name), "%s", name);
    snprintf(row->body, sizeof(row->body), "%s", body);
}

void sil_add(struct sil_rows *rows, enum sil_set set, const char *sig, const char *name)
{
    static const char *const in[] = {"", ", $a", ", $a, $b", ", $a, $b, $c", ", $a, $b, $c, $f"};
    char body[SIL_BODY_MAX];

    snprintf(body, sizeof(body), "%s $d%s;", name, in[sil_num_in(sig)]);
    sil_add_body(rows, set, sig, name, body);
}

/* ---- PTX text ---- */

struct text {
    char *buf;
    size_t len, cap;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    t->len += (size_t)vsnprintf(t->buf + t->len, t->cap - t->len, fmt, ap);
    va_end(ap);
    if (t->len >= t->cap)
        abort();
}

static unsigned bits_of(char letter)
{
    return letter == 'h' ? 16 : letter == 'w' ? 32 : 64;
}

static void put_body(struct text *t, const char *body)
{
    for (const char *p = body; *p; p++) {
        if (*p != '$') {
            put(t, "%c", *p);
            continue;
        }
        p++;
        put(t, "%%%c", *p);
    }
}

/* One kernel: load the inputs of vector [ctaid * BLOCK + tid], run the body, store the outputs. */
static void put_kernel(struct text *t, const struct sil_row *row, size_t index)
{
    static const char in_names[] = "abcf", out_names[] = "de";
    unsigned nin = sil_num_in(row->sig), nout = sil_num_out(row->sig);

    put(t, ".visible .entry row%zu(.param .u64 pin, .param .u64 pout)\n{\n", index);
    put(t,
        "  .reg .pred %%p, %%q;\n  .reg .b16 %%s<4>;\n  .reg .b32 %%t<8>, %%i, %%j, %%k, %%S;\n");
    put(t, "  .reg .b64 %%u<4>, %%I, %%O;\n  .shared .align 16 .b8 mem[%u];\n", BLOCK * 16);
    for (unsigned i = 0; i < nout; i++)
        put(t, "  .reg .b%u %%%c;\n", bits_of(row->sig[i]), out_names[i]);
    for (unsigned i = 0; i < nin; i++)
        put(t, "  .reg .b%u %%%c;\n", bits_of(row->sig[nout + 1 + i]), in_names[i]);
    put(t, "  mov.u32 %%i, %%tid.x;\n  mov.u32 %%j, %%ctaid.x;\n  mad.lo.u32 %%k, %%j, %u, %%i;\n",
        BLOCK);
    put(t, "  ld.param.u64 %%I, [pin];\n  ld.param.u64 %%O, [pout];\n");
    put(t, "  mad.wide.u32 %%I, %%k, %u, %%I;\n  mad.wide.u32 %%O, %%k, %u, %%O;\n", SIL_MAX_IN * 8,
        SIL_MAX_IN * 8);
    put(t, "  mov.u32 %%S, mem;\n  mad.lo.u32 %%S, %%i, 16, %%S;\n");
    for (unsigned i = 0; i < nin; i++)
        put(t, "  ld.global.b%u %%%c, [%%I+%u];\n", bits_of(row->sig[nout + 1 + i]), in_names[i],
            i * 8);
    for (unsigned i = 0; i < nout; i++)
        put(t, "  mov.b%u %%%c, 0;\n", bits_of(row->sig[i]), out_names[i]);
    put(t, "  ");
    put_body(t, row->body);
    put(t, "\n");
    for (unsigned i = 0; i < nout; i++)
        put(t, "  st.global.b%u [%%O+%u], %%%c;\n", bits_of(row->sig[i]), i * 8, out_names[i]);
    put(t, "  ret;\n}\n");
}

static void put_module(struct text *t, const struct sil_row *rows, size_t first, size_t n)
{
    const char *target = getenv("SILICON_TARGET");

    t->len = 0;
    put(t, ".version 8.1\n.target %s\n.address_size 64\n", target ? target : "sm_90");
    for (size_t i = first; i < first + n; i++)
        put_kernel(t, &rows[i], i);
}

/* ---- running ---- */

static void check(int status, const char *what)
{
    if (status == 0)
        return;
    fprintf(stderr, "vectors: %s failed: %d\n", what, status);
    exit(1);
}

static void driver_open(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), *ctx;
    char name[128] = "";
    int version, major, minor;

    if (!lib) {
        fprintf(stderr, "vectors: %s\n", dlerror());
        exit(1);
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *sym = dlsym(lib, symbols[i].name);

        if (!sym) {
            fprintf(stderr, "vectors: no %s\n", symbols[i].name);
            exit(1);
        }
        memcpy(symbols[i].slot, &sym, sizeof(sym));
    }
    check(cu.init(0), "cuInit");
    check(cu.driver_version(&version), "cuDriverGetVersion");
    check(cu.device_name(name, sizeof(name), 0), "cuDeviceGetName");
    check(cu.device_attribute(&major, 75, 0), "cuDeviceGetAttribute");
    check(cu.device_attribute(&minor, 76, 0), "cuDeviceGetAttribute");
    check(cu.primary_retain(&ctx, 0), "cuDevicePrimaryCtxRetain");
    check(cu.ctx_set(ctx), "cuCtxSetCurrent");
    check(cu.mem_alloc(&dev_in, sizeof(inputs)), "cuMemAlloc");
    check(cu.mem_alloc(&dev_out, sizeof(outputs)), "cuMemAlloc");
    printf("# %s, compute capability %d.%d, driver %d\n", name, major, minor, version);
}

static uint64_t truncated(uint64_t value, char letter)
{
    return letter == 'l' ? value : value & ((1ull << bits_of(letter)) - 1);
}

/* Values k of vectors [first, first + lanes): one operand of one vector, or of a whole warp. */
static void print_operand(uint64_t (*v)[SIL_MAX_IN], unsigned k, unsigned first, unsigned lanes,
                          char letter)
{
    for (unsigned i = first; i < first + lanes; i++)
        printf("%s%llx", k || i > first ? "," : "", (unsigned long long)truncated(v[i][k], letter));
}

static void print_row(const struct sil_row *row, unsigned n)
{
    unsigned nin = sil_num_in(row->sig), nout = sil_num_out(row->sig);
    unsigned lanes = row->set == SIL_WARP ? 32 : 1;

    printf("@%s|%s\n", row->name, row->sig);
    for (unsigned i = 0; i < n; i += lanes) {
        for (unsigned k = 0; k < nin; k++)
            print_operand(inputs, k, i, lanes, row->sig[nout + 1 + k]);
        printf("|");
        for (unsigned k = 0; k < nout; k++)
            print_operand(outputs, k, i, lanes, row->sig[k]);
        printf("\n");
    }
}

static int run_row(void *module, const struct sil_row *row, size_t index)
{
    unsigned n = sil_inputs(row, inputs);
    unsigned grid = (n + BLOCK - 1) / BLOCK;
    void *args[] = {&dev_in, &dev_out}, *function;
    char name[32];
    int status;

    snprintf(name, sizeof(name), "row%zu", index);
    memset(outputs, 0, sizeof(outputs));
    status = cu.module_function(&function, module, name);
    if (status == 0)
        status = cu.to_device(dev_in, inputs, sizeof(inputs));
    if (status == 0)
        status = cu.to_device(dev_out, outputs, sizeof(outputs));
    if (status == 0)
        status = cu.launch(function, grid, 1, 1, BLOCK, 1, 1, 0, NULL, args, NULL);
    if (status == 0)
        status = cu.ctx_sync();
    if (status == 0)
        status = cu.to_host(outputs, dev_out, sizeof(outputs));
    if (status == 0)
        print_row(row, n);
    else
        printf("# FAILED %s: error %d\n", row->name, status);
    fflush(stdout);
    return status;
}

static int load(struct text *t, void **out_module, char *log, size_t log_size)
{
    int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)log_size};

    log[0] = 0;
    return cu.module_load(out_module, t->buf, 2, options, values);
}

/* Runs rows [first, first + n) as one module; when it does not load, each row alone, so that
 * only the bad ones are lost. */
static unsigned run_batch(struct text *t, const struct sil_row *rows, size_t first, size_t n)
{
    char log[1024];
    void *module;
    unsigned failed = 0;

    put_module(t, rows, first, n);
    if (load(t, &module, log, sizeof(log)) == 0) {
        for (size_t i = first; i < first + n; i++)
            failed += run_row(module, &rows[i], i) != 0;
        cu.module_unload(module);
        return failed;
    }
    if (n == 1) {
        log[strcspn(log, "\n")] = 0;
        printf("# REFUSED %s: %s\n", rows[first].name, log);
        return 1;
    }
    for (size_t i = first; i < first + n; i++)
        failed += run_batch(t, rows, i, 1);
    return failed;
}

static void keep_matching(struct sil_rows *rows, const char *filter)
{
    size_t n = 0;

    for (size_t i = 0; i < rows->n; i++)
        if (strstr(rows->row[i].name, filter))
            rows->row[n++] = rows->row[i];
    rows->n = n;
}

int main(int argc, char **argv)
{
    struct sil_rows rows = {0};
    struct text t = {malloc(4u << 20), 0, 4u << 20};
    bool ptx_only = argc > 1 && !strcmp(argv[1], "--ptx");
    const char *filter = argc > 1 + ptx_only ? argv[1 + ptx_only] : "";
    unsigned failed = 0;

    if (!t.buf)
        return 1;
    sil_rows_int(&rows);
    sil_rows_float(&rows);
    sil_rows_cvt(&rows);
    sil_rows_warp(&rows);
    keep_matching(&rows, filter);
    if (ptx_only) {
        put_module(&t, rows.row, 0, rows.n);
        fputs(t.buf, stdout);
        return 0;
    }
    driver_open();
    for (size_t i = 0; i < rows.n; i += BATCH)
        failed += run_batch(&t, rows.row, i, rows.n - i < BATCH ? rows.n - i : BATCH);
    printf("# %zu rows, %u failed\n", rows.n, failed);
    free(t.buf);
    free(rows.row);
    return failed != 0;
}
