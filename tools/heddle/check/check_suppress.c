/*
 * Suppressions: records as --save FILE --xml writes them, of which everything but the kind may be
 * left out or changed. A finding that all fields of a record fit is not shown.
 *
 *   <kind>       must be the same
 *   numbers      must be the same; addresses and offsets of code, which differ between runs and
 *                builds, are not compared
 *   texts        are the same (but for addresses in them), or an extended regular expression that
 *                the whole text matches
 *   <other>      <who>, <where> and <deviceStack> of the other side of a race
 *   stacks       have no more frames than the finding's, and are its first or its last frames;
 *                function, file and module are compared
 *
 * An element that is not known is an error: without it a record would fit more than was meant.
 */
#include "check/check.h"

#include <assert.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/expression.h"
#include "base/mem.h"
#include "common/cli.h"
#include "common/xml_read.h"

/* ---- patterns of texts */

struct pattern {
    const char *text; /* NULL: anything */
    regex_t regex;
    bool has_regex;
};

struct frame {
    struct pattern func, file, module;
};

struct trace {
    HD_VEC(struct frame) frames;
    bool given;
};

/* name in XML; text fields of a record, and of one side of it */
#define TEXT_LIST(X)                                                                               \
    X(LEVEL, "level")                                                                              \
    X(TEXT, "text")                                                                                \
    X(SPACE, "space")                                                                              \
    X(DIRECTION, "direction")                                                                      \
    X(API, "api")                                                                                  \
    X(ERROR, "error")                                                                              \
    X(MESSAGE, "message")
enum text {
#define X(id, name) TEXT_##id,
    TEXT_LIST(X)
#undef X
        TEXT_COUNT
};

struct number {
    bool given;
    int64_t value;
};

/* Where a thread was, and which. */
struct side {
    struct pattern func, path;
    struct number line, thread[3], block[3];
    struct trace device;
};

struct rule {
    const char *kind;
    struct pattern texts[TEXT_COUNT];
    struct number size, result;
    struct side sides[CHECK_ACTORS_MAX];
    struct trace host;
};

struct check_rules {
    struct hd_arena arena;
    const char *file;
    HD_VEC(struct rule *) list;
};

/* ---- reading */

static enum hd_status suppress_unknown(const struct check_rules *rules, const struct xml_node *node)
{
    return hd_error(HD_CORRUPT, "%s:%u: <%s> is not known here", rules->file, node->line,
                    node->name);
}

/* One that is no regular expression is compared as it is: names of functions have brackets. */
static void suppress_set_pattern(struct pattern *pattern, const char *text)
{
    if (pattern->has_regex)
        regfree(&pattern->regex);
    struct hd_buf whole = {0};
    hd_buf_printf(&whole, "^(%s)$", text);
    pattern->text = text;
    pattern->has_regex = !whole.failed && hd_regex_compile(&pattern->regex, whole.ptr) == 0;
    hd_buf_fini(&whole);
}

static enum hd_status suppress_read_number(const struct check_rules *rules,
                                           const struct xml_node *node, struct number *number)
{
    bool minus = node->text[0] == '-';
    uint64_t value;

    if (!hd_str_to_u64(hd_str_from(node->text + minus), 10, &value) || value > INT64_MAX)
        return hd_error(HD_CORRUPT, "%s:%u: <%s> is no number: '%s'", rules->file, node->line,
                        node->name, node->text);
    number->given = true;
    number->value = minus ? -(int64_t)value : (int64_t)value;
    return HD_OK;
}

