#include "batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_CAP = 512 };

static void die(const char *what, const char *path)
{
    fprintf(stderr, "%s: %s\n", path, what);
    exit(2);
}

/* The whole file with a 0 behind it; the caller frees. */
static char *read_all(const char *path, size_t *out_len)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        die("cannot be read", path);
    long len = ftell(file);
    rewind(file);
    char *text = malloc((size_t)len + 1);
    if (!text || fread(text, 1, (size_t)len, file) != (size_t)len)
        die("cannot be read", path);
    fclose(file);
    text[len] = 0;
    *out_len = (size_t)len;
    return text;
}

static void write_record(FILE *file, bool ran, const void *bytes, size_t len)
{
    uint32_t head[2] = {ran, (uint32_t)len};
    fwrite(head, sizeof(head), 1, file);
    fwrite(bytes, 1, len, file);
    if (fflush(file))
        exit(2);
}

int batch_main(char **args, batch_open_fn *open, batch_run_fn *run, void *ctx)
{
    struct batch batch;
    size_t in_len;
    char *input = read_all(args[2], &in_len), why[WHY_CAP] = "";
    FILE *job = fopen(args[0], "r"), *file = fopen(args[3], "ab");
    batch.ptx = read_all(args[1], &batch.ptx_B);
    if (!job || fscanf(job, "%zu %zu %u", &batch.out_B, &batch.in_B, &batch.blocks) != 3)
        die("no job", args[0]);
    char *out = calloc(1, batch.out_B);
    if (!out || !file)
        die("cannot be written", args[3]);
    unsigned long first = strtoul(args[4], NULL, 10), i = 0;
    bool opened = open(ctx, &batch, why, sizeof(why));
    struct batch_kernel k = {.input = input};
    for (; fscanf(job, "%63s %u %u %u", k.name, &k.block[0], &k.block[1], &k.block[2]) == 4; i++) {
        k.input = input + i * batch.in_B;
        if (i < first)
            continue;
        if ((i + 1) * batch.in_B > in_len)
            die("too short", args[2]);
        memset(out, 0, batch.out_B);
        bool ran = opened && run(ctx, &k, out, why, sizeof(why));
        write_record(file, ran, ran ? out : why, ran ? batch.out_B : strlen(why));
    }
    fclose(job);
    fclose(file);
    free(out);
    free(input);
    free(batch.ptx);
    return 0;
}
