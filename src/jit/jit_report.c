/* Writing and reading reports, and trying their kernels again: see report.h. */
#include "jit/report.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "jit/jit_private.h"
#include "obj/cache.h"

#define MAGIC        "heddle report 2"
#define REPORT_MAX_B ((size_t)256 << 20)

#ifndef HEDDLE_VERSION
#error "the build system gives the version"
#endif

/* Settings that change what is compiled or where it runs. Paths are the user's business. */
static const char *const settings[] = {"HEDDLE_CPU",     "HEDDLE_SKIP_PASS", "HEDDLE_FAULT",
                                       "HEDDLE_THREADS", "HEDDLE_DEVICE",    "HEDDLE_DEBUG",
                                       "HEDDLE_STRICT"};

/* ---- writing */

static void report_put_line(struct hd_buf *out, const char *name, const char *text)
{
    hd_buf_printf(out, "%s: ", name);
    for (; *text; text++)
        hd_buf_putc(out, *text == '\n' ? ' ' : *text);
    hd_buf_putc(out, '\n');
}

static void report_put_section(struct hd_buf *out, const char *name, struct hd_str text)
{
    hd_buf_printf(out, "%s: %zu\n", name, text.len);
    hd_buf_append(out, text.ptr, text.len);
    hd_buf_putc(out, '\n');
}

static void report_settings_text(char *out, size_t size_B)
{
    size_t len = 0;

    out[0] = 0;
    for (size_t i = 0; i < HD_COUNT_OF(settings) && len < size_B; i++) {
        const char *value = hd_env(settings[i]);
        if (value)
            len += (size_t)snprintf(out + len, size_B - len, "%s%s=%s", len ? " " : "", settings[i],
                                    value);
    }
}

static void report_cpu_text(char *out, size_t size_B)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    snprintf(out, size_B, "unknown");
    while (file && fgets(line, sizeof(line), file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon)
            continue;
        snprintf(out, size_B, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file)
        fclose(file);
}

static void report_text(const struct jit_job *job, const char *form, const char *why,
                        struct hd_buf *out)
{
    char cpu[128], set[512];
    struct hd_buf ir;

    assert(job->kernel->is_kernel && job->cls < JIT_CLASS_COUNT && job->features);
    report_cpu_text(cpu, sizeof(cpu));
    report_settings_text(set, sizeof(set));
    const struct {
        const char *version, *kernel, *launch_class, *path, *features, *strict, *cpu, *llvm,
            *settings, *form, *reason;
    } field = {HEDDLE_VERSION,
               job->kernel->name,
               jit_launch_class_name(job->cls),
               jit_path_name(job->path),
               job->features,
               job->strict ? "1" : "0",
               cpu,
               jit_llvm_identity(),
               set,
               form,
               why};
    hd_buf_puts(out, MAGIC "\n");
#define X(name, doc) report_put_line(out, #name, field.name);
    JIT_REPORT_FIELD_LIST(X)
#undef X
    hd_buf_init(&ir);
    ir_print_module(job->kernel->module, &ir);
    report_put_section(out, "ir", (struct hd_str){ir.ptr, ir.len});
    report_put_section(out, "ptx", hd_str_from(job->ptx));
    hd_buf_fini(&ir);
}

/* The kernel's name as far as it can be one of a file, then what tells reports apart. */
static void report_path(const struct jit_job *job, const char *dir, const char *ending,
                        const struct hd_buf *text, char *out, size_t size_B)
{
    struct obj_cache_hash hash;
    char name[48];
    size_t n = 0;

    for (const char *c = job->kernel->name; *c && n < sizeof(name) - 1; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= '0' && *c <= '9') || *c == '_';
        name[n++] = plain ? *c : '_';
    }
    name[n] = 0;
    obj_cache_hash_init(&hash);
    obj_cache_hash_bytes(&hash, text->ptr, text->len);
    snprintf(out, size_B, "%s/%s-%s-%s-%08x%s.heddle", dir, name, jit_launch_class_name(job->cls),
             jit_path_name(job->path), (uint32_t)obj_cache_hash_final(&hash).low, ending);
}

/* False: nothing was written; said once. */
static bool report_write(const struct jit_job *job, const char *form, const char *why,
                         const char *ending, char *out_path, size_t size_B)
{
    const char *dir = hd_env("HEDDLE_REPORT");
    struct hd_buf text;
    enum hd_status status;

    if (!dir)
        return false;
    if (mkdir(dir, 0777) && errno != EEXIST) {
        hd_log("HEDDLE_REPORT=%s: %s", dir, strerror(errno));
        return false;
    }
    hd_buf_init(&text);
    report_text(job, form, why, &text);
    report_path(job, dir, ending, &text, out_path, size_B);
    status = text.failed ? hd_error(HD_NO_MEMORY, "no memory for a report")
                         : hd_file_write(out_path, text.ptr, text.len);
    hd_buf_fini(&text);
    if (status != HD_OK)
        hd_log("HEDDLE_REPORT: %s", hd_error_message());
    return status == HD_OK;
}

void jit_report_begin(const struct jit_job *job, char out_path[JIT_REPORT_PATH_B])
{
    if (!report_write(job, "none", "the process ended while it compiled this kernel", ".crashed",
                      out_path, JIT_REPORT_PATH_B))
        out_path[0] = 0;
}

void jit_report_end(const char *path)
{
    if (path[0])
        unlink(path);
}

bool jit_report_failure(const struct jit_job *job, const struct jit_build *build,
                        char out_path[JIT_REPORT_PATH_B])
{
    assert(build->reason[0]);
    return report_write(job, jit_form_name(build->code.form), build->reason, "", out_path,
                        JIT_REPORT_PATH_B);
}

/* ---- reading */

