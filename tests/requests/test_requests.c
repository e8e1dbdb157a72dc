/*
 * Requests: the histogram's buckets, exact counts and percentiles against a sorted list; places in
 * the file, also with several processes and a damaged one; the listener, with events of our own.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heddle/tap.h"
#include "requests/requests.h"
#include "tap.h"

static heddle_listener listener;

/* libcuda's, for the listener. */
uint32_t heddle_tap_subscribe(uint32_t kinds, heddle_listener function, void *user)
{
    listener = kinds == HEDDLE_KIND(NVTX) && !user ? function : NULL;
    return 1;
}

/* ---- the histogram */

static void test_buckets(void)
{
    bool in_order = true, inside = true, narrow = true, powers = true;
    uint64_t seed = tap_seed();

    for (unsigned b = 0; b < REQUESTS_BUCKETS; b++) {
        uint64_t end = requests_bucket_ns(b), before = b ? requests_bucket_ns(b - 1) : 0;

        in_order = in_order && end > before;
        inside = inside && requests_bucket_of(end) == b && requests_bucket_of(before + 1) == b;
        narrow = narrow && (end - before == 1 || end - before <= before / 64);
    }
    ok(in_order, "ends of buckets go up");
    ok(inside, "a bucket has its end, and what follows the end before");
    ok(narrow, "none is wider than a 64th");
    for (unsigned bit = 7; bit <= REQUESTS_LAST_BITS; bit++)
        powers = powers && requests_bucket_ns(requests_bucket_of((uint64_t)1 << bit)) == (uint64_t)1
                                                                                             << bit;
    ok(powers, "powers of two are ends");
    eq_u64(requests_bucket_of(0), 0, "0 ns");
    eq_u64(requests_bucket_of(UINT64_MAX), REQUESTS_BUCKETS - 1, "the longest");
    eq_u64(requests_bucket_ns(REQUESTS_BUCKETS - 1), REQUESTS_MAX_NS, "which is 2.4 hours");
    for (unsigned i = 0; i < 100000 && inside; i++) {
        uint64_t ns = tap_random(&seed) >> (tap_random(&seed) % 43 + 21);
        unsigned b = requests_bucket_of(ns);

        inside = ns <= requests_bucket_ns(b) && (!b || ns > requests_bucket_ns(b - 1) || !ns);
    }
    ok(inside, "random durations lie in their buckets");
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void test_quantiles(void)
{
    enum { N = 20000 };
    static uint64_t values[N];
    static struct requests_counts counts;
    static const double quantiles[] = {0, 0.001, 0.5, 0.9, 0.99, 0.999, 1};
    uint64_t seed = tap_seed();

    eq_u64(requests_quantile_ns(&counts, 0.5), 0, "of nothing");
    for (unsigned i = 0; i < N; i++) {
        values[i] = tap_random(&seed) >> (tap_random(&seed) % 30 + 25);
        counts.at[requests_bucket_of(values[i])]++;
    }
    qsort(values, N, sizeof(values[0]), compare);
    eq_u64(requests_total(&counts), N, "each is counted");
    for (size_t q = 0; q < HD_COUNT_OF(quantiles); q++) {
        double rank = ceil(quantiles[q] * N);
        uint64_t exact = values[rank > 0 ? (size_t)rank - 1 : 0];
        uint64_t got = requests_quantile_ns(&counts, quantiles[q]);

        ok(got >= exact && got <= exact + exact / 64 + 1, "quantile %g: %llu for %llu",
           quantiles[q], (unsigned long long)got, (unsigned long long)exact);
    }
    for (unsigned bit = 7; bit < 40; bit += 4) {
        unsigned n = 0;

        while (n < N && values[n] <= (uint64_t)1 << bit)
            n++;
        eq_u64(requests_below(&counts, (uint64_t)1 << bit), n, "at most 2^%u ns, exactly", bit);
    }
}

/* ---- the file */

static const struct requests_name apple = {.program = "shop", .range = "apple"};

static void test_places(void)
{
    static struct requests_read r;
    struct requests_file *file = NULL;
    struct requests_name name = {.program = "shop"};
    unsigned taken = 0;

    eq_u64(requests_make(&file), HD_OK, "a new file");
    struct requests_series *s = requests_place(file, &apple);
    ok(s && s == requests_place(file, &apple), "a name has one place");
    requests_count(s, 100);
    requests_count(s, 1000000);
    for (uint32_t i = 0; i < REQUESTS_SERIES; i++)
        taken += requests_read(file, i, &r);
    eq_u64(taken, 1, "a reader sees it");
    for (unsigned i = 1; i < REQUESTS_SERIES; i++) {
        (void)snprintf(name.range, sizeof(name.range), "%u", i);
        taken += requests_place(file, &name) != NULL;
    }
    eq_u64(taken, REQUESTS_SERIES, "until all are taken");
    (void)snprintf(name.range, sizeof(name.range), "another");
    ok(!requests_place(file, &name), "then there is none");
    ok(requests_place(file, &apple) == s, "the first is still there");
    requests_read(file, (uint32_t)(s - file->series), &r);
    eq_u64(r.sum_ns, 1000100, "sum");
    eq_u64(r.max_ns, 1000000, "longest");
    eq_u64(requests_total(&r.counts), 2, "count");
    /* Of a process that was killed while it filled the place. */
    pid_t pid = fork();
    if (!pid)
        _exit(0);
    (void)waitpid(pid, NULL, 0);
    atomic_store(&s->owner, (uint64_t)pid);
    ok(!requests_read(file, (uint32_t)(s - file->series), &r), "a place that is being filled");
    ok(requests_place(file, &apple) == s, "is taken from a process that has ended");
    munmap(file, sizeof(*file));
}

static void *count_many(void *arg)
{
    for (unsigned i = 0; i < 10000; i++)
        requests_count(arg, i);
    return NULL;
}

/* Eight processes and their threads take the same place at the same time, and lose nothing. */
static void test_together(void)
{
    enum { PROCESSES = 8, THREADS = 2 };
    static struct requests_read r;
    struct requests_file *file = NULL;
    struct requests_name pear = {.program = "shop", .range = "pear"};
    char path[256];

    (void)snprintf(path, sizeof(path), "%s.requests.1", getenv("HEDDLE_REGISTRY"));
    unlink(path);
    for (unsigned p = 0; p < PROCESSES; p++) {
        pthread_t threads[THREADS];

        if (fork())
            continue;
        if (requests_make(&file) != HD_OK)
            _exit(1);
        struct requests_series *s = requests_place(file, &pear);
        for (unsigned t = 0; t < THREADS; t++)
            if (!s || pthread_create(&threads[t], NULL, count_many, s))
                _exit(1);
        for (unsigned t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
        _exit(0);
    }
    while (wait(NULL) > 0)
        ;
    eq_u64(requests_make(&file), HD_OK, "the file that they made");
    struct requests_series *s = requests_place(file, &pear);
    requests_read(file, (uint32_t)(s - file->series), &r);
    eq_u64(requests_total(&r.counts), PROCESSES * THREADS * 10000, "all are counted");
    eq_u64(r.sum_ns, (uint64_t)PROCESSES * THREADS * (9999 * 10000 / 2), "and added");
    unsigned places = 0;
    for (uint32_t i = 0; i < REQUESTS_SERIES; i++)
        places += requests_read(file, i, &r);
    eq_u64(places, 1, "in one place");
    munmap(file, sizeof(*file));
}

static void test_refused(void)
{
    static struct requests_file bytes;

    ok(requests_check(&bytes, sizeof(bytes)) == HD_CORRUPT, "a file without a head");
    ok(requests_check(&bytes, 100) == HD_CORRUPT, "a short one");
}

/* ---- lists */

static void test_lists(void)
{
    static const struct {
        const char *list, *domain, *text, *range; /* NULL: it is in none */
    } rows[] = {
        {"a", "", "a", "a"},
        {"a", "", "ab", NULL},
        {"a", "dom", "a", "a"},
        {"a@dom", "dom", "a", "a"},
        {"a@dom", "", "a", NULL},
        {"b,a*", "", "ab", "a*"},
        {"a*@dom", "dom", "a 17", "a*"},
        {"*", "", "anything", "anything"},
        {"*@dom", "dom", "anything", "anything"},
        {"*@dom", "other", "anything", NULL},
        {"a,*", "", "b", "b"},
    };
    char range[128];

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        bool found = requests_list_find(rows[i].list, rows[i].domain, rows[i].text, range);

        ok(found == !!rows[i].range && (!found || !strcmp(range, rows[i].range)),
           "%s has %s@%s: %s", rows[i].list, rows[i].text, rows[i].domain,
           rows[i].range ? rows[i].range : "no");
    }
    ok(requests_list_check("a,b@c,d*") && !requests_list_check("a,,b") &&
           !requests_list_check("") && !requests_list_check("@a") && !requests_list_check("a,"),
       "lists that are none");
}

/* ---- the listener */

static void tell(enum heddle_nvtx_call call, uint64_t time_ns, uint32_t domain, const char *text,
                 uint64_t range)
{
    struct heddle_event e = {.kind = HEDDLE_EVENT_NVTX, .time_ns = time_ns};

    e.nvtx.call = call;
    e.nvtx.domain = domain;
    e.nvtx.domain_name = domain ? "dom" : NULL;
    e.nvtx.text = text;
    e.nvtx.range = range;
    listener(NULL, &e);
}

static uint64_t counted(const char *domain, const char *range, uint64_t *out_sum_ns)
{
    static struct requests_read r;

    for (uint32_t i = 0; i < REQUESTS_SERIES; i++)
        if (requests_read(requests_open(), i, &r) && !strcmp(r.name.domain, domain) &&
            !strcmp(r.name.range, range)) {
            *out_sum_ns = r.sum_ns;
            return requests_total(&r.counts);
        }
    return 0;
}

static void *end_range(void *arg)
{
    tell(HEDDLE_NVTX_RANGE_END, 2000, 0, NULL, *(uint64_t *)arg);
    return NULL;
}

static void test_listener(void)
{
    uint64_t sum_ns = 0, id = 5;
    pthread_t thread;

    setenv("HEDDLE_REQUESTS", "outer,inner@dom,job*", 1);
    ok(requests_start() == HD_OK && listener, "it listens");
    tell(HEDDLE_NVTX_RANGE_PUSH, 100, 0, "outer", 0);
    tell(HEDDLE_NVTX_RANGE_PUSH, 150, 0, "other", 0);
    tell(HEDDLE_NVTX_RANGE_PUSH, 200, 1, "inner", 0);
    tell(HEDDLE_NVTX_RANGE_POP, 250, 0, NULL, 0); /* of the other domain: "other" */
    tell(HEDDLE_NVTX_RANGE_POP, 300, 0, NULL, 0);
    tell(HEDDLE_NVTX_RANGE_POP, 400, 1, NULL, 0);
    tell(HEDDLE_NVTX_RANGE_POP, 500, 0, NULL, 0); /* nothing is open */
    eq_u64(counted("", "outer", &sum_ns), 1, "pushed and popped");
    eq_u64(sum_ns, 200, "its duration");
    eq_u64(counted("dom", "inner", &sum_ns), 1, "of another domain");
    eq_u64(sum_ns, 200, "whose ranges are apart");
    eq_u64(counted("", "other", &sum_ns), 0, "what is not asked for is not counted");
    tell(HEDDLE_NVTX_RANGE_START, 1000, 0, "job 5", id);
    tell(HEDDLE_NVTX_RANGE_START, 1000, 0, "job 6", 6);
    tell(HEDDLE_NVTX_RANGE_END, 1500, 0, NULL, 77);
    pthread_create(&thread, NULL, end_range, &id);
    pthread_join(thread, NULL);
    tell(HEDDLE_NVTX_RANGE_END, 9000, 0, NULL, id); /* a second time */
    eq_u64(counted("", "job*", &sum_ns), 1, "started here, ended on another thread");
    eq_u64(sum_ns, 1000, "once");
    for (unsigned i = 0; i < 200; i++)
        tell(HEDDLE_NVTX_RANGE_PUSH, 10000, 0, "outer", 0);
    for (unsigned i = 0; i < 200; i++)
        tell(HEDDLE_NVTX_RANGE_POP, 10010, 0, NULL, 0);
    uint64_t deep = counted("", "outer", &sum_ns) - 1;
    uint64_t lost = atomic_load(&requests_open()->lost);
    eq_u64(deep + lost, 200, "200 deep: each is counted, or counted as lost");
    tell(HEDDLE_NVTX_RANGE_START, 1, 0, "job 6", 6 + 4096); /* in the place of one that is open */
    eq_u64(atomic_load(&requests_open()->lost), lost + 1, "and one without an end");
}

static void test_bad_list(void)
{
    setenv("HEDDLE_REQUESTS", "a,,b", 1);
    ok(requests_start() == HD_BAD_ARG && strstr(hd_error_message(), "a,,b"), "a bad list");
    unsetenv("HEDDLE_REQUESTS");
    listener = NULL;
    ok(requests_start() == HD_OK && !listener, "without the variable nothing listens");
}

int main(void)
{
    char folder[] = "/tmp/heddle-requests-XXXXXX", path[64], file[80];

    if (!mkdtemp(folder))
        return 1;
    (void)snprintf(path, sizeof(path), "%s/registry", folder);
    setenv("HEDDLE_REGISTRY", path, 1);
    test_buckets();
    test_quantiles();
    test_refused();
    test_lists();
    test_bad_list();
    test_together();
    (void)snprintf(file, sizeof(file), "%s.requests.1", path);
    unlink(file);
    test_listener(); /* requests_open() finds this file from now on */
    unlink(file);
    test_places();
    unlink(file);
    rmdir(folder);
    return done();
}
