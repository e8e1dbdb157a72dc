/*
 * A program that finds what it is told: fake_process WORD... Without a GPU, a kernel or libcuda it
 * sends the records that the checker in libcuda would send. Words:
 *
 *     write race hazard api leak   a finding
 *     info                         one of level info
 *     failed failed_elsewhere      a call that fails behind a kernel, and another one
 *     odd                          one whose texts have what HTML, XML and terminals take apart
 *     nowhere                      one whose instruction has no line
 *     x5                           the next finding five times
 *     y5                           likewise, by a thread each, and at an address each
 *     fault ended                  a kernel that ended its context; one that a tool ended
 *     step                         what follows is of the next launch
 *     leaked                       the summary of leaks
 *     bad                          a record that is none
 *     say                          a line on stdout
 *     fork                         a child that finds what follows, for which the parent waits
 *     orphan                       a child that finds what follows, a moment after the parent ended
 *     exit3 kill interrupt wait              how the program ends
 *     quiet                        nothing is started at all: a program without CUDA
 */
#include <signal.h>
#include <sys/wait.h>

#include "fake.h"
#include "receiver.h"
#include "san/options.h"

static struct fake fake;

/* Something on the host's stack that the symbol table knows. */
static HD_NOINLINE void find(struct san_finding *finding, unsigned times, bool by_all)
{
    for (unsigned i = 0; i < times; i++) {
        for (uint32_t a = 0; by_all && a < finding->nactors; a++) {
            finding->actors[a].warp = (i + a) / 32;
            finding->actors[a].lane = (i + a) % 32;
        }
        san_report(finding);
        finding->address += by_all ? 4 : 0;
    }
}

static struct san_finding odd(void)
{
    struct san_finding f = fake_invalid_write(&fake);
    f.kind = "odd<&>\"'";
    f.ndetails = 0;
    snprintf(f.title, sizeof(f.title), "<script>alert(\"1\")</script> & ]]> \xc3\xa9 \xff");
    san_detail(&f, "http://example.invalid/?a=1&b='2'");
    return f;
}

static struct san_finding failed(const char *call)
{
    struct san_finding f = fake_api_error(&fake);

    snprintf(
        f.title, sizeof(f.title),
        "Program hit cudaErrorIllegalAddress (error 700) due to \"an illegal memory access was "
        "encountered\" on CUDA API call to %s.",
        call);
    f.call.name = call;
    f.call.error = "cudaErrorIllegalAddress";
    f.call.code = 700;
    return f;
}

static struct san_finding nowhere(void)
{
    struct san_finding f = fake_invalid_write(&fake);

    f.actors[0].at = fake.plain;
    return f;
}

static struct san_finding info(void)
{
    struct san_finding f = fake_hazard(&fake);
    f.severity = SAN_INFO;
    f.kind = "hazard-info";
    return f;
}

/* Two threads wrote what differs, in two orders. */
static struct san_finding order(enum san_severity severity)
{
    struct san_finding f = {.tool = "schedcheck",
                            .kind = "block-order",
                            .severity = severity,
                            .title = "Result depends on the order of blocks (1,0,0) and (2,0,0)",
                            .launch = &fake.launch,
                            .count = 1,
                            .nactors = 2,
                            .space = "global"};

    for (uint32_t i = 0; i < 2; i++)
        f.actors[i] = fake_actor(&fake, fake.write_global, i, 3,
                                 i ? "In the second order last written by thread"
                                   : "In the first order last written by thread");
    san_detail(&f, "First order, block (1,0,0) before block (2,0,0): 01 00 00 00");
    return f;
}

static void report_orders(void)
{
    san_summary("schedcheck", "launches", 3);
    san_summary("schedcheck", "runs", 21);
    san_summary("schedcheck", "unfinished", 1);
    san_summary("schedcheck", "skipped: launch kernels", 2);
}