struct reader {
    const char *at, *end;
    unsigned line;
};

static bool report_line_take(struct reader *r, struct hd_str *out)
{
    const char *stop = r->at < r->end ? memchr(r->at, '\n', (size_t)(r->end - r->at)) : NULL;

    if (!stop)
        return false;
    *out = (struct hd_str){r->at, (size_t)(stop - r->at)};
    r->at = stop + 1;
    r->line++;
    return true;
}

/* The value of a line "name: value". */
static enum hd_status report_field_take(struct reader *r, const char *name, struct hd_str *out)
{
    size_t n = strlen(name);

    assert(r->at <= r->end);
    if (!report_line_take(r, out) || out->len < n + 2 || memcmp(out->ptr, name, n) ||
        out->ptr[n] != ':' || out->ptr[n + 1] != ' ')
        return hd_error(HD_CORRUPT, "report, line %u: expected '%s: '", r->line, name);
    out->ptr += n + 2;
    out->len -= n + 2;
    return HD_OK;
}

static enum hd_status report_section_take(struct reader *r, const char *name, struct hd_str *out)
{
    uint64_t size_B;

    HD_TRY(report_field_take(r, name, out));
    if (!hd_str_to_u64(*out, 10, &size_B) || size_B >= (uint64_t)(r->end - r->at) ||
        r->at[size_B] != '\n')
        return hd_error(HD_CORRUPT, "report, line %u: section %s is cut off", r->line, name);
    *out = (struct hd_str){r->at, (size_t)size_B};
    r->at += size_B + 1;
    return HD_OK;
}

static enum hd_status report_parse(struct jit_report *report)
{
    struct reader r = {report->text.ptr, report->text.ptr + report->text.len, 0};
    struct hd_str first;

    if (!report_line_take(&r, &first) || first.len != strlen(MAGIC) ||
        memcmp(first.ptr, MAGIC, first.len))
        return hd_error(HD_BAD_VERSION, "not a report of this version: it does not start with '%s'",
                        MAGIC);
#define X(name, doc) HD_TRY(report_field_take(&r, #name, &report->name));
    JIT_REPORT_FIELD_LIST(X)
#undef X
#define X(name, doc) HD_TRY(report_section_take(&r, #name, &report->name));
    JIT_REPORT_SECTION_LIST(X)
#undef X
    return HD_OK;
}

enum hd_status jit_report_read(const char *path, struct jit_report *out_report)
{
    enum hd_status status;

    *out_report = (struct jit_report){0};
    hd_buf_init(&out_report->text);
    status = hd_file_read_kept(path, REPORT_MAX_B, &out_report->text);
    if (status == HD_OK)
        status = report_parse(out_report);
    if (status != HD_OK)
        jit_report_fini(out_report);
    return status;
}

void jit_report_fini(struct jit_report *report)
{
    hd_buf_fini(&report->text);
}

/* ---- trying again */

enum jit_launch_class jit_report_class(const struct jit_report *report)
{
    enum jit_launch_class cls = (enum jit_launch_class)0;

    while (cls < JIT_CLASS_COUNT && !hd_str_is(report->launch_class, jit_launch_class_name(cls)))
        cls++;
    return cls;
}

bool jit_report_path(const struct jit_report *report, enum jit_path *out_path)
{
    for (int p = JIT_GENERIC; p <= JIT_AVX512; p++) {
        if (!hd_str_is(report->path, jit_path_name((enum jit_path)p)))
            continue;
        *out_path = (enum jit_path)p;
        return true;
    }
    return false;
}

static const struct ir_func *report_find_kernel(const struct ir_module *module, struct hd_str name)
{
    ir_foreach_func(f, module) {
        if (f->is_kernel && !f->is_declaration && hd_str_is(name, f->name))
            return f;
    }
    return NULL;
}

enum hd_status jit_report_kernel(const struct jit_report *report, struct ir_module **out_module,
                                 const struct ir_func **out_kernel)
{
    HD_TRY(ir_read_module(report->ir.ptr, report->ir.len, "report", out_module));
    enum hd_status status = ir_validate(*out_module);
    if (status == HD_OK)
        status = ir_layout_windows(*out_module);
    *out_kernel = report_find_kernel(*out_module, report->kernel);
    if (status == HD_OK && !*out_kernel)
        status = hd_error(HD_CORRUPT, "report: its IR has no kernel '%.*s'",
                          (int)report->kernel.len, report->kernel.ptr);
    if (status != HD_OK)
        ir_module_destroy(*out_module);
    return status;
}

enum hd_status jit_replay_form(const struct jit_report *report, enum jit_path path,
                               const char *features, enum jit_form form,
                               struct jit_replay *out_replay)
{
    struct jit_job job = {.cls = jit_report_class(report),
                          .path = path,
                          .features = features,
                          .strict = hd_str_is(report->strict, "1"),
                          .form = form};
    struct jit_build *build;
    struct ir_module *module;

    *out_replay = (struct jit_replay){0};
    if (job.cls == JIT_CLASS_COUNT)
        return hd_error(HD_CORRUPT, "report: no launch class '%.*s'", (int)report->launch_class.len,
                        report->launch_class.ptr);
    HD_TRY(jit_report_kernel(report, &module, &job.kernel));
    uint64_t start = jit_now_us();
    enum hd_status status = jit_build_form(&job, form, &build);
    out_replay->time_us = jit_now_us() - start;
    out_replay->works = status == HD_OK;
    if (status == HD_OK)
        out_replay->object_B = build->result.object_B;
    else
        snprintf(out_replay->reason, sizeof(out_replay->reason), "%s", hd_error_message());
    jit_build_destroy(build);
    ir_module_destroy(module);
    return HD_OK;
}
