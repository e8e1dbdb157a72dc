/*
 * A stand-in for libcudart that prints what a program registers: for testing what `heddle cc`
 * links, without a runtime.
 */
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

struct wrapper {
    int32_t magic, version;
    const void *fatbin;
    const void *const *parts;
};

EXPORT void **__cudaRegisterFatBinary(void *image);
EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
EXPORT void __cudaUnregisterFatBinary(void **handle);
EXPORT int __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                  int limit, void *a, void *b, void *c, void *d, int *e);
EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
                              size_t size, int constant, int global);
EXPORT unsigned __cudaPushCallConfiguration(void);
EXPORT int __cudaPopCallConfiguration(void);
EXPORT int cudaLaunchKernel(void);
EXPORT int cudaDeviceSynchronize(void);

static void *handle_word;

void **__cudaRegisterFatBinary(void *image)
{
    const struct wrapper *w = image;
    int parts = 0;
    while (w->version == 2 && w->parts[parts])
        parts++;
    printf("fatbin magic %x version %d parts %d\n", (unsigned)w->magic, w->version, parts);
    return &handle_word;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    printf("end %d\n", handle == &handle_word);
}

void __cudaUnregisterFatBinary(void **handle)
{
    printf("unregister %d\n", handle == &handle_word);
}

int __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                           int limit, void *a, void *b, void *c, void *d, int *e)
{
    printf("function %s %d\n", name, handle == &handle_word);
    return 0;
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
                       size_t size, int constant, int global)
{
    printf("variable %s ext %d size %zu constant %d\n", name, ext, size, constant);
}

unsigned __cudaPushCallConfiguration(void)
{
    return 0;
}

int __cudaPopCallConfiguration(void)
{
    return 0;
}

int cudaLaunchKernel(void)
{
    puts("launch");
    return 0;
}

int cudaDeviceSynchronize(void)
{
    return 0;
}
