/* Annotations in IR. */
#include "clang/notes.h"

#include <string.h>

#define LIST "\n@llvm.global.annotations = "

static const struct hd_str nothing;

struct hd_str clang_symbol_at(const char **at)
{
    const char *first = *at + 1;
    bool quoted = *first == '"';

    first += quoted;
    struct hd_str name = {first, strcspn(first, quoted ? "\"" : "(),} \n")};
    *at = name.ptr + name.len + (quoted && name.ptr[name.len] == '"');
    return name;
}

/* The symbol after the next `ptr`; nothing when that is null. */
static struct hd_str next_pointer(const char **at)
{
    const char *pointer = strstr(*at, "ptr ");

    if (!pointer)
        return nothing;
    *at = pointer + 4;
    return **at == '@' ? clang_symbol_at(at) : nothing;
}

/* The rest of the line that defines a symbol, behind "constant "; "" when there is none. */
static const char *definition(const char *ir, struct hd_str name)
{
    const char *at = ir;

    while (name.len && (at = strstr(at, "\n@"))) {
        at += 2;
        if (!strncmp(at, name.ptr, name.len) && !strncmp(at + name.len, " = ", 3)) {
            const char *constant = strstr(at, " constant ");
            return constant ? constant + strlen(" constant ") : "";
        }
    }
    return "";
}

/* The characters of "[20 x i8] c"heddle.cluster_dims\00", ...". */
static struct hd_str text_of(const char *constant)
{
    const char *text = strstr(constant, "c\"");

    return text ? (struct hd_str){text + 2, strcspn(text + 2, "\\\"")} : nothing;
}

struct clang_notes clang_notes_of(const char *ir)
{
    const char *at = strstr(ir, LIST);

    if (!at)
        return (struct clang_notes){ir, "", ""};
    return (struct clang_notes){ir, at, at + 1 + strcspn(at + 1, "\n")};
}

bool clang_notes_next(struct clang_notes *notes, struct clang_note *out)
{
    const char *at = strstr(notes->at, "{ ptr @");

    if (!at || at >= notes->end)
        return false;
    at += 2;
    out->function = next_pointer(&at);
    out->kind = text_of(definition(notes->ir, next_pointer(&at)));
    (void)next_pointer(&at); /* the source */
    out->args = definition(notes->ir, next_pointer(&at));
    notes->at = at;
    return true;
}
