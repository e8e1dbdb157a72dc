/* Findings as XML, in the form of compute-sanitizer's: what --suppressions reads. */
#include "check/check.h"

#include <assert.h>
#include <string.h>

bool check_is_leak(const struct check_finding *f)
{
    return strcmp(f->kind, "leak") == 0 || strcmp(f->kind, "heap-leak") == 0;
}

bool check_is_race(const struct check_finding *f)
{
    return strcmp(f->tool, "racecheck") == 0;
}

const char *check_api(const struct check_finding *f)
{
    return f->nsides ? f->sides[0].name : f->call;
}

const char *check_xml_kind(const struct check_finding *f)
{
    static const char *const of_tool[][2] = {{"racecheck", "Race"},
                                             {"initcheck", "Initcheck"},
                                             {"synccheck", "Synccheck"},
                                             {"schedcheck", "Schedcheck"}};

    for (size_t i = 0; i < HD_COUNT_OF(of_tool); i++)
        if (strcmp(f->tool, of_tool[i][0]) == 0)
            return of_tool[i][1];
    if (f->call[0])
        return "Api";
    if (check_is_leak(f))
        return "Leak";
    return f->nactors ? "Precise" : "Imprecise";
}

const char *check_xml_level(const struct check_finding *f)
{
    static const char *const levels[] = {[SAN_INFO] = "Info",
                                         [SAN_WARNING] = "Warning",
                                         [SAN_ERROR] = "Error",
                                         [SAN_FATAL] = "Fatal"};

    assert(f->severity < HD_COUNT_OF(levels));
    return levels[f->severity];
}

/* What XML cannot have is left out; the reader of records took nothing but UTF-8. */
void check_xml_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        const char *stands = *text == '<'   ? "&lt;"
                             : *text == '>' ? "&gt;"
                             : *text == '&' ? "&amp;"
                                            : NULL;
        if (stands)
            fputs(stands, out);
        else if ((unsigned char)*text >= ' ' || *text == '\t' || *text == '\n')
            putc(*text, out);
    }
}

static void put_text(FILE *out, const char *name, const char *text)
{
    if (!text[0])
        return;
    fprintf(out, "<%s>", name);
    check_xml_text(out, text);
    fprintf(out, "</%s>\n", name);
}

static void put_number(FILE *out, const char *name, int64_t number)
{
    fprintf(out, "<%s>%lld</%s>\n", name, (long long)number, name);
}

static void put_hex(FILE *out, const char *name, uint64_t number)
{
    fprintf(out, "<%s>0x%llx</%s>\n", name, (unsigned long long)number, name);
}

static void put_index(FILE *out, const char *name, const uint32_t at[3])
{
    fprintf(out, "<%s>\n<x>%u</x>\n<y>%u</y>\n<z>%u</z>\n</%s>\n", name, at[0], at[1], at[2], name);
}

static void put_srcloc(const struct check_options *options, FILE *out,
                       const struct check_srcloc *srcloc)
{
    put_text(out, "func", check_demangle(srcloc->func, options->demangle));
    put_text(out, "path", srcloc->file);
    if (srcloc->file[0])
        put_number(out, "line", srcloc->line);
}

static void put_side(const struct check_options *options, FILE *out,
                     const struct check_actor *actor)
{
    assert(actor->nplaces);
    fputs("<where>\n", out);
    put_srcloc(options, out, &actor->srclocs[0]);
    put_hex(out, "pc", actor->pc);
    fputs("</where>\n<who>\n", out);
    put_index(out, "threadIdx", actor->thread);
    put_index(out, "blockIdx", actor->block);
    fputs("</who>\n", out);
    if (actor->nplaces < 2)
        return;
    fputs("<deviceStack>\n", out);
    for (size_t i = 0; i < actor->nplaces; i++) {
        fputs("<frame>\n", out);
        put_srcloc(options, out, &actor->srclocs[i]);
        fputs("</frame>\n", out);
    }
    fputs("</deviceStack>\n", out);
}

static void put_stack(const struct check_options *options, FILE *out, const struct check_finding *f)
{
    const struct check_stack *stack = check_host_stack(f);

    if (!stack->n || !(options->san.show_backtrace & SAN_BACKTRACE_HOST))
        return;
    fputs("<hostStack>\n", out);
    put_text(out, "saveLocation",
             f->host.n       ? "error"
             : f->launched.n ? "kernel launch time"
                             : "allocation time");
    for (size_t i = stack->n; i-- > 0;) { /* outermost first */
        const struct check_frame *frame = &stack->frames[i];
        fputs("<frame>\n", out);
        put_text(out, "func", check_demangle(check_frame_func(frame), options->demangle));
        put_text(out, "module", frame->module);
        put_hex(out, "pc", frame->pc);
        fputs("</frame>\n", out);
    }
    fputs("</hostStack>\n", out);
}

static void put_what(FILE *out, const struct check_finding *f)
{
    fputs("<what>\n", out);
    put_text(out, "text", f->title);
    put_text(out, "space", f->space);
    put_text(out, "direction", f->direction);
    if (f->size_B)
        put_number(out, "size", (int64_t)f->size_B);
    if (f->has_address)
        put_hex(out, "address", f->address);
    put_text(out, "api", check_api(f));
    put_text(out, "error", f->error);
    put_text(out, "message", f->message);
    if (f->call[0])
        put_number(out, "result", f->code);
    fputs("</what>\n", out);
}

void check_xml_begin(FILE *out)
{
    fputs("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<ComputeSanitizerOutput>\n", out);
}

void check_xml_finding(const struct check_options *options, const struct check_finding *f,
                       FILE *out)
{
    fputs("<record>\n", out);
    put_text(out, "kind", check_xml_kind(f));
    put_text(out, "level", check_xml_level(f));
    put_what(out, f);
    for (size_t i = 0; i < f->nactors; i++) {
        fputs(i ? "<other>\n" : "", out);
        put_side(options, out, &f->actors[i]);
        fputs(i ? "</other>\n" : "", out);
    }
    put_stack(options, out, f);
    fputs("</record>\n", out);
}

void check_xml_end(FILE *out)
{
    fputs("</ComputeSanitizerOutput>\n", out);
}

const struct check_stack *check_host_stack(const struct check_finding *f)
{
    return f->host.n ? &f->host : f->launched.n ? &f->launched : &f->allocated;
}
