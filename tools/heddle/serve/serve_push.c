/* Reading, keeping and writing what is pushed. See serve_push.h. */
#include "serve/serve_push.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "base/arena.h"
#include "base/text/json.h"
#include "base/map.h"
#include "base/mem.h"

/* name in both formats, what it is where a format does not have it, suffixes of its samples */
#define TYPE_LIST(X)                                                                               \
    X(counter, "counter", "counter", "_total _created ")                                           \
    X(gauge, "gauge", "gauge", "")                                                                 \
    X(histogram, "histogram", "histogram", "_bucket _sum _count _created ")                        \
    X(summary, "summary", "summary", "_sum _count _created ")                                      \
    X(untyped, "untyped", "unknown", "")                                                           \
    X(unknown, "untyped", "unknown", "")                                                           \
    X(info, "gauge", "info", "_info ")                                                             \
    X(stateset, "gauge", "stateset", "")                                                           \
    X(gaugehistogram, "untyped", "gaugehistogram", "_bucket _gsum _gcount ")

enum type {
#define X(name, text, open, suffixes) TYPE_##name,
    TYPE_LIST(X)
#undef X
        TYPE_COUNT
};

static const struct {
    const char *name, *text, *open, *suffixes;
} types[TYPE_COUNT] = {
#define X(name, text, open, suffixes) [TYPE_##name] = {#name, text, open, suffixes},
    TYPE_LIST(X)
#undef X
};

struct sample {
    const char *suffix; /* behind the family's name */
    const char *labels; /* sorted, as they are written; "" */
    const char *rest;   /* of a bucket: the labels without `le` */
    double bound;       /* of a bucket */
    double value;
    struct sample *next;
};

struct family {
    const char *name; /* a counter's without _total */
    enum type type;
    bool has_type;
    const char *help, *unit; /* NULL: none */
    struct sample *first, **last;
    struct family *next;
};

struct job {
    char *name; /* NULL: the place is free */
    uint64_t time_ns;
    struct hd_arena arena; /* below */
    struct family *first, **last;
    unsigned nsamples, nfamilies;
};

static struct {
    pthread_mutex_t lock;
    struct job jobs[PUSH_JOBS_MAX];
} pushed = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- reading: a cursor in one line */

struct reader {
    struct job *job;
    struct hd_map families, samples; /* by name; by name and labels */
    const char *at, *end;            /* what is left of the line */
    unsigned line;
    struct hd_str helped; /* a name that ends in _total, whose type is not known yet; */
    const char *help;     /* what it is */
    char *why;
};

static bool push_bad(struct reader *r, const char *format, ...) HD_PRINTF(2, 3);
static bool push_bad(struct reader *r, const char *format, ...)
{
    va_list args;
    int len = snprintf(r->why, PUSH_WHY_B, "line %u: ", r->line);

    assert(len > 0 && len < PUSH_WHY_B);
    va_start(args, format);
    (void)vsnprintf(r->why + len, PUSH_WHY_B - (size_t)len, format, args);
    va_end(args);
    return false;
}

static bool push_no_memory(struct reader *r)
{
    return push_bad(r, "out of memory");
}

static bool push_take_char(struct reader *r, char c)
{
    bool is = r->at < r->end && *r->at == c;

    assert(r->at <= r->end);
    r->at += is;
    return is;
}

static void push_skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
}

static struct hd_str push_take_word(struct reader *r)
{
    const char *begin = r->at;

    while (r->at < r->end && *r->at != ' ' && *r->at != '\t')
        r->at++;
    return (struct hd_str){begin, (size_t)(r->at - begin)};
}

static bool push_is_name_char(char c, bool is_first, bool with_colon)
{
    return isalpha((unsigned char)c) || c == '_' || (c == ':' && with_colon) ||
           (isdigit((unsigned char)c) && !is_first);
}

/* Of a metric, or of a label, which has no colons. An empty view: there is none. */
static struct hd_str push_take_name(struct reader *r, bool with_colon)
{
    const char *begin = r->at;

    while (r->at < r->end && push_is_name_char(*r->at, r->at == begin, with_colon))
        r->at++;
    size_t len = (size_t)(r->at - begin);
    return (struct hd_str){begin, len <= PUSH_NAME_MAX_B ? len : 0};
}

