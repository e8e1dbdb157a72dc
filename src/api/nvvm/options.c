/* Options, as the manual lists them. */
#include <string.h>

#include "api/nvvm/program.h"
#include "base/compiler.h"

struct option {
    const char *name; /* with its '=' when it has a value */
    size_t flag;      /* of struct nv_options; NOTHING: checked and without effect */
    bool when;        /* the flag is set for -name=<when> */
};

#define NOTHING    SIZE_MAX
#define FLAG(name) offsetof(struct nv_options, name)

/* Debug information goes with the module's metadata; -g and the like ask for what is there. */
static const struct option options[] = {
    {"-gen-lto", FLAG(lto), true},
    {"-opt=", FLAG(plain), false},
    {"-ftz=", FLAG(ftz), true},
    {"-prec-sqrt=", FLAG(fast_sqrt), false},
    {"-prec-div=", FLAG(fast_div), false},
    {"-fma=", FLAG(no_fma), false},
    {"-g", NOTHING, false},
    {"-generate-line-info", NOTHING, false},
};

bool nv_arch_read(const char *text, unsigned *out_cc, char *out_variant)
{
    static const char prefix[] = "compute_";
    uint64_t cc = 0;

    if (strncmp(text, prefix, strlen(prefix)) != 0)
        return false;
    const char *digits = text + strlen(prefix);
    size_t n = strspn(digits, "0123456789");
    char variant = digits[n];
    if (!n || !hd_str_to_u64((struct hd_str){digits, n}, 10, &cc) || cc < 50 || cc > 129 ||
        (variant && (digits[n + 1] || (variant != 'a' && variant != 'f'))))
        return false;
    *out_cc = (unsigned)cc;
    *out_variant = variant;
    return true;
}

static bool value(const struct option *option, struct nv_options *o, const char *word,
                  struct hd_buf *log)
{
    const char *text = word + strlen(option->name);
    bool is_opt = option->flag == FLAG(plain);

    if ((strcmp(text, "0") != 0 && strcmp(text, is_opt ? "3" : "1") != 0)) {
        hd_buf_printf(log, "libnvvm : error: '%s' is no value in %s\n", text, word);
        return false;
    }
    *(bool *)((char *)o + option->flag) = (*text != '0') == option->when;
    return true;
}

static bool word_read(struct nv_options *o, const char *word, struct hd_buf *log)
{
    if (!strncmp(word, "-arch=", strlen("-arch="))) {
        const char *value = word + strlen("-arch=");

        if (!nv_arch_read(value, &o->cc, &o->variant)) {
            hd_buf_printf(log, "libnvvm : error: '%s' is no architecture in %s\n", value, word);
            return false;
        }
        (void)snprintf(o->target, sizeof(o->target), "sm_%s", value + strlen("compute_"));
        return true;
    }
    for (size_t i = 0; i < HD_COUNT_OF(options); i++) {
        const struct option *option = &options[i];
        size_t len = strlen(option->name);

        if (option->name[len - 1] == '=' && !strncmp(word, option->name, len))
            return value(option, o, word, log);
        if (!strcmp(word, option->name)) {
            if (option->flag != NOTHING)
                *(bool *)((char *)o + option->flag) = option->when;
            return true;
        }
    }
    hd_buf_printf(log, "libnvvm : error: %s is an unsupported option", word);
    return false;
}

bool nv_options_read(struct nv_options *o, int n, const char *const *words, struct hd_buf *log)
{
    *o = (struct nv_options){.cc = 75, .target = "sm_75"}; /* as the vendor's of CUDA 13 */
    for (int i = 0; i < n; i++)
        if (!words[i] || !word_read(o, words[i], log))
            return false;
    return true;
}
