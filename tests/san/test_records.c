/* Findings of a process as records on a socket: their members, limits, children, lost receivers. */
#include <fcntl.h>
#include <sys/wait.h>

#include "san/options.h"
#include "fake.h"
#include "receiver.h"
#include "tap.h"

static struct receiver receiver;
static struct fake fake;

static bool has(const char *text, const char *part)
{
    bool is = strstr(text, part) != NULL;

    if (!is)
        diag("no '%s' in %s", part, text);
    return is;
}

static void test_begin(void)
{
    receiver_env(&receiver,
                 "tools=memcheck,racecheck record-limit=4 padding=32 kernel-name=kns=a%20b");
    eq_u64(san_record_start(), HD_OK, "records start");
    ok(san_record_is_on(), "the process is checked");
    eq_u64(san_options()->tools, 1u << SAN_MEMCHECK | 1u << SAN_RACECHECK, "tools");
    eq_u64(san_options()->padding_B, 32, "an option");
    eq_str(san_options()->kernel_name.list.at[0].text, "a b", "a filter with a blank");
    ok(receiver_accept(&receiver), "it connects");
    const char *text = receiver_next(&receiver);
    ok(has(text, "\"record\": \"process\",") && has(text, "\"event\": \"begin\",") &&
           has(text, "test_san_records\""),
       "it says who it is");
}

static void test_finding(void)
{
    struct san_finding finding = fake_invalid_write(&fake);
    san_report(&finding);
    const char *text = receiver_next(&receiver);
    ok(has(text, "\"record\": \"finding\",") && has(text, "\"number\": 1,"), "a finding");
    ok(has(text, "\"tool\": \"memcheck\",\"kind\": \"invalid-write\",\"severity\": \"error\""),
       "what it is");
    ok(has(text, "\"address\": \"0x7f6510c00fa0\",\"space\": \"global\",\"direction\": \"write\","
                 "\"size_B\": 4"),
       "the access");
    ok(has(text, "\"launch\": {\"number\": 3,\"kernel\": \"_Z6kernelPfi\",\"grid\": [4,1,1],"
                 "\"block\": [64,1,1]}"),
       "the launch");
    ok(has(text, "\"thread\": [37,0,0],\"block\": [2,0,0]"), "who");
    ok(has(text, "\"device\": [{\"func\": \"_Z4axpyPffi\",\"file\": \"/src/app/axpy.cuh\","
                 "\"line\": 7,\"column\": 3},{\"func\": \"_Z6kernelPfi\",\"file\": "
                 "\"/src/app/main.cu\",\"line\": 20}]"),
       "where, with the call that was inlined");
    ok(has(text, "\"details\": [\"Address 0x7f6510c00fa0 is out of bounds\",\"and is 1 bytes"),
       "details");
    ok(has(text, "\"launch_stack\": [{\"pc\": \"0x") &&
           has(text, "\"allocated\": [{\"pc\": \"0x") && has(text, "\"module\": \"/"),
       "stacks, with modules by their path");
    ok(!strchr(text, '\n'), "on one line");
}

static void test_races(void)
{
    struct san_finding race = fake_race(&fake), api = fake_api_error(&fake);
    san_report(&race);
    const char *text = receiver_next(&receiver);
    ok(has(text, "\"count\": 508") && has(text, "\"verb\": \"Write access\"") &&
           has(text, "\"line\": 41") && has(text, "\"verb\": \"Read access\"") &&
           has(text, "\"thread\": [32,0,0]") && has(text, "\"line\": 51"),
       "a race has two actors");
    san_report(&api);
    text = receiver_next(&receiver);
    ok(has(text, "\"call\": {\"name\": \"cudaMalloc\",\"error\": \"cudaErrorMemoryAllocation\","
                 "\"message\": \"out of memory\",\"code\": 2}") &&
           has(text, "\"actors\": []") && !has(text, "\"launch\""),
       "an error of a call has none");
}

/* The fourth is still sent, then only the first of a new cause; the rest is counted. */
static void test_limit(void)
{
    struct san_finding finding = fake_invalid_write(&fake), other = fake_leak(&fake);
    for (int i = 0; i < 6; i++)
        san_report(&finding);
    ok(has(receiver_next(&receiver), "\"number\": 4,"), "the fourth is sent");
    ok(has(receiver_next(&receiver), "\"record\": \"more\"") &&
           has(receiver.text, "\"findings\": 1,"),
       "the fifth is counted");
    receiver_next(&receiver);
    ok(has(receiver_next(&receiver), "\"findings\": 4,\"count\": 4,"), "so are others, by and by");
    san_report(&other);
    ok(has(receiver_next(&receiver), "\"kind\": \"leak\""), "a new cause is sent");
    san_summary("memcheck", "leaked_B", 1024);
    ok(has(receiver_next(&receiver), "\"record\": \"summary\"") &&
           has(receiver.text, "\"tool\": \"memcheck\",\"name\": \"leaked_B\",\"value\": 1024}"),
       "a summary");
}

