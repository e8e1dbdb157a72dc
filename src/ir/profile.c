/* See profile.h. */
#include "ir/profile.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"

#define PROFILE_MAGIC "heddle-profile 1"
#define PROFILE_MAX_B ((size_t)1 << 30)

/* ---- functions */

void ir_profile_init(struct ir_profile *profile)
{
    *profile = (struct ir_profile){0};
    hd_map_init(&profile->by_key);
}

void ir_profile_fini(struct ir_profile *profile)
{
    for (size_t i = 0; i < profile->funcs.len; i++) {
        hd_free(profile->funcs.at[i].name);
        hd_vec_fini(&profile->funcs.at[i].blocks);
    }
    hd_vec_fini(&profile->funcs);
    hd_map_fini(&profile->by_key);
}

bool ir_profile_hash(const struct ir_func *func, uint64_t *out_hash)
{
    struct hd_buf text;
    bool ok = true;

    hd_buf_init(&text);
    *out_hash = func->nblocks;
    for (uint32_t i = 0; i < func->nblocks && ok; i++) {
        const struct ir_block *b = func->blocks[i];

        ir_foreach_instr(in, b) {
            struct ir_instr bare = *in;

            bare.srcloc = (struct ir_srcloc){0};
            hd_buf_clear(&text);
            ir_print_instr(&bare, &text);
            ok = ok && !text.failed;
            *out_hash = hd_hash(text.ptr ? text.ptr : "", text.len, *out_hash);
        }
        for (uint32_t k = 0; k < b->nsuccs; k++)
            *out_hash = hd_hash(&b->succs[k]->id, sizeof(b->succs[k]->id), *out_hash);
    }
    hd_buf_fini(&text);
    return ok;
}

static uint64_t key_of(struct hd_str name, uint64_t hash)
{
    return hd_hash(name.ptr, name.len, hash);
}

static struct ir_profile_func *find(const struct ir_profile *profile, struct hd_str name,
                                    uint64_t hash)
{
    uintptr_t at = (uintptr_t)hd_map_get_u64(&profile->by_key, key_of(name, hash));
    struct ir_profile_func *func = at ? &profile->funcs.at[at - 1] : NULL;

    return func && func->hash == hash && hd_str_is(name, func->name) ? func : NULL;
}

const struct ir_profile_func *ir_profile_find(const struct ir_profile *profile, const char *name,
                                              uint64_t hash)
{
    return find(profile, hd_str_from(name), hash);
}

bool ir_profile_names(const struct ir_profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->funcs.len; i++)
        if (!strcmp(profile->funcs.at[i].name, name))
            return true;
    return false;
}

struct ir_profile_func *ir_profile_add(struct ir_profile *profile, struct hd_str name,
                                       uint64_t hash, size_t nblocks)
{
    struct ir_profile_func func = {.hash = hash}, *known = find(profile, name, hash);
    HD_AUTOFREE char *text = hd_alloc(name.len + 1);

    if (known)
        return known;
    if (!text || !hd_vec_reserve(&func.blocks, nblocks))
        return NULL;
    memcpy(text, name.ptr, name.len);
    text[name.len] = '\0';
    func.name = text;
    for (size_t i = 0; i < nblocks; i++)
        func.blocks.at[func.blocks.len++] = (struct ir_profile_count){0};
    if (!hd_vec_push(&profile->funcs, func)) {
        hd_vec_fini(&func.blocks);
        return NULL;
    }
    text = NULL;
    if (hd_map_put_u64(&profile->by_key, key_of(name, hash), (void *)(uintptr_t)profile->funcs.len))
        return &profile->funcs.at[profile->funcs.len - 1];
    hd_free(func.name);
    hd_vec_fini(&func.blocks);
    profile->funcs.len--;
    return NULL;
}

