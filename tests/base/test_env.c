#include <fcntl.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "tap.h"

static void test_read(void)
{
    unsetenv("HEDDLE_SKIP_PASS");
    ok(!hd_env("HEDDLE_SKIP_PASS"), "an unset variable is NULL");
    setenv("HEDDLE_SKIP_PASS", "", 1);
    ok(!hd_env("HEDDLE_SKIP_PASS"), "an empty one too");
    setenv("HEDDLE_SKIP_PASS", "dce", 1);
    eq_str(hd_env("HEDDLE_SKIP_PASS"), "dce", "a set one is read");
    unsetenv("HEDDLE_SKIP_PASS");
}

static void number(const char *name, const char *value, uint64_t want)
{
    uint64_t got = 7;
    setenv(name, value, 1);
    bool good = hd_env_u64(name, &got);
    ok(good == (want != 0) && got == (want ? want : 7), "%s=%s", name, value);
    unsetenv(name);
}

static void test_numbers(void)
{
    number("HEDDLE_MEMORY", "123456", 123456);
    number("HEDDLE_MEMORY", "4k", 4096);
    number("HEDDLE_MEMORY", "512M", 512ull << 20);
    number("HEDDLE_MEMORY", "4G", 4ull << 30);
    number("HEDDLE_MEMORY", "2t", 2ull << 40);
    number("HEDDLE_MEMORY", "0", 0);
    number("HEDDLE_MEMORY", "G", 0);
    number("HEDDLE_MEMORY", "4GB", 0);
    number("HEDDLE_MEMORY", "-4G", 0);
    number("HEDDLE_MEMORY", "99999999999T", 0);
    number("HEDDLE_THREADS", "1", 1);
    number("HEDDLE_THREADS", "256", 256);
    number("HEDDLE_THREADS", "257", 0);
    number("HEDDLE_THREADS", "0", 0);
    number("HEDDLE_THREADS", "two", 0);
    uint64_t untouched = 7;
    ok(!hd_env_u64("HEDDLE_MEMORY", &untouched) && untouched == 7, "unset");
}

/* One bad value at a time: the message names variable, value and what is possible. */
static void refused(const char *name, const char *value, const char *possible)
{
    setenv(name, value, 1);
    eq_u64(hd_env_check(), HD_BAD_ARG, "a bad value is refused");
    const char *why = hd_error_message();
    ok(strstr(why, name) && strstr(why, value) && strstr(why, possible), "%s", why);
    unsetenv(name);
}

static void test_check(void)
{
    eq_u64(hd_env_check(), HD_OK, "nothing is set");
    refused("HEDDLE_CPU", "quantum", "one of avx512, avx2, generic");
    refused("HEDDLE_DEVICE", "gpu", "one of cpu, interp");
    refused("HEDDLE_DEVICE", "cpu,interp", "one of cpu, interp");
    refused("HEDDLE_DEVICES", "0", "1 to 64");
    refused("HEDDLE_DEVICES", "65", "1 to 64");
    refused("HEDDLE_DEVICES", "cpu,", "of cpu, interp");
    refused("HEDDLE_DEVICES", "cpu,gpu", "a list such as");
    refused("HEDDLE_DEVICES", "cpu/0", "a list such as");
    refused("HEDDLE_DEVICES", "cpu/65", "a list such as");
    refused("HEDDLE_DEVICES", "cpu/64,cpu", "a list such as");
    refused("HEDDLE_DEVICES", "cpu/2x", "a list such as");
    refused("HEDDLE_MACHINE", "abacus", "default, t4");
    refused("HEDDLE_MEMORY", "lots", "such as 512M or 4G");
    refused("HEDDLE_CACHE_SIZE", "0", "such as 512M or 4G");
    refused("HEDDLE_THREADS", "0", "1 to 256");
    refused("HEDDLE_LOG", "debug", "./debug");
    setenv("HEDDLE_CPU", "avx512,-vbmi", 1);
    setenv("HEDDLE_DEVICE", "interp", 1);
    setenv("HEDDLE_LOG", "/tmp/log", 1);
    eq_u64(hd_env_check(), HD_OK, "good values");
    unsetenv("HEDDLE_CPU");
    unsetenv("HEDDLE_DEVICE");
    unsetenv("HEDDLE_LOG");
}

static void devices(const char *text, const char *kind, const char *want)
{
    struct hd_env_device all[HD_ENV_DEVICES_MAX];
    struct hd_buf got;

    text ? setenv("HEDDLE_DEVICES", text, 1) : unsetenv("HEDDLE_DEVICES");
    kind ? setenv("HEDDLE_DEVICE", kind, 1) : unsetenv("HEDDLE_DEVICE");
    hd_buf_init(&got);
    for (unsigned i = 0, n = hd_env_devices(all); i < n; i++)
        hd_buf_printf(&got, "%.*s*%u ", HD_STR_ARG(all[i].kind), all[i].parts);
    eq_str(got.ptr, want, "HEDDLE_DEVICES=%s", text ? text : "");
    hd_buf_fini(&got);
    unsetenv("HEDDLE_DEVICES");
    unsetenv("HEDDLE_DEVICE");
}

static void test_devices(void)
{
    devices(NULL, NULL, "cpu*1 ");
    devices("2", NULL, "cpu*1 cpu*1 ");
    devices("2", "interp", "interp*1 interp*1 ");
    devices("cpu,interp", "interp", "cpu*1 interp*1 ");
    devices("cpu/3,interp,cpu/2", NULL, "cpu*3 interp*1 cpu*2 ");
}

/* Warnings go to stderr: it is a file for the while. */
static void test_warn(void)
{
    char path[] = "/tmp/hd_test_env_XXXXXX";
    int file = mkstemp(path), old = dup(STDERR_FILENO);
    struct hd_buf text;

    setenv("HEDDLE_MEMROY", "4G", 1);
    setenv("HEDDLE_SEED", "4", 1);
    setenv("HEDDLE_DEBUG", "jit,nonsense,,load", 1);
    dup2(file, STDERR_FILENO);
    hd_env_warn();
    dup2(old, STDERR_FILENO);
    hd_buf_init(&text);
    eq_u64(hd_file_read(path, 4096, &text), HD_OK, "read");
    eq_str(text.ptr,
           "heddle: HEDDLE_DEBUG: there is no flag 'nonsense'; HEDDLE_DEBUG=help lists them\n"
           "heddle: HEDDLE_MEMROY is not a variable of Heddle; the nearest is HEDDLE_MEMORY\n",
           "unknown flags and variables, each in a line");
    hd_buf_fini(&text);
    unsetenv("HEDDLE_MEMROY");
    unsetenv("HEDDLE_DEBUG");
    close(file);
    close(old);
    unlink(path);
}

int main(void)
{
    static const char *const names[] = {
#define X(name, kind, possible, doc) name,
        HD_ENV_LIST(X)
#undef X
    };
    for (size_t i = 0; i < HD_COUNT_OF(names); i++)
        unsetenv(names[i]);
    test_read();
    test_numbers();
    test_check();
    test_devices();
    test_warn();
    return done();
}
