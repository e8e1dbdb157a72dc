/* The options of nvJitLinkCreate(). */
#include <string.h>

#include "api/nvjitlink/nvjitlink.h"
#include "base/mem.h"

enum { ARCH_OLDEST = 50, ARCH_NEWEST = 121 };

/* What follows the name. */
enum form {
    PLAIN,  /* nothing */
    TEXT,   /* whatever */
    NUMBER, /* =N, not above `max` */
    TRUTH,  /* =0, =1, =true, =false */
    ARCH,   /* an architecture */
};

/* What has no row's effect is a hint to an optimiser or to a debugger's tables. */
enum effect { HINT, LTO, PTX, TIME, VERBOSE, KERNELS, VARIABLES, UNUSED };

static const struct row {
    const char *name;
    enum form form;
    unsigned max;
    enum effect effect;
} rows[] = {
    {"-arch=", ARCH, 0, HINT},
    {"-maxrregcount=", NUMBER, 65535, HINT},
    {"-time", PLAIN, 0, TIME},
    {"-verbose", PLAIN, 0, VERBOSE},
    {"-lto", PLAIN, 0, LTO},
    {"-ptx", PLAIN, 0, PTX},
    {"-O", NUMBER, 4, HINT},
    {"-g", PLAIN, 0, HINT},
    {"-lineinfo", PLAIN, 0, HINT},
    {"-ftz=", TRUTH, 0, HINT},
    {"-prec-div=", TRUTH, 0, HINT},
    {"-prec-sqrt=", TRUTH, 0, HINT},
    {"-fma=", TRUTH, 0, HINT},
    {"-fast-math", PLAIN, 0, HINT},
    {"-use_fast_math", PLAIN, 0, HINT},
    {"-kernels-used=", TEXT, 0, KERNELS},
    {"-variables-used=", TEXT, 0, VARIABLES},
    {"-optimize-unused-variables", PLAIN, 0, UNUSED},
    {"-Xptxas=", TEXT, 0, HINT},
    {"-Xnvvm=", TEXT, 0, HINT},
    {"-split-compile=", NUMBER, 65535, HINT},
    {"-split-compile-extended=", NUMBER, 65535, HINT},
    {"-split-compile", PLAIN, 0, HINT},
    {"-split-compile-extended", PLAIN, 0, HINT},
    {"-jump-table-density=", NUMBER, 101, HINT},
    {"-no-cache", PLAIN, 0, HINT},
    {"-device-stack-protector", PLAIN, 0, HINT},
    {"-relocatable-device-code=", TEXT, 0, HINT},
    {"-dlto", PLAIN, 0, LTO},
};

/* sm_90, sm_90a, compute_100f; 0 for what is none. */
static unsigned arch_read(const char *text)
{
    static const char *const prefixes[] = {"sm_", "compute_"};
    uint64_t cc = 0;

    for (size_t i = 0; i < HD_COUNT_OF(prefixes); i++) {
        size_t n = strlen(prefixes[i]),
               digits = strspn(text + n * !strncmp(text, prefixes[i], n), "0123456789");

        if (strncmp(text, prefixes[i], n) != 0 || !digits)
            continue;
        const char *rest = text + n + digits;
        if ((!*rest || (strchr("af", *rest) && !rest[1])) &&
            hd_str_to_u64((struct hd_str){text + n, digits}, 10, &cc) && cc < 1000)
            return (unsigned)cc;
    }
    return 0;
}

static bool number_fits(const char *text, unsigned max)
{
    uint64_t number;

    return hd_str_to_u64(hd_str_from(text), 10, &number) && number <= max;
}

static bool is_truth(const char *text)
{
    static const char *const words[] = {"0", "1", "false", "true"};

    for (size_t i = 0; i < HD_COUNT_OF(words); i++)
        if (!strcmp(text, words[i]))
            return true;
    return false;
}

/* A comma list. */
static bool names_add(jl_names *names, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, ",");
        char *name = hd_alloc(n + 1);

        if (!name || !hd_vec_push(names, name)) {
            hd_free(name);
            return false;
        }
        memcpy(name, text, n);
        name[n] = '\0';
        text += n + (text[n] == ',');
    }
    return true;
}

static nvJitLinkResult option_read(struct nvJitLink *link, const char *text)
{
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        const char *value = text + strlen(row->name);

        if (strncmp(text, row->name, strlen(row->name)) != 0 || (row->form == PLAIN && *value))
            continue;
        if (row->form == ARCH) {
            unsigned cc = arch_read(value);

            if (!cc)
                return jl_fail(link, NVJITLINK_ERROR_UNRECOGNIZED_OPTION,
                               "unrecognized architecture: %s", value);
            if (cc < ARCH_OLDEST || cc > ARCH_NEWEST)
                return jl_fail(link, NVJITLINK_ERROR_UNSUPPORTED_ARCH,
                               "unsupported architecture: %s (sm_%u to sm_%u)", value,
                               (unsigned)ARCH_OLDEST, (unsigned)ARCH_NEWEST);
            link->options.cc = cc;
            return NVJITLINK_SUCCESS;
        }
        if ((row->form == NUMBER && !number_fits(value, row->max)) ||
            (row->form == TRUTH && !is_truth(value)))
            continue;
        link->options.lto |= row->effect == LTO;
        link->options.ptx |= row->effect == PTX;
        link->options.time |= row->effect == TIME;
        link->options.verbose |= row->effect == VERBOSE;
        link->options.drops_variables |= row->effect == UNUSED;
        if ((row->effect == KERNELS && !names_add(&link->options.kernels, value)) ||
            (row->effect == VARIABLES && !names_add(&link->options.variables, value)))
            return jl_fail(link, NVJITLINK_ERROR_INTERNAL, "out of memory");
        return NVJITLINK_SUCCESS;
    }
    return jl_fail(link, NVJITLINK_ERROR_UNRECOGNIZED_OPTION, "unrecognized option: %s", text);
}

nvJitLinkResult jl_options_read(struct nvJitLink *link, uint32_t count, const char *const *options)
{
    for (uint32_t i = 0; i < count; i++) {
        nvJitLinkResult result = options[i] ? option_read(link, options[i])
                                            : jl_fail(link, NVJITLINK_ERROR_NULL_INPUT,
                                                      "option %u is a null pointer", i);

        if (result != NVJITLINK_SUCCESS)
            return result;
    }
    if (!link->options.cc)
        return jl_fail(link, NVJITLINK_ERROR_MISSING_ARCH,
                       "no -arch= option: add one, such as -arch=sm_90");
    if (link->options.ptx && !link->options.lto)
        return jl_fail(link, NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS, "-ptx needs -lto");
    return NVJITLINK_SUCCESS;
}
