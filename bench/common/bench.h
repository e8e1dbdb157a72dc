/* Harness shared by the CUDA, OpenCL and C + OpenMP versions of the kernels (C++11,
 * header only, no STL).
 *
 * Every program understands:  [size1 [size2]] [-r reps] [-w warmups] [-n] [-v] [-e] [-dump FILE]
 * -n     do not check the result            -v  append the fastest and the first run to the
 * output line
 *   -e     time with device events instead of the host clock (CUDA only)
 *   -dump  write the result arrays, as raw bytes one after the other, to FILE (after a checked run)
 * and prints one line:  name,median_ms,gflops_or_gbs,PASS|FAIL|SKIP[,min_ms,first_ms]
 */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <math.h>
#include <time.h>

struct bench_args {
    long size[2];
    int reps;
    int warmups;
    int check;
    int verbose;
    int events;
    const char *dump_path; /* NULL: no dump */
};

/* The arrays that make up the result, in host memory; registered by the program before
 * bench_run(). */
struct bench_result_array {
    const void *bytes;
    size_t size_B;
};

enum { BENCH_MAX_REPS = 1000, BENCH_MAX_RESULTS = 4 };

static bench_result_array bench_results[BENCH_MAX_RESULTS];
static int bench_num_results;
static double bench_first_ms, bench_min_ms, bench_median_ms;

/* BENCH_PROCESSOR_TIME: of this process alone, for one thread on a busy machine. */
static inline double now_ms(void)
{
    static int is_known, clock_id = CLOCK_MONOTONIC;
    struct timespec t;

    if (!is_known && getenv("BENCH_PROCESSOR_TIME"))
        clock_id = CLOCK_PROCESS_CPUTIME_ID;
    is_known = 1;
    clock_gettime(clock_id, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

/* Timers: the host clock by default; cu.h installs device events for -e. */
static double bench_clock_start;

static void bench_clock_begin(void)
{
    bench_clock_start = now_ms();
}

static double bench_clock_end(void)
{
    return now_ms() - bench_clock_start;
}

static void (*bench_begin)(void) = bench_clock_begin;
static double (*bench_end_ms)(void) = bench_clock_end;

template <class T> static void bench_result(const T *array, size_t n)
{
    if (bench_num_results == BENCH_MAX_RESULTS)
        abort();
    bench_results[bench_num_results].bytes = array;
    bench_results[bench_num_results].size_B = n * sizeof(T);
    bench_num_results++;
}

static inline bench_args bench_parse(int argc, char **argv, long default0, long default1 = 0)
{
    bench_args a = {{default0, default1}, 7, 2, 1, 0, 0, NULL};
    int num_sizes = 0;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-r") && i + 1 < argc)
            a.reps = (int)strtol(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "-w") && i + 1 < argc)
            a.warmups = (int)strtol(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "-dump") && i + 1 < argc)
            a.dump_path = argv[++i];
        else if (!strcmp(argv[i], "-n"))
            a.check = 0;
        else if (!strcmp(argv[i], "-v"))
            a.verbose = 1;
        else if (!strcmp(argv[i], "-e"))
            a.events = 1;
        else if (num_sizes < 2)
            a.size[num_sizes++] = strtol(argv[i], NULL, 10);
    }
    if (a.reps < 1)
        a.reps = 1;
    if (a.reps > BENCH_MAX_REPS)
        a.reps = BENCH_MAX_REPS;
    if (a.warmups < 0)
        a.warmups = 0;
    return a;
}

static inline int bench_compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static inline int bench_write_dump(const char *path)
{
    FILE *f = fopen(path, "wb");

    if (!f) {
        perror(path);
        return 0;
    }
    for (int i = 0; i < bench_num_results; i++)
        fwrite(bench_results[i].bytes, 1, bench_results[i].size_B, f);
    return fclose(f) == 0;
}

/* For benchmarks whose runs do not change their input. */
static inline void bench_no_reset(void)
{
}

/* Runs and reports one benchmark; returns the exit status of the program.
 * work: flops or bytes of one run. reset() is not timed; run() must be synchronous; check()
 * fetches and tests the result. */
template <class Reset, class Run, class Check>
static int bench_run(const char *name, const bench_args &a, double work, Reset reset, Run run,
                     Check check)
{
    static double time_ms[BENCH_MAX_REPS];
    const char *verdict = "SKIP";

    reset();
    bench_begin();
    run();
    bench_first_ms = bench_end_ms();
    for (int i = 1; i < a.warmups; i++) {
        reset();
        run();
    }
    for (int i = 0; i < a.reps; i++) {
        reset();
        bench_begin();
        run();
        time_ms[i] = bench_end_ms();
    }
    qsort(time_ms, a.reps, sizeof(time_ms[0]), bench_compare_double);
    bench_min_ms = time_ms[0];
    bench_median_ms = time_ms[a.reps / 2];
    if (a.check)
        verdict = check() ? "PASS" : "FAIL";
    if (a.check && a.dump_path && !bench_write_dump(a.dump_path))
        verdict = "FAIL";
    printf("%s,%.4f,%.3f,%s", name, bench_median_ms, work / bench_median_ms * 1e-6, verdict);
    if (a.verbose)
        printf(",%.4f,%.4f", bench_min_ms, bench_first_ms);
    return verdict[0] == 'F';
}
