/* Files of tuning: what is read is written, errors have their line, nothing is lost. */
#include <sys/wait.h>

#include "tap.h"
#include "tune/tune.h"

static const char whole[] = "heddle-tuning 1\n"
                            "kernel 00000000000000ff cpu-avx2 _Z1kPf\n"
                            "applies ahead,gen_prefetch\n"
                            "measured time 1200 auto\n"
                            "measured time 1100 ahead=2\n"
                            "chosen ahead=2\n"
                            "kernel 00000000000000ff isa-sm120 _Z1kPf\n"
                            "measured cycles 77 auto\n"
                            "measured instructions 18446744073709551615 isa_fold=off\n"
                            "kernel 0000000000000001 cpu-avx2 a b\n"
                            "chosen auto\n";

static enum hd_status parse(const char *text, struct tune_base *out)
{
    return tune_base_parse(hd_str_from(text), "t", out);
}

static void test_round_trip(void)
{
    struct hd_buf again = {0};
    struct tune_base base, other;
    const struct tune_kernel *k;

    eq_u64(parse(whole, &base), HD_OK, "a file is read");
    tune_base_print(&base, &again);
    ok(again.ptr && !strcmp(again.ptr, whole), "and written as it was");
    k = tune_base_find(&base, "cpu-avx2", "_Z1kPf", 255);
    ok(k && k->measures.len == 2 && k->is_chosen && tune_number(&k->chosen, TUNE_AHEAD) == 2,
       "a kernel is found by device, name and hash");
    ok(!tune_base_find(&base, "cpu-avx512", "_Z1kPf", 255) &&
           !tune_base_find(&base, "cpu-avx2", "_Z1kPf", 254),
       "and by no other");
    eq_u64(parse(whole, &other), HD_OK, "the file once more");
    eq_u64(tune_base_merge(&base, &other), HD_OK, "is added to it");
    tune_base_fini(&other);
    k = tune_base_find(&base, "cpu-avx2", "_Z1kPf", 255);
    eq_u64(k->measures.len, 4, "which then has the measurements of both");
    tune_base_fini(&base);
    hd_buf_fini(&again);
}

static void test_refused(void)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "t:1: no tuning"},
        {"heddle-tuning 2\n", "t:1: no tuning"},
        {"heddle-tuning 1\nchosen auto\n", "t:2: here a line 'kernel"},
        {"heddle-tuning 1\nkernel ff cpu-avx2 k\n", "t:2: a kernel's hash"},
        {"heddle-tuning 1\nkernel 00000000000000fg cpu-avx2 k\n", "t:2: a kernel's hash"},
        {"heddle-tuning 1\nkernel 00000000000000ff gpu k\n", "t:2: here a device"},
        {"heddle-tuning 1\nkernel 00000000000000ff cpu-0123456789012345678901234 k\n",
         "t:2: here a device"},
        {"heddle-tuning 1\nkernel 00000000000000ff cpu-avx2\n", "t:2: the kernel has no name"},
        {"heddle-tuning 1\nkernel 00000000000000ff cpu-a k\nkernel 00000000000000ff cpu-a k\n",
         "t:3: the kernel is there"},
        {"heddle-tuning 1\nkernel 00000000000000ff cpu-a k\napplies isa_fold\n",
         "t:3: an unknown parameter"},
        {"heddle-tuning 1\nkernel 00000000000000ff cpu-a k\nmeasured cycles 1 auto\n",
         "t:3: this is measured by no"},
        {"heddle-tuning 1\nkernel 00000000000000ff cpu-a k\nmeasured time -1 auto\n",
         "t:3: a cost is a number"},
        {"heddle-tuning 1\nkernel 00000000000000ff cpu-a k\nmeasured time 1 ahead=3\n",
         "t:3: '3' is no value of ahead"},
        {"heddle-tuning 1\nkernel 00000000000000ff cpu-a k\nchosen auto\nchosen auto\n",
         "t:4: the kernel has a choice"},
        {"heddle-tuning 1\nkernel 00000000000000ff cpu-a k\n\n", "t:3: a line begins with"},
    };
    struct tune_base base;

    for (size_t i = 0; i < HD_COUNT_OF(bad); i++) {
        bool refused = parse(bad[i].text, &base) == HD_BAD_ARG;

        ok(refused && strstr(hd_error_message(), bad[i].why) == hd_error_message(), "refused: %s",
           hd_error_message());
    }
}

enum { PROCESSES = 4, EACH = 25 };

static void add_one(const char *path, unsigned process, unsigned i)
{
    struct tune_measure measure = {.evaluator = TUNE_BY_TIME, .cost = EACH * process + i};
    struct tune_base base;
    struct tune_kernel *k;

    tune_base_init(&base);
    k = tune_base_add(&base, HD_STR("cpu-avx2"), HD_STR("k"), 1);
    if (!k || !hd_vec_push(&k->measures, measure) || tune_base_write(&base, path) != HD_OK)
        _exit(1);
    tune_base_fini(&base);
}

static void test_processes(void)
{
    char folder[] = "/tmp/hd-tune-XXXXXX", path[64];
    bool seen[PROCESSES * EACH] = {false}, good = mkdtemp(folder) != NULL;
    struct tune_base base;
    unsigned n = 0;
    int status;

    (void)snprintf(path, sizeof(path), "%s/t", folder);
    for (unsigned p = 0; p < PROCESSES; p++)
        if (!fork()) {
            for (unsigned i = 0; i < EACH; i++)
                add_one(path, p, i);
            _exit(0);
        }
    for (unsigned p = 0; p < PROCESSES; p++)
        good = good && wait(&status) > 0 && !status;
    ok(good, "processes write to one file");
    if (eq_u64(tune_base_read(path, &base), HD_OK, "which is a file")) {
        const struct tune_kernel *k = base.kernels.at;

        for (size_t i = 0; i < k->measures.len; i++)
            if (k->measures.at[i].cost < PROCESSES * EACH)
                seen[k->measures.at[i].cost] = true;
        for (unsigned i = 0; i < PROCESSES * EACH; i++)
            n += seen[i];
        eq_u64(n, PROCESSES * EACH, "with what each of them wrote");
        eq_u64(k->measures.len, PROCESSES * EACH, "once");
        tune_base_fini(&base);
    }
    unlink(path);
    rmdir(folder);
    eq_u64(tune_base_read(path, &base), HD_NOT_FOUND, "a file that is not there");
}

int main(void)
{
    test_round_trip();
    test_refused();
    test_processes();
    return done();
}
