/* See cc_options.h. Names and values are nvcc's, as its documentation lists them. */
#include "cc/cc_options.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cc/cc_arch.h"
#include "common/cli.h"
#include "common/where.h"

static bool option_is_true(const char *value)
{
    return strcmp(value, "true") == 0 || strcmp(value, "1") == 0 || strcmp(value, "on") == 0;
}

#define HANDLER(name)                                                                              \
    static int name(struct cc_parse *p, const struct cc_option *opt, const char *value)

HANDLER(ignore)
{
    return CLI_OK;
}

HANDLER(set_mode)
{
    assert(opt->at <= CC_MODE_DLINK);
    p->job->mode = (enum cc_mode)opt->at;
    p->job->depend_mode = opt->arg;
    return CLI_OK;
}

HANDLER(set_flag)
{
    assert(opt->at && opt->at < sizeof(*p->job));
    *(bool *)((char *)p->job + opt->at) = true;
    return CLI_OK;
}

HANDLER(set_bool)
{
    assert(opt->at && opt->at < sizeof(*p->job) && value);
    *(bool *)((char *)p->job + opt->at) = option_is_true(value);
    return CLI_OK;
}

HANDLER(set_text)
{
    assert(opt->at && opt->at < sizeof(*p->job) && opt->at % sizeof(value) == 0);
    *(const char **)((char *)p->job + opt->at) = value;
    return CLI_OK;
}

/* With another phase this says no more than -rdc=true. */
HANDLER(rdc_object)
{
    p->job->rdc = true;
    if (p->job->mode == CC_MODE_LINK)
        p->job->mode = CC_MODE_OBJECT;
    return CLI_OK;
}

/* With -dlink it says of what kind the result is. */
HANDLER(cubin)
{
    p->job->cubin = true;
    if (p->job->mode != CC_MODE_DLINK)
        p->job->mode = CC_MODE_CUBIN;
    return CLI_OK;
}

HANDLER(whole_object)
{
    p->job->rdc = false;
    p->job->mode = CC_MODE_OBJECT;
    return CLI_OK;
}

HANDLER(refuse)
{
    assert(opt->arg);
    return cc_usage(opt->arg, opt->name);
}

HANDLER(options_file)
{
    struct cc_list files = {0};
    int rc = CLI_OK;
    cc_list_add_split(&files, value, ",");
    for (size_t i = 0; i < files.len && rc == CLI_OK; i++)
        rc = cc_optfile_parse(p, files.at[i]);
    return rc;
}

HANDLER(language)
{
    static const struct {
        const char *name;
        enum cc_lang lang;
    } known[] = {
        {"cu", CC_LANG_CUDA}, {"cuda", CC_LANG_CUDA}, {"c++", CC_LANG_CXX}, {"c", CC_LANG_C}};
    value += value[0] == '=';
    for (size_t i = 0; i < HD_COUNT_OF(known); i++)
        if (strcmp(value, known[i].name) == 0) {
            p->lang = known[i].lang;
            return CLI_OK;
        }
    return cc_usage("unknown language", value);
}

HANDLER(arch)
{
    return cc_arch_add(p->job, value);
}

HANDLER(gencode)
{
    return cc_arch_add_gencode(p->job, value);
}

HANDLER(level)
{
    if (strlen(value) > 1 || (*value && !strchr("0123s", *value)))
        return cc_usage("unknown optimisation level", value);
    p->job->opt = *value ? *value : '2';
    return CLI_OK;
}

/* nvcc's lists: "a,b". A comma is one in double quotes, which stay, and behind a backslash; each
 * backslash goes and protects what is behind it. */
static void option_add_list(struct cc_list *list, const char *value)
{
    struct hd_buf part;
    bool quoted = false;
    hd_buf_init(&part);
    for (const char *at = value;; at++) {
        if (*at == '\\' && at[1]) {
            hd_buf_putc(&part, *++at);
        } else if (*at && (*at != ',' || quoted)) {
            quoted ^= *at == '"';
            hd_buf_putc(&part, *at);
        } else {
            if (part.len)
                cc_list_addf(list, "%s", part.ptr);
            hd_buf_clear(&part);
            if (!*at)
                break;
        }
    }
    hd_buf_fini(&part);
}

