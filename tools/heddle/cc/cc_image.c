/* heddle cc -dlink -cubin: the linked image of objects, as cuModuleLoadData() takes it. */
#include "cc/cc.h"
#include "common/cli.h"

#include "linker/linker.h"

#include <stdio.h>

#define OBJECT_MAX_B ((size_t)1 << 31)

static enum hd_status read_one(const char *path, unsigned cc, struct obj_ptx_list *list)
{
    struct hd_buf bytes;
    hd_buf_init(&bytes);
    enum hd_status status = hd_file_read(path, OBJECT_MAX_B, &bytes);
    if (status == HD_OK) {
        enum linker_input kind = linker_input_detect(bytes.ptr, bytes.len);
        status = kind == LINKER_INPUT_COUNT
                     ? hd_error(HD_BAD_IMAGE, "%s: holds no device code that can be linked", path)
                     : linker_read(kind, bytes.ptr, bytes.len, path, cc, list);
    }
    hd_buf_fini(&bytes);
    return status;
}

static enum hd_status write_image(const struct obj_ptx_list *list, unsigned cc, bool lto,
                                  const char *output)
{
    const struct obj_used all_of_host = {0};
    struct hd_buf image, missing;
    hd_buf_init(&image);
    hd_buf_init(&missing);
    enum hd_status status =
        linker_image(list, cc, lto ? &all_of_host : NULL, NULL, &image, &missing);
    if (status == HD_OK)
        status = hd_file_write(output, image.ptr, image.len);
    else if (status == HD_UNRESOLVED)
        cli_error("%.*s", (int)missing.len - 1, missing.ptr); /* all of them, not only the first */
    hd_buf_fini(&image);
    hd_buf_fini(&missing);
    return status;
}

int cc_link_image(const struct cc_job *job, const struct cc_list *objects, const char *output)
{
    struct obj_ptx_list list = {0};
    unsigned cc = job->archs.at[0].cc;
    enum hd_status status = HD_OK;
    if (job->dryrun)
        return 0;
    for (size_t i = 0; i < objects->len && status == HD_OK; i++)
        status = read_one(objects->at[i], cc, &list);
    if (status == HD_OK)
        status = write_image(&list, cc, job->dlto, output);
    obj_ptx_list_fini(&list);
    if (status != HD_OK && status != HD_UNRESOLVED)
        cli_error("%s", hd_error_message());
    return status == HD_OK ? 0 : 1;
}