static bool push_is_ours(struct hd_str name)
{
    return hd_str_starts(name, "DCGM_") || hd_str_starts(name, "heddle_") ||
           hd_str_starts(name, "__");
}

/* ---- families */

static struct hd_str push_without_suffix(struct hd_str name, const char *suffix)
{
    size_t len = strlen(suffix);
    bool has = name.len > len && !memcmp(name.ptr + name.len - len, suffix, len);

    return (struct hd_str){name.ptr, name.len - (has ? len : 0)};
}

/* NULL after a message. */
static struct family *push_family_add(struct reader *r, struct hd_str name)
{
    struct family *f = hd_arena_new(&r->job->arena, struct family);

    if (++r->job->nfamilies > PUSH_FAMILIES_MAX) {
        push_bad(r, "more than %d metrics", PUSH_FAMILIES_MAX);
        return NULL;
    }
    f->name = hd_arena_strndup(&r->job->arena, name.ptr, name.len);
    f->type = TYPE_untyped;
    f->last = &f->first;
    assert(!*r->job->last);
    *r->job->last = f;
    r->job->last = &f->next;
    if (hd_map_put(&r->families, hd_str_from(f->name), f))
        return f;
    push_no_memory(r);
    return NULL;
}

/* The one that a comment is about. */
static struct family *push_family_of(struct reader *r, struct hd_str name)
{
    struct family *f = hd_map_get(&r->families, name);

    return f ? f : push_family_add(r, name);
}

/* Whose sample is it: the family of that name, or one whose samples have such a suffix. */
static struct family *push_family_of_sample(struct reader *r, struct hd_str name)
{
    struct family *f = hd_map_get(&r->families, name);

    for (size_t i = name.len; !f && i > 1; i--) {
        char suffix[16];

        if (name.ptr[i - 1] != '_' || name.len - i > sizeof(suffix) - 3)
            continue;
        f = hd_map_get(&r->families, (struct hd_str){name.ptr, i - 1});
        (void)snprintf(suffix, sizeof(suffix), "%.*s ", (int)(name.len - i + 1), name.ptr + i - 1);
        if (!f || !strstr(types[f->type].suffixes, suffix))
            f = NULL;
    }
    return f ? f : push_family_add(r, name);
}

static bool push_read_type(struct reader *r, struct hd_str name)
{
    struct hd_str word = push_take_word(r);
    enum type type = 0;

    while (type < TYPE_COUNT && !hd_str_is(word, types[type].name))
        type++;
    if (type == TYPE_COUNT)
        return push_bad(r, "there is no type '%.*s'", (int)HD_MIN(word.len, (size_t)40), word.ptr);
    /* Both ways to name a counter are one family. */
    struct family *f =
        push_family_of(r, type == TYPE_counter ? push_without_suffix(name, "_total") : name);
    if (!f)
        return false;
    if (f->has_type || f->first)
        return push_bad(r, "a second type of %s, or one behind its samples", f->name);
    f->has_type = true;
    f->type = type;
    if (r->help && hd_str_eq(r->helped, name))
        f->help = r->help;
    return true;
}

static bool push_is_utf8(const char *at, const char *end)
{
    for (size_t len; at < end; at += len) {
        len = hd_utf8_len((const unsigned char *)at, (size_t)(end - at));
        if (!len || (unsigned char)*at < 0x20 || *at == 0x7f)
            return false;
    }
    return true;
}

/* HELP comes before TYPE, which may say that the name is a counter's. */
static bool push_read_text(struct reader *r, struct hd_str name, bool is_help)
{
    struct family *f = hd_map_get(&r->families, name);
    const char *text = hd_arena_strndup(&r->job->arena, r->at, (size_t)(r->end - r->at));

    if (!push_is_utf8(r->at, r->end))
        return push_bad(r, "a text that is not UTF-8");
    f = f ? f : hd_map_get(&r->families, push_without_suffix(name, "_total"));
    if (!f && is_help && push_without_suffix(name, "_total").len != name.len) {
        r->helped = name;
        r->help = text;
        return true;
    }
    f = f ? f : push_family_add(r, name);
    if (!f)
        return false;
    if (is_help)
        f->help = text;
    else
        f->unit = text;
    return true;
}