/* To clang in every pass: "-Idir", or "-include file" for names longer than a letter. */
HANDLER(pass_value)
{
    struct cc_list values = {0};
    option_add_list(&values, value);
    for (size_t i = 0; i < values.len; i++)
        if (strlen(opt->arg) == 2 || opt->arg[strlen(opt->arg) - 1] == '=') {
            cc_list_addf(&p->job->compile, "%s%s", opt->arg, values.at[i]);
        } else {
            cc_list_add(&p->job->compile, opt->arg);
            cc_list_add(&p->job->compile, values.at[i]);
        }
    return CLI_OK;
}

HANDLER(pass)
{
    cc_list_add(&p->job->compile, opt->arg);
    return CLI_OK;
}

HANDLER(pass_host)
{
    cc_list_add(&p->job->host, opt->arg);
    if (value)
        cc_list_add(&p->job->host, value);
    return CLI_OK;
}

HANDLER(pass_host_and_link)
{
    cc_list_add(&p->job->host, opt->arg);
    cc_list_add(&p->job->link, opt->arg);
    return CLI_OK;
}

/* Dependency files come from the host pass, so that they are written once. */
HANDLER(depend_beside)
{
    p->job->depend_beside = true;
    return pass_host(p, opt, value);
}

HANDLER(depend_file)
{
    p->job->depend_file = value;
    return pass_host(p, opt, value);
}

/* The host compiler of nvcc preprocesses device code, too. */
static bool option_is_of_preprocessor(const char *word)
{
    return word[0] == '-' && word[1] && strchr("DUI", word[1]) && word[2];
}

HANDLER(host_words)
{
    struct cc_list words = {0};
    cc_list_add_forwarded(&words, value);
    for (size_t i = 0; i < words.len; i++)
        cc_list_add(option_is_of_preprocessor(words.at[i]) ? &p->job->compile : &p->job->host,
                    words.at[i]);
    return CLI_OK;
}

HANDLER(ptxas_words)
{
    cc_list_add_forwarded(&p->job->ptxas, value ? value : "-v"); /* -res-usage */
    return CLI_OK;
}

HANDLER(ptxas_value)
{
    cc_list_addf(&p->job->ptxas, "%s=%s", opt->name, value);
    return CLI_OK;
}

HANDLER(link_words)
{
    struct cc_list words = {0};
    cc_list_add_forwarded(&words, value);
    for (size_t i = 0; i < words.len; i++)
        cc_list_addf(&p->job->link, "-Wl,%s", words.at[i]);
    return CLI_OK;
}

HANDLER(run_words)
{
    cc_list_add_split(&p->job->run_args, value, ", ");
    return CLI_OK;
}

/* Heddle's own libraries are linked by path, so that no other libcublas can be picked up. */
static void option_add_library(struct cc_job *job, const char *name)
{
    static const char *const runtime[] = {"cudart", "cudart_static", "cudadevrt"};
    const char *own = where_linked(name);
    if (cc_is_one_of(name, runtime, HD_COUNT_OF(runtime))) {
        job->names_cudart |= !strncmp(name, "cudart", strlen("cudart")); /* behind -cudart none */
        return;
    }
    if (own)
        cc_list_add(&job->own, own);
    else
        cc_list_addf(&job->link, "-l%s", name);
}

HANDLER(library)
{
    struct cc_list names = {0};
    option_add_list(&names, value);
    for (size_t i = 0; i < names.len; i++)
        option_add_library(p->job, names.at[i]);
    return CLI_OK;
}

HANDLER(library_path)
{
    struct cc_list paths = {0};
    option_add_list(&paths, value);
    for (size_t i = 0; i < paths.len; i++)
        cc_list_addf(&p->job->link, "-L%s", paths.at[i]);
    return CLI_OK;
}

/* nvcc's kinds of warnings are not clang's; that all are errors means the same. */
HANDLER(warnings_are_errors)
{
    if (!value || strstr(value, "all-warnings"))
        cc_list_add(&p->job->compile, "-Werror");
    return CLI_OK;
}

HANDLER(fast_math)
{
    struct cc_list *device = &p->job->device;
    cc_list_add_split(device, "-fgpu-approx-transcendentals,-fgpu-flush-denormals-to-zero", ",");
    cc_list_add_split(device, "-mllvm,-nvptx-prec-divf32=0,-mllvm,-nvptx-prec-sqrtf32=0", ",");
    return CLI_OK;
}

