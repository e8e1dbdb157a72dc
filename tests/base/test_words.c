/* Words as shells separate them. */
#include "base/text/words.h"
#include "tap.h"

static const struct {
    const char *text;
    const char *words; /* each ends with | */
} cases[] = {
    {"", ""},
    {" \t\r\n", ""},
    {"one", "one|"},
    {"  -O3\n\t-g ", "-O3|-g|"},
    {"'a b'c \"d 'e'\"", "a bc|d 'e'|"},
    {"a\\ b '\\n' \"\\\"\"", "a b|\\n|\"|"},
    {"\"\" ''", "||"},
    {"'open end", "open end|"},
    {"end\\", "end\\|"},
};

int main(void)
{
    for (size_t i = 0; i < HD_COUNT_OF(cases); i++) {
        const char *at = cases[i].text;
        struct hd_buf word, all;

        hd_buf_init(&word);
        hd_buf_init(&all);
        for (; hd_word_next(&at, &word); hd_buf_clear(&word))
            hd_buf_printf(&all, "%s|", word.ptr);
        eq_str(all.ptr ? all.ptr : "", cases[i].words, "words of '%s'", cases[i].text);
        hd_buf_fini(&word);
        hd_buf_fini(&all);
    }
    return done();
}