/* Anything else behind # is a comment. */
static bool push_read_comment(struct reader *r)
{
    push_skip_blanks(r);
    struct hd_str what = push_take_word(r);
    if (!hd_str_is(what, "HELP") && !hd_str_is(what, "TYPE") && !hd_str_is(what, "UNIT"))
        return true;
    push_skip_blanks(r);
    struct hd_str name = push_take_name(r, true);
    bool is_over = r->at == r->end || *r->at == ' ' || *r->at == '\t';
    if (!name.len || !is_over)
        return push_bad(r, "no name of a metric behind # %.*s", HD_STR_ARG(what));
    if (push_is_ours(name))
        return push_bad(r, "names that begin with DCGM_, heddle_ and __ are not for others");
    push_skip_blanks(r);
    return hd_str_is(what, "TYPE") ? push_read_type(r, name)
                                   : push_read_text(r, name, hd_str_is(what, "HELP"));
}

/* ---- samples */

struct label {
    struct hd_str name, value; /* the value as it is written, with its escapes */
};

static bool push_read_value_of_label(struct reader *r, struct hd_str *out)
{
    const char *begin = r->at;

    for (; r->at < r->end && *r->at != '"'; r->at++)
        if (*r->at == '\\' && (++r->at == r->end || !strchr("\\\"n", *r->at)))
            return push_bad(r, "only \\\\, \\\" and \\n are escapes");
    *out = (struct hd_str){begin, (size_t)(r->at - begin)};
    if (!push_take_char(r, '"'))
        return push_bad(r, "a label's value without an end");
    return push_is_utf8(out->ptr, out->ptr + out->len) || push_bad(r, "a value that is not UTF-8");
}

static bool push_read_label(struct reader *r, struct label *out)
{
    push_skip_blanks(r);
    out->name = push_take_name(r, false);
    push_skip_blanks(r);
    if (!out->name.len || !push_take_char(r, '='))
        return push_bad(r, "no name of a label and = where one has to be");
    if (hd_str_is(out->name, "job") || hd_str_starts(out->name, "__"))
        return push_bad(r, "a label is not called %.*s; the job is given in the address",
                        HD_STR_ARG(out->name));
    push_skip_blanks(r);
    if (!push_take_char(r, '"'))
        return push_bad(r, "a label's value without quotes");
    return push_read_value_of_label(r, &out->value);
}

static int push_label_compare(const void *a, const void *b)
{
    const struct hd_str *x = &((const struct label *)a)->name,
                        *y = &((const struct label *)b)->name;
    int order = memcmp(x->ptr, y->ptr, HD_MIN(x->len, y->len));

    return order ? order : (x->len > y->len) - (x->len < y->len);
}

static bool push_read_labels(struct reader *r, struct label *labels, size_t *n)
{
    while (push_skip_blanks(r), !push_take_char(r, '}')) {
        if (*n == PUSH_LABELS_MAX)
            return push_bad(r, "more than %d labels", PUSH_LABELS_MAX);
        if (!push_read_label(r, &labels[(*n)++]))
            return false;
        push_skip_blanks(r);
        if (!push_take_char(r, ',') && (r->at == r->end || *r->at != '}'))
            return push_bad(r, "labels without a comma between them, or without }");
    }
    qsort(labels, *n, sizeof(*labels), push_label_compare);
    for (size_t i = 1; i < *n; i++)
        if (hd_str_eq(labels[i - 1].name, labels[i].name))
            return push_bad(r, "the label %.*s twice", HD_STR_ARG(labels[i].name));
    return true;
}

static const char *push_labels_text(struct reader *r, const struct label *labels, size_t n,
                                    const char *leave_out)
{
    struct hd_buf text = {0};

    for (size_t i = 0; i < n; i++)
        if (!leave_out || !hd_str_is(labels[i].name, leave_out))
            hd_buf_printf(&text, "%s%.*s=\"%.*s\"", text.len ? "," : "", HD_STR_ARG(labels[i].name),
                          HD_STR_ARG(labels[i].value));
    const char *kept =
        text.failed ? NULL : hd_arena_strndup(&r->job->arena, text.ptr ? text.ptr : "", text.len);
    hd_buf_fini(&text);
    return kept;
}