enum hd_status ir_profile_merge(struct ir_profile *into, const struct ir_profile *from)
{
    for (size_t i = 0; i < from->funcs.len; i++) {
        const struct ir_profile_func *f = &from->funcs.at[i];
        struct ir_profile_func *to =
            ir_profile_add(into, hd_str_from(f->name), f->hash, f->blocks.len);

        if (!to)
            return hd_error(HD_NO_MEMORY, "function %s: no memory for its profile", f->name);
        if (to->blocks.len != f->blocks.len)
            return hd_error(HD_BAD_ARG, "function %s has %zu blocks, and %zu in the profile",
                            f->name, f->blocks.len, to->blocks.len);
        for (size_t b = 0; b < f->blocks.len; b++) {
            struct ir_profile_count *sum = &to->blocks.at[b];

            sum->warps = HD_MIN(sum->warps + f->blocks.at[b].warps, IR_PROFILE_MOST);
            sum->lanes = HD_MIN(sum->lanes + f->blocks.at[b].lanes, IR_PROFILE_MOST);
        }
    }
    return HD_OK;
}

/* ---- text */

void ir_profile_print(const struct ir_profile *profile, struct hd_buf *out)
{
    hd_buf_puts(out, PROFILE_MAGIC "\n");
    for (size_t i = 0; i < profile->funcs.len; i++) {
        const struct ir_profile_func *f = &profile->funcs.at[i];

        hd_buf_printf(out, "function %016" PRIx64 " %zu %s\n", f->hash, f->blocks.len, f->name);
        for (size_t b = 0; b < f->blocks.len; b++)
            hd_buf_printf(out, "%" PRIu64 " %" PRIu64 "\n", f->blocks.at[b].warps,
                          f->blocks.at[b].lanes);
    }
}

struct reader {
    struct hd_str left;
    const char *name; /* of the file */
    uint32_t line;
    struct ir_profile *profile;
};

static enum hd_status refuse(const struct reader *r, const char *why)
{
    return hd_error(HD_BAD_ARG, "%s:%" PRIu32 ": %s", r->name, r->line, why);
}

static bool next_line(struct reader *r, struct hd_str *out_line)
{
    if (!r->left.len)
        return false;
    r->line++;
    *out_line = hd_str_take(&r->left, '\n');
    return true;
}

static enum hd_status read_block(struct reader *r, size_t func)
{
    struct ir_profile_count count;
    struct hd_str line, warps;

    if (!next_line(r, &line))
        return refuse(r, "the function ends before all of its blocks have a line");
    warps = hd_str_take(&line, ' ');
    if (!hd_str_to_u64(warps, 10, &count.warps) || !hd_str_to_u64(line, 10, &count.lanes))
        return refuse(r, "a block is two numbers, of warps and of lanes");
    if (count.warps > IR_PROFILE_MOST || count.lanes > IR_PROFILE_MOST)
        return refuse(r, "a count is larger than 2^53");
    if (!hd_vec_push(&r->profile->funcs.at[func].blocks, count))
        return hd_error(HD_NO_MEMORY, "%s: no memory for the profile", r->name);
    return HD_OK;
}

static enum hd_status read_func(struct reader *r, struct hd_str line)
{
    struct hd_str word = hd_str_take(&line, ' '), digits = hd_str_take(&line, ' '),
                  number = hd_str_take(&line, ' ');
    uint64_t hash, nblocks;

    if (!hd_str_is(word, "function"))
        return refuse(r, "here a line 'function HASH BLOCKS NAME' is expected");
    if (digits.len != 16 || !hd_str_to_u64(digits, 16, &hash))
        return refuse(r, "a function's hash has 16 hexadecimal digits");
    if (!hd_str_to_u64(number, 10, &nblocks) || !nblocks || nblocks > UINT32_MAX)
        return refuse(r, "a function has a number of blocks, which is not 0");
    if (!line.len || memchr(line.ptr, '\0', line.len))
        return refuse(r, "the function has no name");
    if (find(r->profile, line, hash))
        return refuse(r, "the function is there already, with the same hash");
    if (!ir_profile_add(r->profile, line, hash, 0))
        return hd_error(HD_NO_MEMORY, "%s: no memory for the profile", r->name);
    for (uint64_t i = 0; i < nblocks; i++)
        HD_TRY(read_block(r, r->profile->funcs.len - 1));
    return HD_OK;
}

