/* Keys of the code cache: every input changes them. */
#include "obj/fingerprint.h"
#include "tap.h"

static bool same_key(struct obj_cache_key a, struct obj_cache_key b)
{
    return a.low == b.low && a.high == b.high;
}

static struct obj_fingerprint some_print(void)
{
    struct obj_fingerprint print;
    obj_fingerprint_init(&print, "object");
    print.kernel = "saxpy";
    print.features = "+gfni";
    return print;
}

static void change_STR(const char **text)
{
    *text = *text ? "other" : "";
}
static void change_U64(uint64_t *value)
{
    *value ^= 1;
}
static void change_KEY(struct obj_cache_key *key)
{
    key->high ^= 1;
}

static void test_every_input(void)
{
    struct obj_fingerprint print = some_print(), again = some_print();
    struct obj_cache_key key = obj_fingerprint_key(&print);
    ok(same_key(key, obj_fingerprint_key(&again)), "same inputs, same key");
#define X(kind, name, doc)                                                                         \
    print = some_print();                                                                          \
    change_##kind(&print.name);                                                                    \
    ok(!same_key(key, obj_fingerprint_key(&print)), "other key for another %s (%s)", #name, doc);
    OBJ_FINGERPRINT_LIST(X)
#undef X
}

static void test_environment(void)
{
    struct obj_fingerprint print = some_print();
    struct obj_cache_key key = obj_fingerprint_key(&print);
    setenv("HEDDLE_SKIP_PASS", "ir_opt_cse", 1);
    print = some_print();
    ok(!same_key(key, obj_fingerprint_key(&print)), "HEDDLE_SKIP_PASS does not poison the cache");
    unsetenv("HEDDLE_SKIP_PASS");
    print = some_print();
    ok(same_key(key, obj_fingerprint_key(&print)), "and the key comes back without it");
}

int main(void)
{
    unsetenv("HEDDLE_SKIP_PASS");
    test_every_input();
    test_environment();
    return done();
}