HANDLER(flush_to_zero)
{
    if (option_is_true(value))
        cc_list_add(&p->job->device, "-fgpu-flush-denormals-to-zero");
    return CLI_OK;
}

/* opt->at: the level of clang's option that means IEEE. */
HANDLER(precise)
{
    cc_list_add(&p->job->device, "-mllvm");
    cc_list_addf(&p->job->device, "%s=%zu", opt->arg, option_is_true(value) ? opt->at : 0);
    return CLI_OK;
}

HANDLER(contract)
{
    cc_list_addf(&p->job->device, "-ffp-contract=%s", option_is_true(value) ? "fast" : "off");
    return CLI_OK;
}

/* The driver of clang 19 takes this for HIP only; the compiler behind it knows it for CUDA too. */
HANDLER(default_stream)
{
    if (strcmp(value, "per-thread") == 0)
        cc_list_add_split(
            &p->job->compile,
            "-Xclang,-fgpu-default-stream=per-thread,-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1", ",");
    else if (strcmp(value, "legacy") != 0 && strcmp(value, "null") != 0)
        return cc_usage("unknown default stream", value);
    return CLI_OK;
}

HANDLER(runtime)
{
    p->job->runtime = value;
    p->job->no_cudart = strcmp(value, "none") == 0;
    if (p->job->no_cudart)
        return CLI_OK;
    if (strcmp(value, "static") == 0 && !p->job->as_nvcc)
        cli_note("-cudart static: linking the shared runtime instead");
    else if (strcmp(value, "shared") != 0 && strcmp(value, "static") != 0)
        return cc_usage("unknown runtime kind", value);
    return CLI_OK;
}

HANDLER(dry_run)
{
    p->job->dryrun = p->job->verbose = true;
    return CLI_OK;
}

#define MEMBER(name) offsetof(struct cc_job, name)
#define WARNINGS                                                                                   \
    "all-warnings cross-execution-space-call reorder default-stream-launch "                       \
    "missing-launch-bounds ext-lambda-captures-this deprecated-declarations"
#define NO_FORM "this is a form of NVIDIA's compiler, use -ptx or -fatbin"