enum hd_status ir_profile_parse(struct hd_str text, const char *name,
                                struct ir_profile *out_profile)
{
    struct reader r = {.left = text, .name = name, .profile = out_profile};
    struct hd_str line = {0};
    enum hd_status status = HD_OK;

    ir_profile_init(out_profile);
    out_profile->hash = hd_hash(text.ptr, text.len, 0);
    if (!next_line(&r, &line) || !hd_str_is(line, PROFILE_MAGIC)) {
        r.line = 1;
        status = refuse(&r, "no profile: the first line is not '" PROFILE_MAGIC "'");
    }
    while (status == HD_OK && next_line(&r, &line))
        status = read_func(&r, line);
    if (status != HD_OK)
        ir_profile_fini(out_profile);
    return status;
}

enum hd_status ir_profile_read(const char *path, struct ir_profile *out_profile)
{
    struct hd_buf text;
    enum hd_status status;

    hd_buf_init(&text);
    status = hd_file_read_kept(path, PROFILE_MAX_B, &text);
    if (status == HD_OK)
        status = ir_profile_parse((struct hd_str){text.ptr, text.len}, path, out_profile);
    hd_buf_fini(&text);
    return status;
}

enum hd_status ir_profile_write(const struct ir_profile *profile, const char *path)
{
    struct ir_profile all;
    struct hd_buf text;
    enum hd_status status;
    int turn;

    HD_TRY(hd_file_turn_begin(path, &turn));
    hd_buf_init(&text);
    status = ir_profile_read(path, &all);
    if (status == HD_NOT_FOUND) {
        ir_profile_init(&all);
        status = HD_OK;
    }
    if (status == HD_OK) {
        status = ir_profile_merge(&all, profile);
        ir_profile_print(&all, &text);
        ir_profile_fini(&all);
    }
    if (status == HD_OK && text.failed)
        status = hd_error(HD_NO_MEMORY, "profile %s: no memory", path);
    if (status == HD_OK)
        status = hd_file_write(path, text.ptr, text.len);
    hd_buf_fini(&text);
    hd_file_turn_end(turn);
    return status;
}

/* ---- recording */

static pthread_mutex_t record_lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(profile, record_lock);
/* record_lock; */
static struct {
    struct ir_profile counted;
    pid_t process; /* whose counts these are; 0: nobody's yet */
    bool is_over;  /* the process ends: what comes is written at once */
} record;

bool ir_profile_is_recorded(void)
{
    return hd_env("HEDDLE_PROFILE") != NULL;
}

static void record_write_locked(void)
{
    const char *path = hd_env("HEDDLE_PROFILE");

    if (path && record.counted.funcs.len && ir_profile_write(&record.counted, path) != HD_OK)
        hd_log("HEDDLE_PROFILE: nothing is added to the profile: %s", hd_error_message());
    ir_profile_fini(&record.counted);
    ir_profile_init(&record.counted);
}

static void record_end(void)
{
    pthread_mutex_lock(&record_lock);
    if (record.process == getpid()) {
        record.is_over = true;
        record_write_locked();
    }
    pthread_mutex_unlock(&record_lock);
}

enum hd_status ir_profile_record_start(void)
{
    struct ir_profile nothing;

    ir_profile_init(&nothing);
    return ir_profile_write(&nothing, hd_env("HEDDLE_PROFILE"));
}

void ir_profile_record(const struct ir_profile *counted)
{
    pthread_mutex_lock(&record_lock);
    if (record.process != getpid()) {
        if (!record.process)
            (void)atexit(record_end);
        else
            ir_profile_fini(&record.counted);
        ir_profile_init(&record.counted);
        record.process = getpid();
        record.is_over = false;
    }
    if (ir_profile_merge(&record.counted, counted) != HD_OK)
        hd_log("HEDDLE_PROFILE: a launch is not counted: %s", hd_error_message());
    if (record.is_over)
        record_write_locked();
    pthread_mutex_unlock(&record_lock);
}