/* A number as both formats write it, and nothing else that strtod() takes. */
static bool push_number_read(struct hd_str text, double *out)
{
    char copy[48], *end;

    if (!text.len || text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    bool is_word = !strcmp(copy, "+Inf") || !strcmp(copy, "-Inf") || !strcmp(copy, "Inf") ||
                   !strcmp(copy, "NaN");
    if (!is_word && strspn(copy, "0123456789+-.eE") != text.len)
        return false;
    *out = strtod(copy, &end);
    return !*end;
}

static bool push_is_suffix(const struct sample *s, const char *suffix)
{
    return strcmp(s->suffix, suffix) == 0;
}

/* What a bucket is the count of. */
static bool push_read_bound(struct reader *r, struct sample *s, const struct label *labels,
                            size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hd_str_is(labels[i].name, "le")) {
            s->rest = push_labels_text(r, labels, n, "le");
            return (s->rest && push_number_read(labels[i].value, &s->bound) && !isnan(s->bound)) ||
                   push_bad(r, "'%.*s' is no bound of a bucket", HD_STR_ARG(labels[i].value));
        }
    return push_bad(r, "a bucket without its bound, le");
}

static bool push_is_first_of_its_name(struct reader *r, struct hd_str name, const struct sample *s)
{
    const char *key = hd_arena_printf(&r->job->arena, "%.*s{%s", HD_STR_ARG(name), s->labels);

    if (hd_map_find(&r->samples, hd_str_from(key), &(void *){NULL}))
        return push_bad(r, "a sample that was there before");
    return hd_map_put(&r->samples, hd_str_from(key), NULL) || push_no_memory(r);
}

static bool push_sample_add(struct reader *r, struct hd_str name, const struct label *labels,
                            size_t n, double value)
{
    struct family *f = push_family_of_sample(r, name);
    struct sample *s = hd_arena_new(&r->job->arena, struct sample);

    if (!f)
        return false;
    if (++r->job->nsamples > PUSH_SAMPLES_MAX)
        return push_bad(r, "more than %d samples", PUSH_SAMPLES_MAX);
    assert(hd_str_starts(name, f->name));
    s->suffix =
        hd_arena_strndup(&r->job->arena, name.ptr + strlen(f->name), name.len - strlen(f->name));
    s->labels = push_labels_text(r, labels, n, NULL);
    s->value = value;
    if (!s->labels)
        return push_no_memory(r);
    if (f->type == TYPE_counter && f->first && !*s->suffix != !*f->first->suffix)
        return push_bad(r, "%s both with _total and without", f->name);
    if (f->type == TYPE_histogram && !*s->suffix)
        return push_bad(r, "a histogram has _bucket, _sum and _count only");
    if (f->type == TYPE_info && !*s->suffix)
        return push_bad(r, "an info has _info only");
    if (push_is_suffix(s, "_bucket") && f->type == TYPE_histogram &&
        !push_read_bound(r, s, labels, n))
        return false;
    assert(!*f->last);
    *f->last = s;
    f->last = &s->next;
    return push_is_first_of_its_name(r, name, s);
}

static bool push_read_sample(struct reader *r)
{
    struct hd_str name = push_take_name(r, true);
    struct label labels[PUSH_LABELS_MAX];
    size_t n = 0;
    double value;

    if (!name.len)
        return push_bad(r, "no name of a metric");
    if (push_is_ours(name))
        return push_bad(r, "names that begin with DCGM_, heddle_ and __ are not for others");
    bool has_blank = r->at < r->end && (*r->at == ' ' || *r->at == '\t');
    push_skip_blanks(r);
    bool has_labels = push_take_char(r, '{');
    if (has_labels && !push_read_labels(r, labels, &n))
        return false;
    if (!has_blank && !has_labels)
        return push_bad(r, "no blank behind the name");
    push_skip_blanks(r);
    struct hd_str number = push_take_word(r);
    if (!push_number_read(number, &value))
        return push_bad(r, "'%.*s' is no number", (int)HD_MIN(number.len, (size_t)40), number.ptr);
    push_skip_blanks(r);
    if (r->at < r->end && *r->at != '#') /* an exemplar is left out */
        return push_bad(r, "a time; pushed samples are of now");
    return push_sample_add(r, name, labels, n, value);
}

