/*
 * HEDDLE_CPU: levels and features, and what it says to a value that it does not know.
 */
#include "base/log.h"
#include "jit/jit_private.h"
#include "tap.h"

static void refused(const char *text, const char *why)
{
    struct jit_cpu cpu;
    ok(jit_cpu_parse(text, &cpu) == HD_BAD_ARG, "'%s' is refused", text);
    ok(strstr(hd_error_message(), "HEDDLE_CPU=") && strstr(hd_error_message(), text) &&
           strstr(hd_error_message(), why),
       "and the message has the variable, the value and '%s': %s", why, hd_error_message());
}

static void test_best(void)
{
    struct jit_cpu best, named;
    char name[256];
    eq_u64(jit_cpu_parse(NULL, &best), HD_OK, "the best of this host");
    ok(jit_path_runs_here(best.path), "runs here");
    ok(best.path == JIT_AVX512 || !jit_path_runs_here((enum jit_path)(best.path + 1)),
       "and the next one does not");
    eq_u64(jit_cpu_parse(jit_path_name(best.path), &named), HD_OK, "by its name");
    ok(named.path == best.path && named.features == best.features, "it is the same");
    jit_cpu_name(&best, name, sizeof(name));
    ok(!strncmp(name, jit_path_name(best.path), strlen(jit_path_name(best.path))), "%s", name);
}

static void test_levels(void)
{
    struct jit_cpu cpu;
    eq_u64(jit_cpu_parse("generic", &cpu), HD_OK, "generic runs everywhere");
    eq_u64(cpu.path, JIT_GENERIC, "its level");
    eq_u64(jit_cpu_parse("generic,-sse4.2,-popcnt", &cpu), HD_OK, "also without what it may add");
    ok(!cpu.features, "which is all that it adds");
    for (int p = JIT_AVX2; p <= JIT_AVX512; p++) {
        bool runs = jit_path_runs_here((enum jit_path)p);
        const char *name = jit_path_name((enum jit_path)p);
        if (runs)
            ok(jit_cpu_parse(name, &cpu) == HD_OK && (int)cpu.path == p, "%s runs", name);
        else
            refused(name, "lacks");
    }
}

static void test_features(void)
{
    struct jit_cpu all, less;
    if (!jit_path_runs_here(JIT_AVX512)) {
        refused("avx512,-vbmi", "lacks");
        return;
    }
    eq_u64(jit_cpu_parse("avx512", &all), HD_OK, "all features");
    eq_u64(jit_cpu_parse("avx512,-vbmi,-gfni,-ifma", &less), HD_OK, "without some");
    ok(!(less.features & ~all.features), "only fewer");
    char name[256];
    jit_cpu_name(&less, name, sizeof(name));
    ok(!strstr(name, "vbmi ") && !strstr(name, "gfni"), "%s", name);
    refused("avx512,-quantum", "'-quantum' is not - and one of: ifma vbmi");
    refused("avx512,vbmi", "'vbmi'");
    refused("avx512,", "''");
}

int main(void)
{
    test_best();
    test_levels();
    test_features();
    refused("quantum", "expected avx512, avx2 or generic");
    refused("", "this CPU runs");
    refused("generic,-vbmi", "'-vbmi' is not - and one of: sse4.2 popcnt");
    if (jit_path_runs_here(JIT_AVX2))
        refused("avx2,-sse4.2", "no features");
    return done();
}
