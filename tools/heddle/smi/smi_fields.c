/* Fields that are asked for by name, as lines of CSV. See smi.h. */
#include "smi/smi.h"

#include <assert.h>
#include <string.h>

#include "common/cli.h"

enum { VALUE_B = 320 };

struct field {
    const char *name, *other, *unit;
    /* False: the device does not tell. `p` is the process of a query of these. */
    bool (*get)(const struct smi *smi, const struct smi_gpu *g, const struct smi_process *p,
                char *text);
    const char *doc;
};

static bool give_number(int64_t value, char *text)
{
    if (value == SMI_NONE)
        return false;
    snprintf(text, VALUE_B, "%lld", (long long)value);
    return true;
}

static bool give_milli(int64_t value, char *text)
{
    if (value == SMI_NONE)
        return false;
    snprintf(text, VALUE_B, "%lld.%02lld", (long long)value / 1000, (long long)value % 1000 / 10);
    return true;
}

static bool give_text(int written)
{
    return written >= 0;
}

/* A row's expressions become a function of the row's line. */
#define TEXT(...)     give_text(snprintf(text, VALUE_B, __VA_ARGS__))
#define NUMBER(value) give_number((int64_t)(value), text)
#define MILLI(value)  give_milli((value), text)
#define NONE          false
#define JOIN_(a, b)   a##b
#define JOIN(a, b)    JOIN_(a, b)
#define X(name, other, unit, value, doc)                                                           \
    static bool JOIN(gpu_, __LINE__)(const struct smi *smi, const struct smi_gpu *g,               \
                                     const struct smi_process *p, char *text)                      \
    {                                                                                              \
        (void)smi, (void)g, (void)p, (void)text;                                                   \
        return value;                                                                              \
    }
#include "smi/smi_fields.def"
#undef X

static const struct field gpu_fields[] = {
#define X(name, other, unit, value, doc) {name, other, unit, JOIN(gpu_, __LINE__), doc},
#include "smi/smi_fields.def"
#undef X
};

#define X(name, other, unit, value, doc)                                                           \
    static bool JOIN(app_, __LINE__)(const struct smi *smi, const struct smi_gpu *g,               \
                                     const struct smi_process *p, char *text)                      \
    {                                                                                              \
        (void)smi, (void)g, (void)p, (void)text;                                                   \
        return value;                                                                              \
    }
#include "smi/smi_apps.def"
#undef X

static const struct field app_fields[] = {
#define X(name, other, unit, value, doc) {name, other, unit, JOIN(app_, __LINE__), doc},
#include "smi/smi_apps.def"
#undef X
};

static const struct {
    const struct field *fields;
    size_t count;
} queries[] = {
    [SMI_QUERY_GPU] = {gpu_fields, HD_COUNT_OF(gpu_fields)},
    [SMI_QUERY_APPS] = {app_fields, HD_COUNT_OF(app_fields)},
};

static const struct field *field_find(enum smi_query query, struct hd_str name)
{
    assert(query < HD_COUNT_OF(queries));
    for (size_t i = 0; i < queries[query].count; i++) {
        const struct field *f = &queries[query].fields[i];
        if (hd_str_is(name, f->name) || (*f->other && hd_str_is(name, f->other)))
            return f;
    }
    return NULL;
}

/* The next name of a comma list, without blanks around it; false: there is none. */
static bool next_name(const char **list, struct hd_str *out_name)
{
    const char *at = *list;

    if (!at || !*at)
        return false;
    at += strspn(at, " ");
    size_t len = strcspn(at, ",");
    *list = at[len] ? at + len + 1 : NULL;
    while (len && at[len - 1] == ' ')
        len--;
    *out_name = (struct hd_str){at, len};
    return true;
}

int smi_fields_check(enum smi_query query, const char *list)
{
    struct hd_str name;
    const char *rest = list;

    while (next_name(&rest, &name))
        if (!field_find(query, name)) {
            cli_error("there is no field '%.*s' (see `heddle smi --help-query-%s`)",
                      HD_STR_ARG(name), query == SMI_QUERY_GPU ? "gpu" : "compute-apps");
            return SMI_USAGE;
        }
    if (*list)
        return SMI_OK;
    cli_error("which fields?");
    return SMI_USAGE;
}

void smi_fields_heading(enum smi_query query, const char *list, FILE *out)
{
    struct hd_str name;
    const char *before = "";

    while (next_name(&list, &name)) {
        const struct field *f = field_find(query, name);
        assert(f); /* smi_fields_check() */
        const char *unit = f->unit;
        fprintf(out, "%s%.*s", before, HD_STR_ARG(name));
        if (*unit)
            fprintf(out, " [%s]", unit);
        before = ", ";
    }
    fputc('\n', out);
}

/* Readers split lines at commas, and nothing is quoted: values have none. */
static void drop_commas(char *text)
{
    char *to = text;

    for (; *text; text++)
        if (*text != ',')
            *to++ = *text;
    *to = '\0';
}

static void print_line(enum smi_query query, const char *list, const struct smi *smi,
                       const struct smi_gpu *g, const struct smi_process *p, bool has_units,
                       FILE *out)
{
    struct hd_str name;
    const char *before = "";
    char text[VALUE_B];

    while (next_name(&list, &name)) {
        const struct field *f = field_find(query, name);
        assert(f && (p || query == SMI_QUERY_GPU));
        bool is_known = f->get(smi, g, p, text);

        if (is_known)
            drop_commas(text);
        fprintf(out, "%s%s%s%s", before, is_known ? text : "[N/A]",
                is_known && has_units && *f->unit ? " " : "", is_known && has_units ? f->unit : "");
        before = ", ";
    }
    fputc('\n', out);
}

void smi_fields_print(enum smi_query query, const char *list, const struct smi *smi,
                      const struct smi_format *format, FILE *out)
{
    for (unsigned i = 0; i < smi->ngpus; i++) {
        const struct smi_gpu *g = &smi->gpus[i];

        if (query == SMI_QUERY_GPU)
            print_line(query, list, smi, g, NULL, format->has_units, out);
        for (unsigned j = 0; query == SMI_QUERY_APPS && j < g->nprocesses; j++)
            print_line(query, list, smi, g, &g->processes[j], format->has_units, out);
    }
}

void smi_fields_help(enum smi_query query, FILE *out)
{
    fprintf(out, "Fields of --query-%s, with other names for them:\n\n",
            query == SMI_QUERY_GPU ? "gpu" : "compute-apps");
    for (size_t i = 0; i < queries[query].count; i++) {
        const struct field *f = &queries[query].fields[i];

        fprintf(out, "  \"%s\"%s%s%s%s%s%s\n", f->name, *f->other ? " or \"" : "", f->other,
                *f->other ? "\"" : "", *f->unit ? ", in " : "", f->unit,
                *f->doc ? "" : ": not supported, or always the same");
        if (*f->doc)
            fprintf(out, "      %s\n", f->doc);
    }
}