static struct family *push_family_find(const struct job *job, const char *name)
{
    struct family *f = job->first;

    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    return f;
}

/*
 * A metric of `b` with the name that samples of one of `a` have: a reader would take them for its.
 * NULL: there is none.
 */
static const char *push_clash(const struct job *a, const struct job *b)
{
    for (const struct family *f = a->first; f; f = f->next) {
        const char *suffix = types[f->type].suffixes;

        for (size_t len; *suffix; suffix += len + 1) {
            char name[PUSH_NAME_MAX_B + 16];

            len = strcspn(suffix, " ");
            assert(strlen(f->name) + len < sizeof(name) && suffix[len]);
            (void)snprintf(name, sizeof(name), "%s%.*s", f->name, (int)len, suffix);
            const struct family *there = push_family_find(b, name);
            if (there)
                return there->name;
        }
    }
    return NULL;
}

/* Buckets of one histogram in order, with the last of them infinite. */
static bool push_check_histogram(struct reader *r, const struct family *f)
{
    for (const struct sample *s = f->first, *next; s; s = next) {
        next = s->next;
        if (!push_is_suffix(s, "_bucket"))
            continue;
        bool goes_on = next && push_is_suffix(next, "_bucket") && !strcmp(s->rest, next->rest);
        if (!goes_on && !isinf(s->bound))
            return push_bad(r, "%s has buckets without le=\"+Inf\" behind them", f->name);
        if (goes_on && !(next->bound > s->bound && next->value >= s->value))
            return push_bad(r, "buckets of %s do not go up", f->name);
    }
    return true;
}

static bool push_read_line(struct reader *r, bool *out_is_over)
{
    push_skip_blanks(r);
    if (r->at == r->end)
        return true;
    *out_is_over = r->end - r->at == 5 && !memcmp(r->at, "# EOF", 5);
    if (push_take_char(r, '#'))
        return push_read_comment(r);
    return push_read_sample(r);
}

static bool push_read_all(struct reader *r, struct hd_str text)
{
    const char *at = text.len ? text.ptr : "", *end = at + text.len;
    bool is_over = false;

    while (at < end) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));

        r->line++;
        r->at = at;
        r->end = feed ? feed : end;
        at = feed ? feed + 1 : end;
        if (is_over)
            return push_bad(r, "something behind # EOF");
        if (r->end > r->at && r->end[-1] == '\r')
            r->end--;
        if (!push_read_line(r, &is_over))
            return false;
    }
    for (const struct family *f = r->job->first; f; f = f->next)
        if (f->type == TYPE_histogram && !push_check_histogram(r, f))
            return false;
    const char *name = push_clash(r->job, r->job);
    if (name)
        return push_bad(r, "%s is a metric, and the name of samples of another", name);
    return hd_arena_status(&r->job->arena) == HD_OK || push_no_memory(r);
}

/* ---- jobs */

static void push_job_init(struct job *job)
{
    *job = (struct job){0};
    hd_arena_init(&job->arena);
}

static void push_job_fini(struct job *job)
{
    hd_free(job->name);
    hd_arena_fini(&job->arena);
    *job = (struct job){0};
}

static bool push_job_name_ok(struct hd_str name)
{
    if (!name.len || name.len > 64)
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!isalnum((unsigned char)name.ptr[i]) && !strchr("_-.:/", name.ptr[i]))
            return false;
    return true;
}

/* Does another job say that one of these is something else? */
static const char *push_conflict_locked(const struct job *job)
{
    for (size_t i = 0; i < PUSH_JOBS_MAX; i++) {
        const struct job *other = &pushed.jobs[i];

        if (!other->name || !strcmp(other->name, job->name))
            continue;
        const char *name = push_clash(job, other);
        name = name ? name : push_clash(other, job);
        if (name)
            return name;
        for (const struct family *f = job->first; f; f = f->next) {
            const struct family *there = push_family_find(other, f->name);
            if (there && there->type != f->type)
                return f->name;
        }
    }
    return NULL;
}

