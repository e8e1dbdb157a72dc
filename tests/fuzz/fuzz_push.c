/*
 * What is pushed to `heddle serve`: whatever it is, it is refused with a reason, or what is written
 * of it can be pushed again, in both formats.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "tools/heddle/serve/serve_push.h"

static void on_histogram(void *arg, const struct push_histogram *h)
{
    unsigned *n = arg;

    assert(h->nbounds && h->nbounds <= PUSH_BOUNDS_MAX && h->job && h->name && h->labels);
    ++*n;
}

/* The label for the job is ours: without it, it is as others write it. */
static void push_again(bool is_openmetrics)
{
    static const char label[] = "job=\"a\"";
    char why[PUSH_WHY_B];
    struct hd_buf text = {0}, plain = {0};

    push_write(is_openmetrics, &text);
    push_fini();
    for (const char *at = text.ptr; at && *at;) {
        const char *found = strstr(at, label);
        size_t len = found ? (size_t)(found - at) : strlen(at);

        hd_buf_append(&plain, at, len);
        at = found ? found + sizeof(label) - 1 : at + len;
        at += found && *at == ',';
    }
    if (plain.ptr && plain.len <= PUSH_BODY_MAX_B) {
        unsigned status = push_take(HD_STR("b"), (struct hd_str){plain.ptr, plain.len}, 2, why);
        if (status != 200) {
            fprintf(stderr, "%u %s\n%s", status, why, plain.ptr);
            abort();
        }
    }
    hd_buf_fini(&text);
    hd_buf_fini(&plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    char why[PUSH_WHY_B];
    unsigned n = 0;
    unsigned status = push_take(HD_STR("a"), (struct hd_str){(const char *)bytes, size_B}, 1, why);

    assert(status == 200 || *why);
    if (status == 200) {
        push_histograms(on_histogram, &n);
        push_again(false);
        push_expire(1 + PUSH_LIFE_NS);
    }
    push_fini();
    return 0;
}
