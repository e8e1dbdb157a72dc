/* heddle cc: --options-file, as build systems write it for long command lines. */
#include "cc_options.h"
#include "cli.h"

#include <stdio.h>
#include <string.h>

/* A file that names itself ends here. */
#define NESTED_MAX 16
#define FILE_MAX_B ((size_t)16 << 20)

/*
 * The next word at *at, NULL at the end. Blanks separate; quotes of both kinds keep them, and a
 * backslash keeps what follows, except between single quotes.
 */
static char *next_word(const char **at)
{
    struct hd_buf word;
    const char *from = *at + strspn(*at, " \t\r\n");
    char quote = 0;
    hd_buf_init(&word);
    *at = from;
    if (!*from)
        return NULL;
    for (; *from && (quote || !strchr(" \t\r\n", *from)); from++) {
        if (quote ? *from == quote : (*from == '"' || *from == '\'')) {
            quote = quote ? 0 : *from;
            continue;
        }
        if (*from == '\\' && quote != '\'' && from[1])
            from++;
        hd_buf_printf(&word, "%c", *from);
    }
    *at = from;
    if (!word.len)
        hd_buf_printf(&word, "%s", ""); /* "" is a word, too */
    if (word.failed)
        abort();
    return hd_buf_take(&word);
}

int cc_optfile_parse(struct cc_parse *p, const char *path)
{
    struct hd_buf text;
    struct cc_list words = {0};
    char *word;
    if (p->nested >= NESTED_MAX)
        return cc_usage("options files that name each other", path);
    hd_buf_init(&text);
    if (hd_file_read(path, FILE_MAX_B, &text) != HD_OK)
        return cc_usage("cannot read the options file", path);
    hd_buf_printf(&text, "%c", 0);
    if (text.failed)
        abort();
    for (const char *at = text.ptr; (word = next_word(&at)) != NULL;)
        cc_list_add(&words, word);
    hd_buf_fini(&text);
    p->nested++;
    int rc = cc_parse_words(p, (int)words.len, (char **)(void *)words.at);
    p->nested--;
    return rc;
}