static unsigned push_job_keep_locked(struct job *job, char why[PUSH_WHY_B])
{
    assert(job->name);
    const char *conflict = push_conflict_locked(job);
    size_t at = 0, free_at = PUSH_JOBS_MAX;

    if (conflict) {
        (void)snprintf(why, PUSH_WHY_B, "%s is of another type in another job", conflict);
        return 409;
    }
    for (; at < PUSH_JOBS_MAX; at++) {
        if (pushed.jobs[at].name && !strcmp(pushed.jobs[at].name, job->name))
            break;
        if (!pushed.jobs[at].name)
            free_at = HD_MIN(free_at, at);
    }
    at = at < PUSH_JOBS_MAX ? at : free_at;
    if (at == PUSH_JOBS_MAX && !job->first) { /* nothing, in place of nothing */
        push_job_fini(job);
        return 200;
    }
    if (at == PUSH_JOBS_MAX) {
        (void)snprintf(why, PUSH_WHY_B, "more than %d jobs push", PUSH_JOBS_MAX);
        return 503;
    }
    push_job_fini(&pushed.jobs[at]);
    pushed.jobs[at] = *job;
    if (!job->first) /* nothing: the job is gone */
        push_job_fini(&pushed.jobs[at]);
    else
        pushed.jobs[at].last = NULL; /* it pointed into *job */
    return 200;
}

static bool push_job_read(struct job *job, struct hd_str text, char why[PUSH_WHY_B])
{
    struct reader r = {.job = job, .why = why};

    job->last = &job->first;
    hd_map_init(&r.families);
    hd_map_init(&r.samples);
    bool good = push_read_all(&r, text);
    hd_map_fini(&r.families);
    hd_map_fini(&r.samples);
    return good;
}

unsigned push_take(struct hd_str name, struct hd_str text, uint64_t now_ns, char why[PUSH_WHY_B])
{
    struct job job;
    unsigned status = 400;

    *why = '\0';
    if (text.len > PUSH_BODY_MAX_B) {
        (void)snprintf(why, PUSH_WHY_B, "more than %d bytes", PUSH_BODY_MAX_B);
        return 413;
    }
    if (!push_job_name_ok(name)) {
        (void)snprintf(why, PUSH_WHY_B, "no name of a job: letters, digits and _-.:/, at most 64");
        return 400;
    }
    push_job_init(&job);
    job.time_ns = now_ns;
    job.name = hd_alloc(name.len + 1);
    if (!job.name)
        return 503;
    memcpy(job.name, name.ptr, name.len);
    job.name[name.len] = '\0';
    if (push_job_read(&job, text, why)) {
        pthread_mutex_lock(&pushed.lock);
        status = push_job_keep_locked(&job, why);
        pthread_mutex_unlock(&pushed.lock);
    }
    if (status != 200)
        push_job_fini(&job);
    return status;
}

void push_expire(uint64_t now_ns)
{
    pthread_mutex_lock(&pushed.lock);
    for (size_t i = 0; i < PUSH_JOBS_MAX; i++) {
        struct job *job = &pushed.jobs[i];
        if (job->name && now_ns > job->time_ns && now_ns - job->time_ns > PUSH_LIFE_NS)
            push_job_fini(job);
    }
    pthread_mutex_unlock(&pushed.lock);
}

void push_fini(void)
{
    for (size_t i = 0; i < PUSH_JOBS_MAX; i++)
        if (pushed.jobs[i].name)
            push_job_fini(&pushed.jobs[i]);
}

/* ---- writing */

