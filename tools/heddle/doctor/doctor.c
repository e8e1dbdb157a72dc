/* heddle doctor: what a program needs and what of it Heddle lacks, before running it. */
#include "common/cli.h"
#include "doctor/doctor.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char help[] =
    "usage: heddle doctor [--cc N] [--json] [-v] PROGRAM|FOLDER|WHEEL...\n"
    "\n"
    "Examines programs, libraries or device images (.ptx, .fatbin, .cubin) without running them:\n"
    "how they use the CUDA runtime, every entry point of runtime and driver that they import, the\n"
    "CUDA libraries that they need, the device code inside, and every PTX instruction that Heddle\n"
    "does not take.\n"
    "\n"
    "options:\n"
    "  --cc N          check for compute capability N, e.g. 12.0 (default) or 9.0\n"
    "  --json          machine-readable output: one object, or an array for several programs\n"
    "  -v, --verbose   list everything, not only what is missing\n"
    "  -h, --help      this text\n"
    "\n"
    "A program with NVIDIA's static runtime imports nothing: its code is looked through for "
    "direct\n"
    "calls of the runtime's entry points. One that is called through a pointer is not seen.\n"
    "\n"
    "Of a folder (a project, a Python environment) or an archive (a wheel, a zip or tar file)\n"
    "every program and library that uses CUDA is examined, grouped by Python distribution. It is\n"
    "told which of them have no PTX, and what to install instead; which libraries of NVIDIA's\n"
    "Heddle's take the place of, and which it does not have.\n"
    "\n"
    "exit status: 0 every program should run, 1 something is missing, 2 wrong usage or no such "
    "file\n";

#define CC_DEFAULT 120

static int examine_file(const char *path, const struct doctor_args *args)
{
    struct doctor_report r;
    enum hd_status status = doctor_examine(path, args->cc, &r);
    if (status != HD_OK) {
        int code = status == HD_BAD_IMAGE ? doctor_archive(path, args) : -1;
        if (code < 0)
            cli_error("%s", hd_error_message());
        return code < 0 ? CLI_USAGE : code;
    }
    if (args->as_json)
        doctor_print_json(&r);
    else
        doctor_print_text(&r, args->verbose);
    int code = r.problems.len ? CLI_FAILED : CLI_OK;
    doctor_report_fini(&r);
    return code;
}

/* Exit code for one program, folder or archive. */
static int examine(const char *path, const struct doctor_args *args)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return doctor_folder(path, path, args);
    return examine_file(path, args);
}

/* "12.0" or "120"; 0 when malformed. */
static unsigned parse_cc(const char *text)
{
    char digits[8];
    size_t len = 0;
    const char *dot = strchr(text, '.');
    if (dot && (dot == text || !dot[1] || dot[2]))
        return 0;
    for (; *text && len < sizeof(digits); text++)
        if (text != dot)
            digits[len++] = *text;
    uint64_t cc;
    bool good =
        !*text && hd_str_to_u64((struct hd_str){digits, len}, 10, &cc) && cc >= 10 && cc < 1000;
    return good ? (unsigned)cc : 0;
}

/* Options may stand anywhere; programs are moved to the front of argv. -1 to go on. */
static int parse_args(int argc, char **argv, struct doctor_args *args)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json")) {
            args->as_json = true;
        } else if (!strcmp(argv[i], "-v") || !strcmp(argv[i], "--verbose")) {
            args->verbose = true;
        } else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            return cli_help(help);
        } else if (!strcmp(argv[i], "--cc") && i + 1 < argc) {
            args->cc = parse_cc(argv[++i]);
        } else if (argv[i][0] == '-') {
            return cli_usage("unknown option '%s'", argv[i]);
        } else {
            argv[args->programs++] = argv[i];
        }
    }
    if (args->cc && args->programs)
        return -1;
    return cli_usage(args->cc ? "doctor: which program?"
                              : "doctor: --cc takes a compute capability such as 12.0");
}

int cmd_doctor(int argc, char **argv)
{
    struct doctor_args args = {.cc = CC_DEFAULT, .as_json = cli_json()};
    int code = parse_args(argc, argv, &args);
    if (code >= 0)
        return code;
    bool array = args.as_json && args.programs > 1;
    code = CLI_OK;
    for (size_t i = 0; i < args.programs; i++) {
        if (array)
            fputs(i ? "," : "[", stdout);
        int one = examine(argv[i], &args);
        code = HD_MAX(code, one);
    }
    if (array)
        puts("]");
    return code;
}
