/* HEDDLE_CHECK: what is taken, what is refused and where, which kernels the filters take. */
#include "san/options.h"

#include "san/tool.h"
#include "tap.h"

static void test_defaults(void)
{
    struct san_options o;
    san_options_init(&o);
    ok(o.leak_check == SAN_LEAK_NO && o.padding_B == 0 && o.report_api_errors == SAN_API_EXTENDED &&
           o.check_device_heap && o.racecheck_report == SAN_RACE_REPORT_ANALYSIS &&
           o.racecheck_level == SAN_RACE_LEVEL_WARN && o.initcheck_space == SAN_INIT_SPACE_GLOBAL &&
           !o.track_unused_memory && o.target_processes == SAN_TARGETS_ALL &&
           o.show_backtrace == SAN_BACKTRACE_YES && o.record_limit == 100,
       "defaults");
    ok(san_options_take(&o, "any"), "without filters every kernel is taken");
    san_options_fini(&o);
}

static void test_line(void)
{
    struct san_options o;
    struct hd_buf line = {0};
    san_options_init(&o);
    san_options_write(&line, "socket", HD_STR("a b%c\n\xc3\xa9"));
    san_options_write(&line, "tools", HD_STR("memcheck,synccheck"));
    san_options_write(&line, "leak-check", HD_STR("full"));
    san_options_write(&line, "track-unused-memory", HD_STR("yes"));
    san_options_write(&line, "launch-skip", HD_STR("18446744073709551615"));
    eq_str(line.ptr,
           "socket=a%20b%25c%0a%c3%a9 tools=memcheck,synccheck leak-check=full "
           "track-unused-memory=yes launch-skip=18446744073709551615",
           "a line");
    eq_u64(san_options_parse(&o, line.ptr), HD_OK, "it is read");
    eq_str(o.socket, "a b%c\n\xc3\xa9", "a text comes back");
    eq_u64(o.tools, 1u << SAN_MEMCHECK | 1u << SAN_SYNCCHECK, "tools");
    ok(o.leak_check == SAN_LEAK_FULL && o.track_unused_memory && o.launch_skip == UINT64_MAX,
       "a choice, yes, a number");
    hd_buf_fini(&line);
    san_options_fini(&o);
}

static void test_filters(void)
{
    struct san_options o;
    san_options_init(&o);
    eq_u64(san_options_parse(&o, "kernel-name=kns=gemm,kne=_Z5gammaPi kernel-name=regex=^x,[ab]$ "
                                 "kernel-name-exclude=kernel_substring=gemm_slow"),
           HD_OK, "filters");
    ok(san_options_take(&o, "my_gemm_1") && san_options_take(&o, "_Z5gammaPi") &&
           san_options_take(&o, "x,a"),
       "any of them is enough; a regular expression may have commas");
    ok(!san_options_take(&o, "_Z5gammaPii") && !san_options_take(&o, "x,c") &&
           !san_options_take(&o, "gemm_slow"),
       "what is not taken");
    san_options_fini(&o);
    san_options_init(&o);
    eq_u64(san_options_parse(&o, "tools=all kernel-name=axpy,kns=gemm,dot,_Z3sumPi"), HD_OK,
           "names alone");
    eq_u64(o.tools, (1u << SAN_TOOL_COUNT) - 1, "all tools");
    ok(san_options_take(&o, "_Z4axpyPfi") && san_options_take(&o, "_Z4axpyIfEvPT_i") &&
           san_options_take(&o, "_ZN4blas4axpyEv") && san_options_take(&o, "dot") &&
           san_options_take(&o, "my_gemm") && san_options_take(&o, "_Z3sumPi"),
       "a name alone is that of the function");
    ok(!san_options_take(&o, "_Z5axpy2Pfi") && !san_options_take(&o, "_Z5saxpyPfi") &&
           !san_options_take(&o, "dots") && !san_options_take(&o, "o"),
       "and not a part of it");
    san_options_fini(&o);
}

static void test_refused(void)
{
    static const char *const bad[][2] = {
        {"", "column 1: there is no NAME=VALUE"},
        {"tools=memcheck ", "column 16: there is no NAME=VALUE"},
        {"tools=memcheck  socket=a", "column 16: there is no NAME=VALUE"},
        {"tools=memchek", "column 1: tool 'memchek' is unknown; there are memcheck,"},
        {"tools=memcheck,", "column 1: tool '' is unknown"},
        {"socket=a colour=red", "column 10: there is no option 'colour'"},
        {"leak-check=maybe",
         "column 1: leak-check: 'maybe' is not possible: it takes one of no, full"},
        {"padding=-1", "padding: '-1' is not possible: it takes a number, 0 to 4294967295"},
        {"padding=4294967296", "it takes a number"},
        {"unused-memory-threshold=101", "it takes a number, 0 to 100"},
        {"check-device-heap=perhaps", "it takes yes or no"},
        {"racecheck-report=", "it takes one of hazard, analysis, all"},
        {"socket=", "it takes a text"},
        {"socket=a%00b", "it takes a text"},
        {"socket=a%2", "a character in it has to be written as %XX"},
        {"socket=a%2G", "has to be written as %XX"},
        {"socket=\xc3\xa9", "has to be written as %XX"},
        {"socket=a\tb", "has to be written as %XX"},
        {"kernel-name=gem=m", "it takes the function's NAME, or KEY=TEXT"},
        {"kernel-name==m", "it takes the function's NAME, or KEY=TEXT"},
        {"kernel-name=gemm,", "it takes the function's NAME, or KEY=TEXT"},
        {"kernel-name=kns=", "it takes a text behind '='"},
        {"kernel-name=kns=a,", "it takes"},
        {"kernel-name=regex=(", "'(' is no regular expression"},
        {"kernel-name=", "it takes the function's NAME, or KEY=TEXT"},
        {"=x", "there is no NAME=VALUE"},
    };
    for (size_t i = 0; i < HD_COUNT_OF(bad); i++) {
        struct san_options o;
        san_options_init(&o);
        bool is = san_options_parse(&o, bad[i][0]) == HD_BAD_ARG ||
                  strstr(bad[i][1], "there is no option");
        ok(is && strstr(hd_error_message(), bad[i][1]), "refused: '%s'", bad[i][0]);
        if (!strstr(hd_error_message(), bad[i][1]))
            diag("%s", hd_error_message());
        san_options_fini(&o);
    }
}

static bool parse_all(void *unused)
{
    struct san_options o;
    san_options_init(&o);
    bool worked = san_options_parse(&o, "socket=a tools=memcheck kernel-name=kns=a,kne=b "
                                        "kernel-name=regex=c socket=d") == HD_OK;
    san_options_fini(&o);
    return worked;
}

int main(void)
{
    test_defaults();
    test_line();
    test_filters();
    test_refused();
    tap_oom_loop(parse_all, NULL, "a line");
    return done();
}