static bool finding_of(const char *word, struct san_finding *out)
{
    if (strcmp(word, "write") == 0)
        *out = fake_invalid_write(&fake);
    else if (strcmp(word, "race") == 0)
        *out = fake_race(&fake);
    else if (strcmp(word, "hazard") == 0)
        *out = fake_hazard(&fake);
    else if (strcmp(word, "api") == 0)
        *out = fake_api_error(&fake);
    else if (strcmp(word, "leak") == 0)
        *out = fake_leak(&fake);
    else if (strcmp(word, "failed") == 0)
        *out = failed("cudaDeviceSynchronize");
    else if (strcmp(word, "failed_elsewhere") == 0)
        *out = failed("cudaFree");
    else if (strcmp(word, "nowhere") == 0)
        *out = nowhere();
    else if (strcmp(word, "odd") == 0)
        *out = odd();
    else if (strcmp(word, "info") == 0)
        *out = info();
    else if (strcmp(word, "order") == 0)
        *out = order(SAN_ERROR);
    else if (strcmp(word, "rounding") == 0)
        *out = order(SAN_WARNING);
    else
        return false;
    return true;
}

/* As the socket's name is in HEDDLE_CHECK, a program may send anything. */
static void send_bad(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *name = san_options()->socket;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    memcpy(to.sun_path + 1, name, strlen(name));
    socklen_t to_B = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    if (connect(fd, (struct sockaddr *)&to, to_B) || send(fd, "{\"record\": 7}", 13, 0) != 13)
        perror("bad");
    close(fd);
}

/* True: the words end here for this process. */
static bool do_fork(bool waits)
{
    fflush(stdout);
    pid_t child = fork();

    if (child && waits)
        waitpid(child, NULL, 0);
    if (!child && !waits)
        usleep(200000);
    return child != 0;
}

static int end_of(const char *word)
{
    if (strcmp(word, "exit3") == 0)
        return 3;
    if (strcmp(word, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(word, "interrupt") == 0)
        kill(getpid(), SIGINT);
    if (strcmp(word, "wait") == 0)
        usleep(1500000);
    return 0;
}

/* Returns the exit status. */
static int run(int n, char **words)
{
    unsigned times = 1;
    bool by_all = false;

    for (int i = 0; i < n; i++) {
        struct san_finding finding;
        if (finding_of(words[i], &finding)) {
            find(&finding, times, by_all);
            times = 1;
            by_all = false;
        } else if (words[i][0] == 'x' || words[i][0] == 'y') {
            times = (unsigned)strtoul(words[i] + 1, NULL, 10);
            by_all = words[i][0] == 'y';
        } else if (strcmp(words[i], "step") == 0) {
            fake.launch.number++;
        } else if (strcmp(words[i], "leaked") == 0) {
            san_summary("memcheck", "leaked_B", 1024);
            san_summary("memcheck", "leaked_allocations", 1);
        } else if (strcmp(words[i], "orders") == 0) {
            report_orders();
        } else if (strcmp(words[i], "fault") == 0) {
            san_summary("", "fault: _Z3badPi", 1);
        } else if (strcmp(words[i], "ended") == 0) {
            san_summary("", "ended: _Z3badPi", 1);
        } else if (strcmp(words[i], "bad") == 0) {
            send_bad();
        } else if (strcmp(words[i], "say") == 0) {
            puts("the program");
            fflush(stdout);
        } else if (strcmp(words[i], "fork") == 0 || strcmp(words[i], "orphan") == 0) {
            if (do_fork(words[i][0] == 'f'))
                break;
        } else if (end_of(words[i])) {
            return end_of(words[i]);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "quiet") == 0)
        return run(argc - 2, argv + 2);
    if (san_record_start() != HD_OK || !fake_init(&fake)) {
        fprintf(stderr, "fake_process: %s\n", hd_error_message());
        return 9;
    }
    int code = run(argc - 1, argv + 1);
    san_record_stop();
    fake_fini(&fake);
    return code;
}
