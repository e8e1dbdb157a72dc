/* See demangle.h. */
#include "base/demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef char *demangle_fn(const char *name, char *buf, size_t *len, int *status);

static demangle_fn *demangler;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* One that the program has already is taken first: it gets no second C++ library from us. */
static void find_demangler(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};

    for (size_t i = 0; i < 2 * HD_COUNT_OF(libraries) && !demangler; i++) {
        int only_loaded = i < HD_COUNT_OF(libraries) ? RTLD_NOLOAD : 0;
        void *library =
            dlopen(libraries[i % HD_COUNT_OF(libraries)], RTLD_LAZY | RTLD_LOCAL | only_loaded);
        void *function = library ? dlsym(library, "__cxa_demangle") : NULL;
        if (function)
            memcpy(&demangler, &function, sizeof(demangler));
    }
}

/* "int*" to "int *", as CUDA's tools write it; an operator keeps its name. */
static void space_pointers(const char *text, struct hd_buf *out)
{
    for (const char *at = text; *at; at++) {
        bool is_first =
            (*at == '*' || *at == '&') && at > text && (isalnum(at[-1]) || strchr("_>)", at[-1]));
        bool is_operator = at - text >= 8 && strncmp(at - 8, "operator", 8) == 0;
        if (is_first && !is_operator)
            hd_buf_putc(out, ' ');
        hd_buf_putc(out, *at);
    }
}

/* How far inside of brackets one is behind this character. */
static int depth_behind(char c, int depth)
{
    bool opens = c == '(' || c == '<' || c == '[', closes = c == ')' || c == '>' || c == ']';

    return depth + opens - closes;
}

/* The name without parameters, template arguments of it, and result. */
static void first_part(const char *text, struct hd_buf *out)
{
    const char *end = text + strlen(text), *begin = text;
    int depth = 0;

    /* The parameters of "void f<int>(int *)::g(float) const" begin at the last "(" outside of all
     * brackets. */
    for (const char *at = text; *at; at++) {
        if (*at == '(' && depth == 0 && at > text)
            end = at;
        depth = depth_behind(*at, depth);
    }
    depth = 0;
    for (const char *at = text; at < end; at++) {
        if (*at == ' ' && depth == 0)
            begin = at + 1;
        depth = depth_behind(*at, depth);
    }
    while (begin < end && (*begin == '*' || *begin == '&'))
        begin++;
    size_t len = (size_t)(end - begin);
    if (len && begin[len - 1] == '>' && memchr(begin, '<', len))
        len = (size_t)((const char *)memchr(begin, '<', len) - begin);
    hd_buf_append(out, begin, len);
}

bool hd_demangle(const char *name, enum hd_demangle_how how, struct hd_buf *out)
{
    size_t before = out->len;
    int status = -1;

    if (strncmp(name, "_Z", 2) != 0)
        return false;
    pthread_once(&once, find_demangler);
    char *made = demangler ? demangler(name, NULL, NULL, &status) : NULL;
    if (made && status == 0 && how == HD_DEMANGLE_SIMPLE)
        first_part(made, out);
    else if (made && status == 0)
        space_pointers(made, out);
    free(made);
    return out->len > before && !out->failed;
}

void hd_demangle_or_name(const char *name, enum hd_demangle_how how, struct hd_buf *out)
{
    if (!hd_demangle(name, how, out))
        hd_buf_puts(out, name);
}
