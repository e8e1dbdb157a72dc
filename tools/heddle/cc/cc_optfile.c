/* heddle cc: --options-file, as build systems write it for long command lines. */
#include "cc/cc_options.h"
#include "common/cli.h"

#include <stdlib.h>

#include "base/text/words.h"

/* A file that names itself ends here. */
#define NESTED_MAX 16
#define FILE_MAX_B ((size_t)16 << 20)

int cc_optfile_parse(struct cc_parse *p, const char *path)
{
    struct hd_buf text, word;
    struct cc_list words = {0};
    if (p->nested >= NESTED_MAX)
        return cc_usage("options files that name each other", path);
    hd_buf_init(&text);
    if (hd_file_read(path, FILE_MAX_B, &text) != HD_OK)
        return cc_usage("cannot read the options file", path);
    hd_buf_printf(&text, "%c", 0);
    if (text.failed)
        abort();
    hd_buf_init(&word);
    for (const char *at = text.ptr; hd_word_next(&at, &word);) {
        if (word.failed)
            abort();
        cc_list_add(&words, hd_buf_take(&word));
    }
    hd_buf_fini(&text);
    p->nested++;
    int rc = cc_parse_words(p, (int)words.len, (char **)(void *)words.at);
    p->nested--;
    return rc;
}
