/* See prof.h. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "prof/prof.h"

#define LIMIT_B (UINT64_C(64) << 30)

static bool take_number(struct hd_str word, const char *key, uint64_t *out)
{
    size_t len = strlen(key);

    return word.len > len && !memcmp(word.ptr, key, len) &&
           hd_str_to_u64((struct hd_str){word.ptr + len, word.len - len}, 10, out);
}

static bool is(struct hd_str word, const char *text)
{
    return word.len == strlen(text) && !memcmp(word.ptr, text, word.len);
}

static bool take_range(struct hd_str word, struct prof_settings *out)
{
    static const char key[] = "range=";
    size_t key_len = sizeof(key) - 1;

    if (word.len <= key_len || memcmp(word.ptr, key, key_len) != 0 ||
        word.len - key_len >= sizeof(out->range))
        return false;
    memcpy(out->range, word.ptr + key_len, word.len - key_len);
    char *at = strrchr(out->range, '@');
    if (at) {
        *at = '\0';
        (void)snprintf(out->domain, sizeof(out->domain), "%s", at + 1);
    }
    return true;
}

static bool take(struct hd_str word, struct prof_settings *out)
{
    bool known = true;

    if (is(word, "capture=always"))
        out->capture = PROF_CAPTURE_ALWAYS;
    else if (is(word, "capture=api"))
        out->capture = PROF_CAPTURE_API;
    else if (is(word, "capture=nvtx"))
        out->capture = PROF_CAPTURE_NVTX;
    else if (is(word, "once"))
        out->once = true;
    else
        known = false;
    return known || take_range(word, out) || take_number(word, "delay=", &out->delay_ms) ||
           take_number(word, "duration=", &out->duration_ms) ||
           take_number(word, "sample=", &out->sample_Hz) ||
           take_number(word, "depth=", &out->depth) || take_number(word, "skip=", &out->skip) ||
           take_number(word, "count=", &out->count) || take_number(word, "limit=", &out->limit_B);
}

enum hd_status prof_settings_read(const char *text, struct prof_settings *out)
{
    *out = (struct prof_settings){.limit_B = LIMIT_B, .depth = PROF_DEPTH};
    while (strncmp(text, "dir=", 4) != 0) {
        struct hd_str word = {text, strcspn(text, ";")};

        if (!word.len || !text[word.len] || !take(word, out))
            return hd_error(HD_BAD_ARG,
                            "HEDDLE_PROF: '%.*s' is not understood; `heddle prof` sets it",
                            (int)word.len, word.ptr);
        text += word.len + 1;
    }
    out->folder = text + 4;
    if (out->sample_Hz > PROF_SAMPLE_HZ_MAX || !out->depth || out->depth > PROF_DEPTH_MAX)
        return hd_error(HD_BAD_ARG, "HEDDLE_PROF: so many samples or frames are not possible");
    return *out->folder ? HD_OK : hd_error(HD_BAD_ARG, "HEDDLE_PROF names no folder");
}