/* Elements that differ from run to run. */
static bool suppress_is_unstable(const char *name)
{
    static const char *const names[] = {"address", "pc", "saveLocation", "column"};

    for (size_t i = 0; i < HD_COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static enum hd_status suppress_read_frame(const struct check_rules *rules,
                                          const struct xml_node *node, struct trace *trace)
{
    struct frame frame = {0};

    if (strcmp(node->name, "frame") != 0)
        return suppress_is_unstable(node->name) ? HD_OK : suppress_unknown(rules, node);
    if (!hd_vec_push(&trace->frames, frame))
        return hd_error(HD_NO_MEMORY, "%s: out of memory", rules->file);
    struct frame *made = &hd_vec_last(&trace->frames);
    xml_foreach(it, node)
    {
        if (strcmp(it->name, "func") == 0)
            suppress_set_pattern(&made->func, it->text);
        else if (strcmp(it->name, "path") == 0)
            suppress_set_pattern(&made->file, it->text);
        else if (strcmp(it->name, "module") == 0)
            suppress_set_pattern(&made->module, it->text);
        else if (!suppress_is_unstable(it->name) && strcmp(it->name, "line") != 0)
            return suppress_unknown(rules, it);
    }
    return HD_OK;
}

static enum hd_status suppress_read_trace(const struct check_rules *rules,
                                          const struct xml_node *node, struct trace *trace)
{
    trace->given = true;
    xml_foreach(it, node) HD_TRY(suppress_read_frame(rules, it, trace));
    return HD_OK;
}

/* Of <what>. */
static enum hd_status suppress_read_what(const struct check_rules *rules,
                                         const struct xml_node *node, struct rule *rule)
{
#define X(id, word)                                                                                \
    if (strcmp(node->name, word) == 0) {                                                           \
        suppress_set_pattern(&rule->texts[TEXT_##id], node->text);                                 \
        return HD_OK;                                                                              \
    }
    TEXT_LIST(X)
#undef X
    if (strcmp(node->name, "size") == 0)
        return suppress_read_number(rules, node, &rule->size);
    if (strcmp(node->name, "result") == 0)
        return suppress_read_number(rules, node, &rule->result);
    return suppress_is_unstable(node->name) ? HD_OK : suppress_unknown(rules, node);
}

/* Of <where>. */
static enum hd_status suppress_read_where(const struct check_rules *rules,
                                          const struct xml_node *node, struct side *side)
{
    if (strcmp(node->name, "line") == 0)
        return suppress_read_number(rules, node, &side->line);
    if (strcmp(node->name, "func") == 0)
        suppress_set_pattern(&side->func, node->text);
    else if (strcmp(node->name, "path") == 0)
        suppress_set_pattern(&side->path, node->text);
    else if (!suppress_is_unstable(node->name))
        return suppress_unknown(rules, node);
    return HD_OK;
}

/* Of <who>. */
static enum hd_status suppress_read_index(const struct check_rules *rules,
                                          const struct xml_node *node, struct side *side)
{
    bool is_thread = !strcmp(node->name, "threadIdx") || !strcmp(node->name, "threadId");
    bool is_block = !strcmp(node->name, "blockIdx") || !strcmp(node->name, "blockId");
    struct number *numbers = is_thread ? side->thread : side->block;

    if (!is_thread && !is_block)
        return suppress_unknown(rules, node);
    xml_foreach(it, node)
    {
        if (it->name[0] < 'x' || it->name[0] > 'z' || it->name[1])
            return suppress_unknown(rules, it);
        HD_TRY(suppress_read_number(rules, it, &numbers[it->name[0] - 'x']));
    }
    return HD_OK;
}

/* <who>, <where>, <deviceStack>; HD_NOT_FOUND: it is another element. */
static enum hd_status suppress_read_side(const struct check_rules *rules,
                                         const struct xml_node *node, struct side *side)
{
    bool is_who = strcmp(node->name, "who") == 0;

    if (strcmp(node->name, "deviceStack") == 0)
        return suppress_read_trace(rules, node, &side->device);
    if (!is_who && strcmp(node->name, "where") != 0)
        return HD_NOT_FOUND;
    xml_foreach(it, node) HD_TRY(is_who ? suppress_read_index(rules, it, side)
                                        : suppress_read_where(rules, it, side));
    return HD_OK;
}

static enum hd_status suppress_read_other(const struct check_rules *rules,
                                          const struct xml_node *node, struct side *side)
{
    xml_foreach(it, node)
    {
        enum hd_status status = suppress_read_side(rules, it, side);
        HD_TRY(status == HD_NOT_FOUND ? suppress_unknown(rules, it) : status);
    }
    return HD_OK;
}

static enum hd_status suppress_read_part(const struct check_rules *rules,
                                         const struct xml_node *node, struct rule *rule)
{
    enum hd_status status = suppress_read_side(rules, node, &rule->sides[0]);

    if (status != HD_NOT_FOUND)
        return status;
    if (strcmp(node->name, "kind") == 0) {
        rule->kind = node->text;
        return HD_OK;
    }
    if (strcmp(node->name, "level") == 0)
        return suppress_read_what(rules, node, rule);
    if (strcmp(node->name, "hostStack") == 0)
        return suppress_read_trace(rules, node, &rule->host);
    if (strcmp(node->name, "other") == 0)
        return suppress_read_other(rules, node, &rule->sides[1]);
    if (strcmp(node->name, "what") != 0)
        return suppress_unknown(rules, node);
    xml_foreach(it, node) HD_TRY(suppress_read_what(rules, it, rule));
    return HD_OK;
}

static enum hd_status suppress_read_record(struct check_rules *rules, const struct xml_node *node)
{
    struct rule *rule = hd_new(struct rule);

    if (!rule || !hd_vec_push(&rules->list, rule)) {
        hd_free(rule);
        return hd_error(HD_NO_MEMORY, "%s: out of memory", rules->file);
    }
    if (strcmp(node->name, "record") != 0)
        return suppress_unknown(rules, node);
    xml_foreach(it, node) HD_TRY(suppress_read_part(rules, it, rule));
    if (!rule->kind)
        return hd_error(HD_CORRUPT, "%s:%u: <record> has no <kind>", rules->file, node->line);
    return HD_OK;
}

static enum hd_status suppress_parse(struct check_rules *rules, const char *text, size_t len)
{
    const struct xml_node *root;

    HD_TRY(xml_read(&rules->arena, text, len, rules->file, &root));
    if (strcmp(root->name, "ComputeSanitizerOutput") != 0)
        return hd_error(HD_CORRUPT, "%s:%u: <ComputeSanitizerOutput> is expected", rules->file,
                        root->line);
    xml_foreach(it, root) HD_TRY(suppress_read_record(rules, it));
    return HD_OK;
}

enum hd_status check_rules_parse(const char *text, size_t len, const char *name,
                                 struct check_rules **out)
{
    struct check_rules *rules = hd_new(struct check_rules);

    *out = NULL;
    if (!rules)
        return hd_error(HD_NO_MEMORY, "%s: out of memory", name);
    hd_arena_init(&rules->arena);
    rules->file = hd_arena_strndup(&rules->arena, name, strlen(name));
    enum hd_status status = suppress_parse(rules, text, len);
    if (status == HD_OK)
        *out = rules;
    else
        check_rules_free(rules);
    return status;
}

struct check_rules *check_rules_read(const char *path)
{
    struct check_rules *rules = NULL;
    struct hd_buf text = {0};

    if (hd_file_read(path, XML_TEXT_MAX_B, &text) != HD_OK ||
        check_rules_parse(text.ptr, text.len, path, &rules) != HD_OK)
        cli_error("--suppressions: %s", hd_error_message());
    hd_buf_fini(&text);
    return rules;
}

static void suppress_pattern_fini(struct pattern *pattern)
{
    if (pattern->has_regex)
        regfree(&pattern->regex);
}

static void suppress_trace_fini(struct trace *trace)
{
    for (size_t i = 0; i < trace->frames.len; i++) {
        suppress_pattern_fini(&trace->frames.at[i].func);
        suppress_pattern_fini(&trace->frames.at[i].file);
        suppress_pattern_fini(&trace->frames.at[i].module);
    }
    hd_vec_fini(&trace->frames);
}

static void suppress_rule_free(struct rule *rule)
{
    for (size_t i = 0; i < TEXT_COUNT; i++)
        suppress_pattern_fini(&rule->texts[i]);
    for (size_t i = 0; i < HD_COUNT_OF(rule->sides); i++) {
        suppress_pattern_fini(&rule->sides[i].func);
        suppress_pattern_fini(&rule->sides[i].path);
        suppress_trace_fini(&rule->sides[i].device);
    }
    suppress_trace_fini(&rule->host);
    hd_free(rule);
}

void check_rules_free(struct check_rules *rules)
{
    if (!rules)
        return;
    for (size_t i = 0; i < rules->list.len; i++)
        suppress_rule_free(rules->list.at[i]);
    hd_vec_fini(&rules->list);
    hd_arena_fini(&rules->arena);
    hd_free(rules);
}

/* ---- matching */

/* Where a number "0x7f00" ends that begins here; NULL: there is none. */
static const char *suppress_behind_address(const char *at)
{
    if (at[0] != '0' || at[1] != 'x')
        return NULL;
    return at + 2 + strspn(at + 2, "0123456789abcdef");
}

static bool suppress_same_but_addresses(const char *a, const char *b)
{
    while (*a && *b) {
        const char *behind_a = suppress_behind_address(a), *behind_b = suppress_behind_address(b);
        if (behind_a && behind_b) {
            a = behind_a;
            b = behind_b;
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

static bool suppress_fits(const struct pattern *pattern, const char *text)
{
    return !pattern->text || suppress_same_but_addresses(pattern->text, text) ||
           (pattern->has_regex && regexec(&pattern->regex, text, 0, NULL, 0) == 0);
}

/* A path fits by its whole and by its last part. */
static bool suppress_fits_path(const struct pattern *pattern, const char *path)
{
    const char *slash = strrchr(path, '/');

    return suppress_fits(pattern, path) || suppress_fits(pattern, slash ? slash + 1 : path);
}

/* A name as the linker has it, or as C++ writes it. */
static bool suppress_fits_func(const struct pattern *pattern, const char *func)
{
    return suppress_fits(pattern, func) ||
           suppress_fits(pattern, check_demangle(func, DEMANGLE_FULL));
}

static bool suppress_fits_frame(const struct frame *frame, const char *func, const char *file,
                                const char *module)
{
    return suppress_fits_func(&frame->func, func) && suppress_fits_path(&frame->file, file) &&
           suppress_fits_path(&frame->module, module);
}

/* XML has the outermost frame first: number i there. */
static bool suppress_fits_host_from(const struct trace *trace, const struct check_stack *stack,
                                    size_t from)
{
    assert(from + trace->frames.len <= stack->n);
    for (size_t i = 0; i < trace->frames.len; i++) {
        const struct check_frame *frame = &stack->frames[stack->n - 1 - from - i];
        if (!suppress_fits_frame(&trace->frames.at[i], check_frame_func(frame), "", frame->module))
            return false;
    }
    return true;
}

static bool suppress_fits_host(const struct trace *trace, const struct check_stack *stack)
{
    size_t n = trace->frames.len;

    return !trace->given ||
           (n <= stack->n && (suppress_fits_host_from(trace, stack, 0) ||
                              suppress_fits_host_from(trace, stack, stack->n - n)));
}

static bool suppress_fits_number(const struct number *number, int64_t value)
{
    return !number->given || number->value == value;
}

static bool suppress_fits_device(const struct trace *trace, const struct check_actor *actor)
{
    size_t n = trace->frames.len;

    if (!trace->given)
        return true;
    if (n > actor->nplaces)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!suppress_fits_frame(&trace->frames.at[i], actor->srclocs[i].func,
                                 actor->srclocs[i].file, ""))
            return false;
    return true;
}

static bool suppress_fits_side(const struct side *side, const struct check_actor *actor)
{
    static struct check_srcloc nowhere = {.func = "", .file = ""};
    static const struct check_actor nobody = {.nplaces = 1, .srclocs = &nowhere};
    const struct check_actor *who = actor ? actor : &nobody;

    assert(who->nplaces);
    for (int i = 0; i < 3; i++)
        if (!suppress_fits_number(&side->thread[i], who->thread[i]) ||
            !suppress_fits_number(&side->block[i], who->block[i]))
            return false;
    return suppress_fits_func(&side->func, who->srclocs[0].func) &&
           suppress_fits_path(&side->path, who->srclocs[0].file) &&
           suppress_fits_number(&side->line, who->srclocs[0].line) &&
           suppress_fits_device(&side->device, who);
}

static bool suppress_fits_what(const struct rule *rule, const struct check_finding *f)
{
    const char *texts[TEXT_COUNT] = {
        [TEXT_LEVEL] = check_xml_level(f), [TEXT_TEXT] = f->title,    [TEXT_SPACE] = f->space,
        [TEXT_DIRECTION] = f->direction,   [TEXT_API] = check_api(f), [TEXT_ERROR] = f->error,
        [TEXT_MESSAGE] = f->message,
    };

    for (unsigned i = 0; i < TEXT_COUNT; i++)
        if (!suppress_fits(&rule->texts[i], texts[i]))
            return false;
    return suppress_fits_number(&rule->size, (int64_t)f->size_B) &&
           suppress_fits_number(&rule->result, f->code);
}

static bool suppress_rule_matches(const struct rule *rule, const struct check_finding *f)
{
    assert(rule->kind && f->nactors + f->nsides <= CHECK_ACTORS_MAX);
    for (size_t i = 0; i < CHECK_ACTORS_MAX; i++)
        if (!suppress_fits_side(&rule->sides[i], i < f->nactors ? &f->actors[i] : NULL))
            return false;
    return strcmp(rule->kind, check_xml_kind(f)) == 0 && suppress_fits_what(rule, f) &&
           suppress_fits_host(&rule->host, check_host_stack(f));
}

bool check_rules_match(const struct check_rules *rules, const struct check_finding *f)
{
    for (size_t i = 0; rules && i < rules->list.len; i++)
        if (suppress_rule_matches(rules->list.at[i], f))
            return true;
    return false;
}
