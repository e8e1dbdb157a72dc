/*
 * What it takes from the text of PTX until its kernel has run, file by file in one process: the
 * first of them also pays for what a compiler sets up once. A kernel `.visible .entry NAME` has
 * the parameters (u64 results, u64 values, u32 n) and is run by blocks of 64 threads, which all do
 * the same: one, or BLOCKS.
 * usage: ptx [-b BLOCKS] FILE.ptx ..
 * output: start,ms (driver and context), then name,ms,results' checksum for each file
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 64, VALUES = 4096, NAME_MAX_B = 64 };

/* The driver API, of which nothing but this is needed. */
static struct {
    int (*init)(unsigned);
    int (*context_retain)(void **context, int device);
    int (*context_set)(void *context);
    int (*alloc)(uint64_t *va, size_t size_B);
    int (*to_device)(uint64_t va, const void *from, size_t size_B);
    int (*to_host)(void *to, uint64_t va, size_t size_B);
    int (*load)(void **module, const void *text);
    int (*function)(void **kernel, void *module, const char *name);
    int (*launch)(void *kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  unsigned shared_B, void *stream, void **params, void **extra);
    int (*wait)(void);
} cu;

static const struct {
    const char *name;
    void *place;
} calls[] = {{"cuInit", &cu.init},
             {"cuDevicePrimaryCtxRetain", &cu.context_retain},
             {"cuCtxSetCurrent", &cu.context_set},
             {"cuMemAlloc_v2", &cu.alloc},
             {"cuMemcpyHtoD_v2", &cu.to_device},
             {"cuMemcpyDtoH_v2", &cu.to_host},
             {"cuModuleLoadData", &cu.load},
             {"cuModuleGetFunction", &cu.function},
             {"cuLaunchKernel", &cu.launch},
             {"cuCtxSynchronize", &cu.wait}};

static void check(int status, const char *what)
{
    if (status) {
        fprintf(stderr, "ptx: %s: error %d\n", what, status);
        exit(2);
    }
}

static void driver_open(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *call = library ? dlsym(library, calls[i].name) : NULL;
        check(!call, calls[i].name);
        memcpy(calls[i].place, &call, sizeof(call));
    }
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static char *file_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text;
    long size_B;

    check(!f || fseek(f, 0, SEEK_END), path);
    size_B = ftell(f);
    rewind(f);
    text = calloc(1, (size_t)size_B + 1);
    check(!text || fread(text, 1, (size_t)size_B, f) != (size_t)size_B, path);
    fclose(f);
    return text;
}

static void kernel_name(const char *text, char *out)
{
    const char *entry = strstr(text, ".entry "), *name = entry ? entry + strlen(".entry ") : NULL;
    size_t length = name ? strcspn(name, " (\n") : 0;

    check(!length || length >= NAME_MAX_B, "no .entry");
    memcpy(out, name, length);
    out[length] = 0;
}

static uint64_t checksum(const uint64_t *values, int n)
{
    uint64_t sum = 1469598103934665603u;

    for (int i = 0; i < n; i++)
        sum = (sum ^ values[i]) * 1099511628211u;
    return sum;
}

struct arrays {
    uint64_t results, values; /* of the device */
    uint64_t host[VALUES];
};

static void arrays_init(struct arrays *a)
{
    check(cu.alloc(&a->results, sizeof(a->host)), "cuMemAlloc");
    check(cu.alloc(&a->values, sizeof(a->host)), "cuMemAlloc");
    for (uint64_t i = 0; i < VALUES; i++)
        a->host[i] = i * 0x9e3779b97f4a7c15u;
    check(cu.to_device(a->values, a->host, sizeof(a->host)), "cuMemcpyHtoD");
}

static void file_run(const char *path, unsigned blocks, struct arrays *a)
{
    static const uint64_t zeros[VALUES];
    char *text = file_text(path), name[NAME_MAX_B];
    void *module, *kernel;
    unsigned n = THREADS;
    void *params[] = {&a->results, &a->values, &n};
    double start_ms, ms;

    kernel_name(text, name);
    check(cu.to_device(a->results, zeros, sizeof(zeros)), "cuMemcpyHtoD");
    start_ms = now_ms();
    check(cu.load(&module, text), path);
    check(cu.function(&kernel, module, name), name);
    check(cu.launch(kernel, blocks, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL), "cuLaunchKernel");
    check(cu.wait(), name);
    ms = now_ms() - start_ms;
    check(cu.to_host(a->host, a->results, sizeof(a->host)), "cuMemcpyDtoH");
    printf("%s,%.3f,%016llx\n", name, ms, (unsigned long long)checksum(a->host, VALUES));
    free(text);
}

int main(int argc, char **argv)
{
    static struct arrays a;
    double start_ms = now_ms();
    unsigned blocks = 1;
    void *context;
    int first = 1;

    if (argc > 2 && !strcmp(argv[1], "-b")) {
        blocks = (unsigned)strtoul(argv[2], NULL, 10);
        first = 3;
    }

    driver_open();
    check(cu.init(0), "cuInit");
    check(cu.context_retain(&context, 0), "cuDevicePrimaryCtxRetain");
    check(cu.context_set(context), "cuCtxSetCurrent");
    printf("start,%.3f\n", now_ms() - start_ms);
    arrays_init(&a);
    for (int i = first; i < argc; i++)
        file_run(argv[i], blocks, &a);
    return 0;
}
