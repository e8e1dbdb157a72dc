/* Writes fat binaries for tests: mkimage OUT CODEC [KIND:ARCH[a|f]:FILE]...  with KIND ptx or
 * cubin. */
#include <stdio.h>
#include <string.h>

#include "obj/fatbin.h"

#define SOURCES_MAX 8

static enum obj_codec parse_codec(const char *text)
{
    for (enum obj_codec codec = OBJ_CODEC_RAW; codec < OBJ_CODEC_OPAQUE; codec++)
        if (!strcmp(text, obj_codec_text(codec)))
            return codec;
    return OBJ_CODEC_OPAQUE;
}

static bool parse_source(const char *text, struct obj_fatbin_source *source, struct hd_buf *file)
{
    const char *colon = strchr(text, ':');
    if (!colon)
        return false;
    char *end;
    source->kind = !strncmp(text, "ptx:", 4) ? OBJ_ENTRY_PTX : OBJ_ENTRY_CUBIN;
    source->arch = (unsigned)strtoul(colon + 1, &end, 10);
    source->variant = *end != ':' ? *end++ : '\0';
    if (*end != ':' || hd_file_read(end + 1, 1 << 24, file) != HD_OK)
        return false;
    source->version_major = 8;
    source->payload = file->ptr;
    source->size_B = file->len;
    return true;
}

int main(int argc, char **argv)
{
    struct obj_fatbin_source sources[SOURCES_MAX] = {0};
    struct hd_buf files[SOURCES_MAX] = {0}, out;
    if (argc < 3 || argc - 3 > SOURCES_MAX)
        return 2;
    for (int i = 3; i < argc; i++)
        if (!parse_source(argv[i], &sources[i - 3], &files[i - 3]))
            return 2;
    hd_buf_init(&out);
    bool written =
        obj_fatbin_write(sources, (size_t)argc - 3, parse_codec(argv[2]), &out) == HD_OK &&
        hd_file_write(argv[1], out.ptr, out.len) == HD_OK;
    hd_buf_fini(&out);
    for (int i = 0; i < SOURCES_MAX; i++)
        hd_buf_fini(&files[i]);
    return written ? 0 : 1;
}