/* clang-format off */
const struct cc_option cc_options[] = {
    /* what to make */
    {"-o", "--output-file", CC_JOINED, set_text, NULL, MEMBER(output), "FILE", "where the result goes"},
    {"-c", "--compile", CC_FLAG, set_mode, NULL, CC_MODE_OBJECT, NULL, "objects, no link"},
    {"-dc", "--device-c", CC_FLAG, rdc_object, NULL, 0, NULL, "objects with relocatable device code"},
    {"-dw", "--device-w", CC_FLAG, whole_object, NULL, 0, NULL, "objects with whole device code"},
    {"-link", "--link", CC_FLAG, set_mode, NULL, CC_MODE_LINK, NULL, "compile and link all (default)"},
    {"-dlink", "--device-link", CC_FLAG, set_mode, NULL, CC_MODE_DLINK, NULL, "one object that registers the device code of others; with -cubin their linked image"},
    {"-lib", "--lib", CC_FLAG, set_mode, NULL, CC_MODE_LIB, NULL, "a static library of objects"},
    {"-ptx", "--ptx", CC_FLAG, set_mode, NULL, CC_MODE_PTX, NULL, "PTX of the device code"},
    {"-fatbin", "--fatbin", CC_FLAG, set_mode, NULL, CC_MODE_FATBIN, NULL, "a fat binary of PTX"},
    {"-cubin", "--cubin", CC_FLAG, cubin, NULL, 0, NULL, "an image of checked PTX, as heddle ptxas writes it"},
    {"-Xptxas", "--ptxas-options", CC_VALUE, ptxas_words, NULL, 0, "A,B", "options for ptxas, with -cubin; else there is none"},
    {"-maxrregcount", "--maxrregcount", CC_VALUE, ptxas_value, NULL, 0, "N", "registers per thread, with -cubin"},
    {"-res-usage", "--resource-usage", CC_FLAG, ptxas_words, NULL, 0, NULL, "print the registers of kernels, with -cubin"},
    {"-ltoir", "--ltoir", CC_FLAG, refuse, NO_FORM, 0, NULL, "refused: a form of NVIDIA's linker"},
    {"-optix-ir", "--optix-ir", CC_FLAG, refuse, NO_FORM, 0, NULL, "refused: a form of NVIDIA's ray tracer"},
    {"-cuda", "--cuda", CC_FLAG, refuse, "there is no such intermediate C++, use -E or -keep", 0, NULL, "refused: a form between nvcc's own passes"},
    {"-r", "--relocatable-link", CC_FLAG, refuse, "device code is linked when the program loads, use -lib", 0, NULL, "refused: device code is linked when the program loads"},
    {"-clean", "--clean-targets", CC_FLAG, refuse, "nothing is deleted here", 0, NULL, "refused"},
    {"-arch-ls", "--list-gpu-arch", CC_FLAG, set_flag, NULL, MEMBER(list_virtual), NULL, "print the names that -arch takes, compute_NN"},
    {"-code-ls", "--list-gpu-code", CC_FLAG, set_flag, NULL, MEMBER(list_real), NULL, "the same as sm_NN"},
    {"-odir", "--output-directory", CC_VALUE, set_text, NULL, MEMBER(output_dir), "DIR", "where results go that -o does not name"},
    {"-optf", "--options-file", CC_VALUE, options_file, NULL, 0, "FILE,...", "more options, from files"},
    {"-objtemp", "--objdir-as-tempdir", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-run", "--run", CC_FLAG, set_flag, NULL, MEMBER(run), NULL, "link, then run the program on Heddle"},
    {"-run-args", "--run-args", CC_VALUE, run_words, NULL, 0, "A,B", "arguments for -run"},
    {"-E", "--preprocess", CC_FLAG, set_mode, NULL, CC_MODE_PREPROCESS, NULL, "the preprocessed source"},
    {"-M", "--generate-dependencies", CC_FLAG, set_mode, "-M", CC_MODE_DEPEND, NULL, "a rule for make"},
    {"-MM", "--generate-nonsystem-dependencies", CC_FLAG, set_mode, "-MM", CC_MODE_DEPEND, NULL, "the same without system headers"},
    {"-MD", "--generate-dependencies-with-compile", CC_FLAG, depend_beside, "-MD", 0, NULL, "compile and write the rule to a file"},
    {"-MMD", "--generate-nonsystem-dependencies-with-compile", CC_FLAG, depend_beside, "-MMD", 0, NULL, "the same without system headers"},
    {"-MF", "--dependency-output", CC_VALUE, depend_file, "-MF", 0, "FILE", "that file"},
    {"-MT", "--dependency-target-name", CC_VALUE, pass_host, "-MT", 0, "NAME", "the rule's target"},
    {"-MP", "--generate-dependency-targets", CC_FLAG, pass_host, "-MP", 0, NULL, "a rule for each header too"},
    /* device code */
    {"-arch", "--gpu-architecture", CC_VALUE, arch, NULL, 0, "sm_NN", "target, sm_50 to sm_90 (default); newer ones become compute_90"},
    {"-gencode", "--generate-code", CC_VALUE, gencode, NULL, 0, "arch=compute_NN,code=...", "several targets"},
    {"-code", "--gpu-code", CC_VALUE, ignore, NULL, 0, "LIST", NULL},
    {"-rdc", "--relocatable-device-code", CC_VALUE, set_bool, NULL, MEMBER(rdc), "true|false", "device code links across files"},
    {"-G", "--device-debug", CC_FLAG, set_flag, NULL, MEMBER(debug_device), NULL, "debug information of device code"},
    {"-dopt", "--dopt", CC_VALUE, set_bool, NULL, MEMBER(optimize_device), "on", "with -G: optimise all the same, as with -lineinfo"},
    {"-lineinfo", "--generate-line-info", CC_FLAG, set_flag, NULL, MEMBER(lineinfo), NULL, "source lines of device code, for tools"},
    {"-line-info", "--line-info", CC_FLAG, set_flag, NULL, MEMBER(lineinfo), NULL, "the same"},
    {"-use_fast_math", "--use_fast_math", CC_FLAG, fast_math, NULL, 0, NULL, "fast and less exact"},
    {"-ftz", "--ftz", CC_VALUE, flush_to_zero, NULL, 0, "true|false", "flush subnormals to zero"},
    {"-prec-div", "--prec-div", CC_VALUE, precise, "-nvptx-prec-divf32", 2, "true|false", "IEEE division"},
    {"-prec-sqrt", "--prec-sqrt", CC_VALUE, precise, "-nvptx-prec-sqrtf32", 1, "true|false", "IEEE square root"},
    {"-fmad", "--fmad", CC_VALUE, contract, NULL, 0, "true|false", "contract a * b + c"},
    {"-default-stream", "--default-stream", CC_VALUE, default_stream, NULL, 0, "legacy|per-thread", "what stream 0 means"},
    /* as in every compiler */
    {"-x", "--x", CC_JOINED, language, NULL, 0, "cu|c++|c", "language of all sources"},
    {"-std", "--std", CC_VALUE, pass_value, "-std=", 0, "c++NN", "language standard"},
    {"-O", "--optimize", CC_JOINED, level, NULL, 0, "0..3", "optimisation (default 3)"},
    {"-g", "--debug", CC_FLAG, pass_host, "-g", 0, NULL, "debug information of host code"},
    {"-I", "--include-path", CC_JOINED, pass_value, "-I", 0, "DIR", "where headers are"},
    {"-D", "--define-macro", CC_JOINED, pass_value, "-D", 0, "NAME[=TEXT]", "define a macro"},
    {"-U", "--undefine-macro", CC_JOINED, pass_value, "-U", 0, "NAME", "undefine it"},
    {"-include", "--pre-include", CC_VALUE, pass_value, "-include", 0, "FILE", "include a file in front"},
    {"-isystem", "--system-include", CC_VALUE, pass_value, "-isystem", 0, "DIR", "where system headers are"},
    {"-w", "--disable-warnings", CC_FLAG, pass, "-w", 0, NULL, "no warnings"},
    {"-Werror", "--Werror", CC_MAYBE, warnings_are_errors, WARNINGS, 0, "KIND", "warnings are errors"},
    {"-fPIC", NULL, CC_FLAG, pass, "-fPIC", 0, NULL, "position-independent code"},
    {"-fpic", NULL, CC_FLAG, pass, "-fpic", 0, NULL, "the same"},
    {"-noeh", "--no-exceptions", CC_FLAG, pass_host, "-fno-exceptions", 0, NULL, "no exceptions in host code"},
    {"-pg", "--profile", CC_FLAG, pass_host_and_link, "-pg", 0, NULL, "for gprof"},
    {"-ftemplate-depth", "--ftemplate-depth", CC_VALUE, pass_value, "-ftemplate-depth=", 0, "N", "how deep templates may nest"},
    {"-ftemplate-backtrace-limit", "--ftemplate-backtrace-limit", CC_VALUE, pass_value, "-ftemplate-backtrace-limit=", 0, "N", "how many of them a message names"},
    {"-Wreorder", "--Wreorder", CC_FLAG, pass, "-Wreorder", 0, NULL, "warn of initialisers in another order"},
    {"-Wno-deprecated-declarations", "--Wno-deprecated-declarations", CC_FLAG, pass, "-Wno-deprecated-declarations", 0, NULL, "no warning of deprecated functions"},
    {"-pthread", NULL, CC_FLAG, pass_host_and_link, "-pthread", 0, NULL, "threads"},
    /* host compiler and linker */
    {"-Xcompiler", "--compiler-options", CC_VALUE, host_words, NULL, 0, "A,B", "options for host compilations"},
    {"-Xlinker", "--linker-options", CC_VALUE, link_words, NULL, 0, "A,B", "options for the linker"},
    {"-l", "--library", CC_JOINED, library, NULL, 0, "NAME", "link a library"},
    {"-L", "--library-path", CC_JOINED, library_path, NULL, 0, "DIR", "where libraries are"},
    {"-nodlink", "--no-device-link", CC_FLAG, set_flag, NULL, MEMBER(no_device_link), NULL, "another object registers the device code"},
    {"-shared", "--shared", CC_FLAG, set_flag, NULL, MEMBER(shared), NULL, "link a shared library"},
    {"-cudart", "--cudart", CC_VALUE, runtime, NULL, 0, "shared|none", "runtime library"},
    /* the driver itself */
    {"-keep", "--keep", CC_FLAG, set_flag, NULL, MEMBER(keep), NULL, "keep intermediate files"},
    {"-save-temps", "--save-temps", CC_FLAG, set_flag, NULL, MEMBER(keep), NULL, "the same"},
    {"-keep-dir", "--keep-dir", CC_VALUE, set_text, NULL, MEMBER(keep_dir), "DIR", "where they go"},
    {"-dryrun", "--dryrun", CC_FLAG, dry_run, NULL, 0, NULL, "print the commands and do nothing"},
    {"-v", "--verbose", CC_FLAG, set_flag, NULL, MEMBER(verbose), NULL, "print the commands"},
    {"-time", "--time", CC_VALUE, set_text, NULL, MEMBER(time_file), "FILE", "add the time of each command to a CSV file; - is stdout"},
    {"-V", "--version", CC_FLAG, set_flag, NULL, MEMBER(version), NULL, "print the version"},
    {"-h", "--help", CC_FLAG, set_flag, NULL, MEMBER(help), NULL, "print this text"},
    /* Without meaning here: they tune ptxas, nvlink or cudafe, or name what clang does anyway. */
    {"-Xnvlink", "--nvlink-options", CC_VALUE, ignore, NULL, 0, "A", NULL},
    {"-Xcudafe", NULL, CC_VALUE, ignore, NULL, 0, "A", NULL},
    {"-Xfatbin", NULL, CC_VALUE, ignore, NULL, 0, "A", NULL},
    {"-diag-suppress", "--diag-suppress", CC_VALUE, ignore, NULL, 0, "N", NULL},
    {"-t", "--threads", CC_JOINED, ignore, NULL, 0, "N", NULL},
    {"-ccbin", "--compiler-bindir", CC_VALUE, ignore, NULL, 0, "DIR", NULL},
    {"-m", "--machine", CC_VALUE, ignore, NULL, 0, "64", NULL},
    {"-m64", "--m64", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-expt-relaxed-constexpr", "--expt-relaxed-constexpr", CC_FLAG, set_flag, NULL, MEMBER(relaxed_constexpr), NULL, "define __CUDACC_RELAXED_CONSTEXPR__; clang takes such calls anyway"},
    {"-expt-extended-lambda", "--expt-extended-lambda", CC_FLAG, set_flag, NULL, MEMBER(extended_lambda), NULL, "the same"},
    {"-extended-lambda", "--extended-lambda", CC_FLAG, set_flag, NULL, MEMBER(extended_lambda), NULL, "define __CUDACC_EXTENDED_LAMBDA__; clang takes such lambdas anyway"},
    {"-allow-unsupported-compiler", "--allow-unsupported-compiler", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-Wno-deprecated-gpu-targets", "--Wno-deprecated-gpu-targets", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-restrict", "--restrict", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-lto", "--lto", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-gen-opt-lto", "--gen-opt-lto", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-dlto", "--dlink-time-opt", CC_FLAG, set_flag, NULL, MEMBER(dlto), NULL, "linked images without functions that no kernel reaches; all code is optimised across files when it is loaded, with or without"},
    {"-extra-device-vectorization", "--extra-device-vectorization", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-Wdefault-stream-launch", "--Wdefault-stream-launch", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-Wmissing-launch-bounds", "--Wmissing-launch-bounds", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-Wext-lambda-captures-this", "--Wext-lambda-captures-this", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-Ofc", "--Ofast-compile", CC_VALUE, ignore, NULL, 0, "LEVEL", NULL},
    {"-opt-info", "--optimization-info", CC_VALUE, ignore, NULL, 0, "KIND", NULL},
    {"-e", "--entries", CC_VALUE, ignore, NULL, 0, "KERNEL,...", NULL},
    {"-ewp", "--extensible-whole-program", CC_FLAG, set_flag, NULL, MEMBER(extensible), NULL, "define __CUDACC_EWP__"},
    {"-keep-device-functions", "--keep-device-functions", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-reloc-ptx", "--relocatable-ptx", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-device-stack-protector", "--device-stack-protector", CC_VALUE, ignore, NULL, 0, "BOOL", NULL},
    {"-frandom-seed", "--frandom-seed", CC_VALUE, ignore, NULL, 0, "TEXT", NULL}, /* names come from the source's path */
    {"-sanitize", "--sanitize", CC_VALUE, ignore, NULL, 0, "TOOL", NULL},
    {"-jobserver", "--jobserver", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-split-compile-extended", "--split-compile-extended", CC_VALUE, ignore, NULL, 0, "N", NULL},
    {"-fdevice-syntax-only", "--fdevice-syntax-only", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-fdevice-time-trace", "--fdevice-time-trace", CC_VALUE, ignore, NULL, 0, "FILE", NULL},
    {"-no-err-no", "--no-display-error-number", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-target-dir", "--target-directory", CC_VALUE, ignore, NULL, 0, "DIR", NULL},
    {"--no-align-double", NULL, CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-hls", "--host-linker-script", CC_VALUE, ignore, NULL, 0, "KIND", NULL},
    {"-aug-hls", "--augment-host-linker-script", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-astoolspatch", "--compile-as-tools-patch", CC_FLAG, refuse, "code of NVIDIA's tools", 0, NULL, "refused: for NVIDIA's tools"},
    {"-qpp-config", "--qpp-config", CC_VALUE, refuse, "QNX is no host", 0, NULL, "refused: for QNX"},
    {"-use-local-env", "--use-local-env", CC_FLAG, ignore, NULL, 0, NULL, NULL}, /* of Windows, as the next four */
    {"-force-cl-env-setup", "--force-cl-env-setup", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-dp", "--drive-prefix", CC_VALUE, ignore, NULL, 0, "DIR", NULL},
    {"-idp", "--input-drive-prefix", CC_VALUE, ignore, NULL, 0, "DIR", NULL},
    {"-ddp", "--dependency-drive-prefix", CC_VALUE, ignore, NULL, 0, "DIR", NULL},
    {"-err-no", "--display-error-number", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-diag-error", "--diag-error", CC_VALUE, ignore, NULL, 0, "N", NULL},
    {"-diag-warn", "--diag-warn", CC_VALUE, ignore, NULL, 0, "N", NULL},
    {"-split-compile", "--split-compile", CC_VALUE, ignore, NULL, 0, "N", NULL},
    {"-jtd", "--jump-table-density", CC_VALUE, ignore, NULL, 0, "N", NULL},
    {"-compress-mode", "--compress-mode", CC_VALUE, ignore, NULL, 0, "MODE", NULL},
    {"-no-compress", "--no-compress", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-static-global-template-stub", "--static-global-template-stub", CC_VALUE, ignore, NULL, 0, "BOOL", NULL},
    {"-device-entity-has-hidden-visibility", "--device-entity-has-hidden-visibility", CC_VALUE, ignore, NULL, 0, "BOOL", NULL},
    {"-cudadevrt", "--cudadevrt", CC_VALUE, ignore, NULL, 0, "KIND", NULL},
    {"-src-in-ptx", "--source-in-ptx", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-noprof", "--dont-use-profile", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-ldir", "--libdevice-directory", CC_VALUE, ignore, NULL, 0, "DIR", NULL},
    {"-arbin", "--archiver-binary", CC_VALUE, ignore, NULL, 0, "FILE", NULL},
    {"-nohdmoveforward", "--no-host-device-move-forward", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-nohdinitlist", "--no-host-device-initializer-list", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-brief-diag", "--brief-diagnostics", CC_VALUE, ignore, NULL, 0, "BOOL", NULL},
    {"-Xarchive", "--archive-options", CC_VALUE, ignore, NULL, 0, "A", NULL},
    {"-forward-unknown-opts", "--forward-unknown-opts", CC_FLAG, ignore, NULL, 0, NULL, NULL},
    {"-forward-unknown-to-host-linker", "--forward-unknown-to-host-linker", CC_FLAG, set_flag, NULL, MEMBER(forward_linker), NULL, "options that are not known here are the linker's"},
    {"-forward-unknown-to-host-compiler", "--forward-unknown-to-host-compiler", CC_FLAG, set_flag, NULL, MEMBER(forward_compiler), NULL, "or the host compiler's"},
};
/* clang-format on */
const size_t cc_option_count = HD_COUNT_OF(cc_options);