/* A counter's family has _total in the older format, and in the newer one samples must have it. */
static void push_put_family_head(struct hd_buf *out, const struct family *f, bool is_open)
{
    bool is_total = f->type == TYPE_counter && f->first && push_is_suffix(f->first, "_total");
    const char *end = is_total && !is_open ? "_total" : "";
    const char *type = is_open ? types[f->type].open : types[f->type].text;

    assert(f->type < TYPE_COUNT);
    if (f->type == TYPE_info && !is_open)
        end = "_info";
    if (f->type == TYPE_counter && is_open && !is_total)
        type = "unknown";
    if (f->help)
        hd_buf_printf(out, "# HELP %s%s %s\n", f->name, end, f->help);
    hd_buf_printf(out, "# TYPE %s%s %s\n", f->name, end, type);
}

static void push_put_sample(struct hd_buf *out, const struct job *job, const struct family *f,
                            const struct sample *s)
{
    hd_buf_printf(out, "%s%s{job=\"%s\"%s%s}", f->name, s->suffix, job->name, *s->labels ? "," : "",
                  s->labels);
    if (isfinite(s->value))
        hd_buf_printf(out, " %.17g\n", s->value);
    else
        hd_buf_puts(out, isnan(s->value) ? " NaN\n" : s->value < 0 ? " -Inf\n" : " +Inf\n");
}

/* The older format knows no _created. */
static void push_put_samples(struct hd_buf *out, const struct job *job, const struct family *f,
                             bool is_open)
{
    for (const struct sample *s = f->first; s; s = s->next)
        if (is_open || !push_is_suffix(s, "_created"))
            push_put_sample(out, job, f, s);
}

static bool push_was_before_locked(size_t job, const char *name)
{
    for (size_t i = 0; i < job; i++)
        if (pushed.jobs[i].name && push_family_find(&pushed.jobs[i], name))
            return true;
    return false;
}

void push_write(bool is_openmetrics, struct hd_buf *out)
{
    pthread_mutex_lock(&pushed.lock);
    for (size_t i = 0; i < PUSH_JOBS_MAX; i++)
        for (const struct family *f = pushed.jobs[i].first; f; f = f->next) {
            if (!f->first || push_was_before_locked(i, f->name))
                continue;
            push_put_family_head(out, f, is_openmetrics);
            for (size_t j = i; j < PUSH_JOBS_MAX; j++) {
                const struct family *same = push_family_find(&pushed.jobs[j], f->name);
                if (same)
                    push_put_samples(out, &pushed.jobs[j], same, is_openmetrics);
            }
        }
    pthread_mutex_unlock(&pushed.lock);
}

/* ---- histograms */

static double push_value_of(const struct family *f, const char *suffix, const char *labels)
{
    for (const struct sample *s = f->first; s; s = s->next)
        if (push_is_suffix(s, suffix) && !strcmp(s->labels, labels))
            return s->value;
    return 0;
}

/* Tells the one whose first bucket that is; its last bucket. */
static const struct sample *push_report_one(const struct job *job, const struct family *f,
                                            const struct sample *s, push_report *report, void *arg)
{
    struct push_histogram h = {.job = job->name, .name = f->name, .labels = s->rest};
    bool fits = true;

    h.sum = push_value_of(f, "_sum", s->rest);
    for (;; s = s->next) {
        assert(s &&
               push_is_suffix(s, "_bucket")); /* push_check_histogram(): the last one is infinite */
        fits = fits && h.nbounds < PUSH_BOUNDS_MAX && s->value >= 0 && isfinite(s->value);
        if (fits) {
            h.bounds[h.nbounds] = s->bound;
            h.below[h.nbounds++] = s->value;
        }
        h.count = s->value;
        if (isinf(s->bound))
            break;
    }
    if (fits)
        report(arg, &h);
    return s;
}

void push_histograms(push_report *report, void *arg)
{
    pthread_mutex_lock(&pushed.lock);
    for (size_t i = 0; i < PUSH_JOBS_MAX; i++)
        for (const struct family *f = pushed.jobs[i].first; f; f = f->next) {
            struct hd_str name = hd_str_from(f->name);

            if (f->type != TYPE_histogram || push_without_suffix(name, "_seconds").len == name.len)
                continue;
            for (const struct sample *s = f->first; s; s = s->next)
                if (push_is_suffix(s, "_bucket"))
                    s = push_report_one(&pushed.jobs[i], f, s, report, arg);
        }
    pthread_mutex_unlock(&pushed.lock);
}