static void test_child(void)
{
    int own = receiver.fd, status;
    struct san_finding finding = fake_leak(&fake);
    pid_t child = fork();

    if (!child) {
        san_report(&finding);
        san_record_stop();
        _exit(0);
    }
    receiver.fd = -1;
    ok(receiver_accept(&receiver), "a child connects by itself");
    ok(has(receiver_next(&receiver), "\"event\": \"begin\""), "it begins");
    ok(has(receiver_next(&receiver), "\"number\": 1,"), "it counts from the start");
    ok(has(receiver_next(&receiver), "\"event\": \"end\""), "it ends");
    eq_str(receiver_next(&receiver), "", "its connection as well");
    waitpid(child, &status, 0);
    eq_u64((uint64_t)status, 0, "the child exits");
    close(receiver.fd);
    receiver.fd = own;
}

/* A program that closes all it did not open, and opens files in their place. */
static void test_closed(void)
{
    struct san_finding finding = fake_hazard(&fake);
    int first = open("/dev/null", O_RDONLY);

    close(first);
    for (int fd = 3; fd < first; fd++)
        if (fd != receiver.fd && fd != receiver.listens && dup2(STDIN_FILENO, fd) < 0)
            diag("dup2 %d", fd);
    san_report(&finding);
    ok(receiver_accept(&receiver), "the process connects again");
    ok(has(receiver_next(&receiver), "\"kind\": \"hazard-waw\""), "and its finding comes");
}

static void test_end(void)
{
    struct san_finding finding = fake_invalid_write(&fake);
    san_report(&finding);
    finding.actors[0].lane += 6;
    finding.address += 16;
    san_report(&finding);
    san_record_settle();
    ok(has(receiver_next(&receiver), "\"findings\": 7,"), "a launch has ended: what was found");
    san_report(&finding);
    san_record_stop();
    ok(has(receiver_next(&receiver), "\"findings\": 8,\"count\": 8,"), "counts that are left");
    ok(has(receiver.text,
           "\"least\": {\"thread\": [37,0,0],\"block\": [2,0,0],\"launch\": 3,\"address\": "
           "\"0x7f6510c00fa0\"},\"greatest\": {\"thread\": [43,0,0],\"block\": [2,0,0],\"launch\": "
           "3,\"address\": \"0x7f6510c00fb0\"},\"size_B\": 32}"),
       "and what they lie between");
    ok(has(receiver_next(&receiver), "\"event\": \"end\""), "the end");
    eq_str(receiver_next(&receiver), "", "nothing behind it");
    san_report(&finding);
    ok(!san_record_is_on(), "nothing is checked afterwards");
}

static void test_refused(void)
{
    static const char *const bad[][2] = {
        {"socket=nobody-is-there tools=memcheck", "nobody receives"},
        {"tools=memcheck", "names no socket"},
    };
    for (size_t i = 0; i < HD_COUNT_OF(bad); i++) {
        pid_t child = fork();
        if (!child) {
            setenv("HEDDLE_CHECK", bad[i][0], 1);
            bool right = san_record_start() == HD_BAD_ARG &&
                         strstr(hd_error_message(), bad[i][1]) && !san_record_is_on();
            _exit(right ? 0 : 1);
        }
        int status;
        waitpid(child, &status, 0);
        eq_u64((uint64_t)status, 0, "refused: %s", bad[i][0]);
    }
}

/* When the receiver goes, the program goes on. */
static void test_receiver_gone(void)
{
    pid_t child = fork();
    if (!child) {
        struct san_finding finding = fake_race(&fake);
        receiver_env(&receiver, "tools=memcheck");
        if (san_record_start() != HD_OK || !receiver_accept(&receiver))
            _exit(1);
        close(receiver.fd);
        close(receiver.listens);
        for (int i = 0; i < 10; i++)
            san_report(&finding);
        san_record_stop();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    eq_u64((uint64_t)status, 0, "a process whose receiver went away goes on");
}

int main(void)
{
    if (!ok(receiver_init(&receiver, "records") && fake_init(&fake), "a socket and a kernel"))
        return done();
    test_refused();
    test_receiver_gone();
    test_begin();
    test_finding();
    test_races();
    test_limit();
    test_child();
    test_closed();
    test_end();
    fake_fini(&fake);
    receiver_fini(&receiver);
    return done();
}
