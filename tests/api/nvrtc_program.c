/*
 * What test_nvrtc_front.py starts again and again:
 *
 *     nvrtc_program compile FIRST COUNT [OPTION...]   programs with these numbers; prints "fine"
 *     nvrtc_program put FOLDER KEY FILE               an entry of a cache, with what is in FILE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvrtc.h"
#include "obj/cache.h"

static int compile(unsigned number, int noptions, const char *const *options)
{
    char source[256], *text;
    nvrtcProgram program;
    size_t size_B;

    snprintf(source, sizeof(source),
             "extern \"C\" __global__ void k(int *out)\n"
             "{ *out = max(3, %u) + (int)min(2.5f, *(float *)out) + threadIdx.x; }",
             number);
    if (nvrtcCreateProgram(&program, source, "program.cu", 0, NULL, NULL))
        return puts("no program");
    nvrtcResult result = nvrtcCompileProgram(program, noptions, options);
    if (nvrtcGetProgramLogSize(program, &size_B))
        return puts("no log");
    text = calloc(1, size_B + 1);
    if (nvrtcGetProgramLog(program, text) || *text)
        return printf("log: %s\n", text);
    free(text);
    if (result || nvrtcGetPTXSize(program, &size_B))
        return printf("result %d\n", (int)result);
    text = calloc(1, size_B + 1);
    if (nvrtcGetPTX(program, text) || !strstr(text, ".entry k(") || !strstr(text, "%tid.x"))
        return printf("no kernel in %s\n", text);
    free(text);
    return nvrtcDestroyProgram(&program);
}

static int put(const char *folder, const char *key_text, const char *file)
{
    struct obj_cache_key key = {0};
    struct obj_cache *cache;
    struct hd_buf bytes;
    unsigned long long high, low;

    hd_buf_init(&bytes);
    if (sscanf(key_text, "%16llx%16llx", &high, &low) != 2 ||
        obj_cache_open(folder, 0, &cache) != HD_OK ||
        hd_file_read(file, 64u << 20, &bytes) != HD_OK)
        return 1;
    key.high = high;
    key.low = low;
    if (obj_cache_put(cache, key, bytes.len ? bytes.ptr : "", bytes.len) != HD_OK)
        return 1;
    hd_buf_fini(&bytes);
    return puts("fine") < 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "put"))
        return put(argv[2], argv[3], argv[4]);
    if (argc < 4)
        return 2;
    unsigned first = (unsigned)strtoul(argv[2], NULL, 10);
    unsigned n = (unsigned)strtoul(argv[3], NULL, 10);
    for (unsigned i = first; i < first + n; i++)
        if (compile(i, argc - 4, (const char *const *)argv + 4))
            return 1;
    puts("fine");
    return 0;
}
