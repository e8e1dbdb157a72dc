/* heddle cc: the command line, in nvcc's spelling, as one table of options. */
#include "cc.h"
#include "cli.h"

#include <stdio.h>
#include <string.h>

/* What an option does with its value. */
enum cc_action {
    ACT_MODE_OBJECT,
    ACT_MODE_RDC_OBJECT,
    ACT_MODE_PTX,
    ACT_MODE_FATBIN,
    ACT_MODE_PREPROCESS,
    ACT_MODE_DEPEND,
    ACT_OUTPUT,
    ACT_LANG,
    ACT_ARCH,
    ACT_GENCODE,
    ACT_CODE,
    ACT_STD,
    ACT_OPT,
    ACT_COMPILE,      /* pass to every compilation as "-x value" or "-xvalue" */
    ACT_COMPILE_FLAG, /* pass as it is */
    ACT_HOST_LIST,    /* comma list to host compilations */
    ACT_LINK_LIST,    /* comma list to the linker */
    ACT_LIB,
    ACT_LIBDIR,
    ACT_SHARED,
    ACT_DEBUG,
    ACT_DEBUG_DEVICE,
    ACT_LINEINFO,
    ACT_RDC,
    ACT_FAST_MATH,
    ACT_FTZ,
    ACT_PREC_DIV,
    ACT_PREC_SQRT,
    ACT_FMAD,
    ACT_DEFAULT_STREAM,
    ACT_CUDART,
    ACT_KEEP,
    ACT_DRYRUN,
    ACT_VERBOSE,
    ACT_HELP,
    ACT_IGNORE,
};

/* How an option takes its value. */
enum cc_form {
    FORM_FLAG,   /* -c */
    FORM_VALUE,  /* -o FILE, --output-file FILE, -std=c++17 */
    FORM_JOINED, /* -IDIR or -I DIR */
};

struct cc_option {
    const char *name;
    enum cc_form form;
    enum cc_action action;
};

static const struct cc_option options[] = {
    {"-c", FORM_FLAG, ACT_MODE_OBJECT},
    {"--compile", FORM_FLAG, ACT_MODE_OBJECT},
    {"-dc", FORM_FLAG, ACT_MODE_RDC_OBJECT},
    {"--device-c", FORM_FLAG, ACT_MODE_RDC_OBJECT},
    {"-ptx", FORM_FLAG, ACT_MODE_PTX},
    {"--ptx", FORM_FLAG, ACT_MODE_PTX},
    {"-fatbin", FORM_FLAG, ACT_MODE_FATBIN},
    {"--fatbin", FORM_FLAG, ACT_MODE_FATBIN},
    {"-E", FORM_FLAG, ACT_MODE_PREPROCESS},
    {"--preprocess", FORM_FLAG, ACT_MODE_PREPROCESS},
    {"-M", FORM_FLAG, ACT_MODE_DEPEND},
    {"-MM", FORM_FLAG, ACT_MODE_DEPEND},
    {"-MD", FORM_FLAG, ACT_COMPILE_FLAG},
    {"-MMD", FORM_FLAG, ACT_COMPILE_FLAG},
    {"-MP", FORM_FLAG, ACT_COMPILE_FLAG},
    {"-MF", FORM_VALUE, ACT_COMPILE},
    {"-MT", FORM_VALUE, ACT_COMPILE},
    {"-o", FORM_JOINED, ACT_OUTPUT},
    {"--output-file", FORM_VALUE, ACT_OUTPUT},
    {"-x", FORM_JOINED, ACT_LANG},
    {"--x", FORM_VALUE, ACT_LANG},
    {"-arch", FORM_VALUE, ACT_ARCH},
    {"--gpu-architecture", FORM_VALUE, ACT_ARCH},
    {"-gencode", FORM_VALUE, ACT_GENCODE},
    {"--generate-code", FORM_VALUE, ACT_GENCODE},
    {"-code", FORM_VALUE, ACT_CODE},
    {"--gpu-code", FORM_VALUE, ACT_CODE},
    {"-std", FORM_VALUE, ACT_STD},
    {"--std", FORM_VALUE, ACT_STD},
    {"-O", FORM_JOINED, ACT_OPT},
    {"--optimize", FORM_VALUE, ACT_OPT},
    {"-I", FORM_JOINED, ACT_COMPILE},
    {"--include-path", FORM_VALUE, ACT_COMPILE},
    {"-D", FORM_JOINED, ACT_COMPILE},
    {"--define-macro", FORM_VALUE, ACT_COMPILE},
    {"-U", FORM_JOINED, ACT_COMPILE},
    {"--undefine-macro", FORM_VALUE, ACT_COMPILE},
    {"-include", FORM_VALUE, ACT_COMPILE},
    {"--pre-include", FORM_VALUE, ACT_COMPILE},
    {"-isystem", FORM_VALUE, ACT_COMPILE},
    {"--system-include", FORM_VALUE, ACT_COMPILE},
    {"-Xcompiler", FORM_VALUE, ACT_HOST_LIST},
    {"--compiler-options", FORM_VALUE, ACT_HOST_LIST},
    {"-Xlinker", FORM_VALUE, ACT_LINK_LIST},
    {"--linker-options", FORM_VALUE, ACT_LINK_LIST},
    {"-l", FORM_JOINED, ACT_LIB},
    {"--library", FORM_VALUE, ACT_LIB},
    {"-L", FORM_JOINED, ACT_LIBDIR},
    {"--library-path", FORM_VALUE, ACT_LIBDIR},
    {"-shared", FORM_FLAG, ACT_SHARED},
    {"--shared", FORM_FLAG, ACT_SHARED},
    {"-fPIC", FORM_FLAG, ACT_COMPILE_FLAG},
    {"-fpic", FORM_FLAG, ACT_COMPILE_FLAG},
    {"-g", FORM_FLAG, ACT_DEBUG},
    {"--debug", FORM_FLAG, ACT_DEBUG},
    {"-G", FORM_FLAG, ACT_DEBUG_DEVICE},
    {"--device-debug", FORM_FLAG, ACT_DEBUG_DEVICE},
    {"-lineinfo", FORM_FLAG, ACT_LINEINFO},
    {"--generate-line-info", FORM_FLAG, ACT_LINEINFO},
    {"-rdc", FORM_VALUE, ACT_RDC},
    {"--relocatable-device-code", FORM_VALUE, ACT_RDC},
    {"-use_fast_math", FORM_FLAG, ACT_FAST_MATH},
    {"--use_fast_math", FORM_FLAG, ACT_FAST_MATH},
    {"-ftz", FORM_VALUE, ACT_FTZ},
    {"--ftz", FORM_VALUE, ACT_FTZ},
    {"-prec-div", FORM_VALUE, ACT_PREC_DIV},
    {"--prec-div", FORM_VALUE, ACT_PREC_DIV},
    {"-prec-sqrt", FORM_VALUE, ACT_PREC_SQRT},
    {"--prec-sqrt", FORM_VALUE, ACT_PREC_SQRT},
    {"-fmad", FORM_VALUE, ACT_FMAD},
    {"--fmad", FORM_VALUE, ACT_FMAD},
    {"-default-stream", FORM_VALUE, ACT_DEFAULT_STREAM},
    {"--default-stream", FORM_VALUE, ACT_DEFAULT_STREAM},
    {"-cudart", FORM_VALUE, ACT_CUDART},
    {"--cudart", FORM_VALUE, ACT_CUDART},
    {"-keep", FORM_FLAG, ACT_KEEP},
    {"--keep", FORM_FLAG, ACT_KEEP},
    {"-dryrun", FORM_FLAG, ACT_DRYRUN},
    {"--dryrun", FORM_FLAG, ACT_DRYRUN},
    {"-v", FORM_FLAG, ACT_VERBOSE},
    {"--verbose", FORM_FLAG, ACT_VERBOSE},
    {"-h", FORM_FLAG, ACT_HELP},
    {"--help", FORM_FLAG, ACT_HELP},
    {"-w", FORM_FLAG, ACT_COMPILE_FLAG},
    {"--disable-warnings", FORM_FLAG, ACT_IGNORE},
    {"-pthread", FORM_FLAG, ACT_HOST_LIST},
    /* Without meaning here: they tune ptxas, nvlink or cudafe, or name what clang does anyway. */
    {"-Xptxas", FORM_VALUE, ACT_IGNORE},
    {"--ptxas-options", FORM_VALUE, ACT_IGNORE},
    {"-Xnvlink", FORM_VALUE, ACT_IGNORE},
    {"--nvlink-options", FORM_VALUE, ACT_IGNORE},
    {"-Xcudafe", FORM_VALUE, ACT_IGNORE},
    {"-Xfatbin", FORM_VALUE, ACT_IGNORE},
    {"-Werror", FORM_VALUE, ACT_IGNORE},
    {"-maxrregcount", FORM_VALUE, ACT_IGNORE},
    {"--maxrregcount", FORM_VALUE, ACT_IGNORE},
    {"-diag-suppress", FORM_VALUE, ACT_IGNORE},
    {"--diag-suppress", FORM_VALUE, ACT_IGNORE},
    {"-t", FORM_VALUE, ACT_IGNORE},
    {"--threads", FORM_VALUE, ACT_IGNORE},
    {"-ccbin", FORM_VALUE, ACT_IGNORE},
    {"--compiler-bindir", FORM_VALUE, ACT_IGNORE},
    {"-m64", FORM_FLAG, ACT_IGNORE},
    {"-m", FORM_VALUE, ACT_IGNORE},
    {"--machine", FORM_VALUE, ACT_IGNORE},
    {"-expt-relaxed-constexpr", FORM_FLAG, ACT_IGNORE},
    {"--expt-relaxed-constexpr", FORM_FLAG, ACT_IGNORE},
    {"-expt-extended-lambda", FORM_FLAG, ACT_IGNORE},
    {"--expt-extended-lambda", FORM_FLAG, ACT_IGNORE},
    {"-extended-lambda", FORM_FLAG, ACT_IGNORE},
    {"--extended-lambda", FORM_FLAG, ACT_IGNORE},
    {"-allow-unsupported-compiler", FORM_FLAG, ACT_IGNORE},
    {"--allow-unsupported-compiler", FORM_FLAG, ACT_IGNORE},
    {"-Wno-deprecated-gpu-targets", FORM_FLAG, ACT_IGNORE},
    {"-restrict", FORM_FLAG, ACT_IGNORE},
    {"-res-usage", FORM_FLAG, ACT_IGNORE},
    {"--resource-usage", FORM_FLAG, ACT_IGNORE},
    {"-forward-unknown-to-host-compiler", FORM_FLAG, ACT_IGNORE},
    {"--forward-unknown-to-host-compiler", FORM_FLAG, ACT_IGNORE},
    {NULL, FORM_FLAG, ACT_IGNORE},
};

static int usage(const char *fmt, const char *what)
{
    fputs("heddle cc: ", stderr);
    fprintf(stderr, "%s: '%s' (see `heddle cc --help`)\n", fmt, what);
    return CLI_USAGE;
}

/* "-I" for --include-path and so on: clang's spelling of options that go through with a value. */
static const char *clang_spelling(const char *name)
{
    static const char *const long_names[][2] = {
        {"--include-path", "-I"},      {"--define-macro", "-D"},         {"--undefine-macro", "-U"},
        {"--pre-include", "-include"}, {"--system-include", "-isystem"},
    };
    for (size_t i = 0; i < HD_COUNT_OF(long_names); i++)
        if (strcmp(name, long_names[i][0]) == 0)
            return long_names[i][1];
    return name;
}

static bool is_true(const char *value)
{
    return strcmp(value, "true") == 0 || strcmp(value, "1") == 0 || strcmp(value, "on") == 0;
}

static int parse_lang(const char *value, enum cc_lang *out_lang)
{
    if (strcmp(value, "cu") == 0 || strcmp(value, "cuda") == 0)
        *out_lang = CC_LANG_CUDA;
    else if (strcmp(value, "c++") == 0)
        *out_lang = CC_LANG_CXX;
    else if (strcmp(value, "c") == 0)
        *out_lang = CC_LANG_C;
    else
        return usage("unknown language", value);
    return CLI_OK;
}

static const char *after_prefix(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

/* clang 19 stops at sm_90a: newer targets get sm_90, whose PTX every newer device accepts. */
static unsigned clang_arch(unsigned asked, char variant)
{
    static const unsigned known[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90};
    unsigned best = 0;
    (void)variant;
    for (size_t i = 0; i < HD_COUNT_OF(known); i++)
        if (known[i] <= asked)
            best = known[i];
    return best;
}

/* "sm_90a", "compute_120", "native", "all". */
static int add_arch(struct cc_job *job, const char *text)
{
    const char *digits = after_prefix(text, "sm_");
    struct cc_arch arch = {0};
    if (!digits)
        digits = after_prefix(text, "compute_");
    if (!digits)
        digits = after_prefix(text, "lto_");
    if (strcmp(text, "native") == 0 || strcmp(text, "all") == 0 || strcmp(text, "all-major") == 0) {
        arch.asked = 90;
    } else if (digits) {
        for (; *digits >= '0' && *digits <= '9'; digits++)
            arch.asked = arch.asked * 10 + (unsigned)(*digits - '0');
        if (*digits == 'a' || *digits == 'f')
            arch.variant = *digits++;
        if (*digits || arch.asked > 999)
            return usage("unknown architecture", text);
    } else {
        return usage("unknown architecture", text);
    }
    arch.arch = clang_arch(arch.asked, arch.variant);
    if (!arch.arch)
        return usage("architecture older than sm_50", text);
    if (arch.asked != 90 || arch.variant != 'a')
        arch.variant = 0;
    if (arch.asked > 90)
        fprintf(stderr, "heddle cc: note: %s becomes compute_90, the newest that clang 19 knows\n",
                text);
    for (size_t i = 0; i < job->archs.len; i++)
        if (job->archs.at[i].arch == arch.arch && job->archs.at[i].variant == arch.variant)
            return CLI_OK;
    if (!hd_vec_push(&job->archs, arch))
        abort();
    return CLI_OK;
}

/* "arch=compute_80,code=[sm_80,compute_80]": code only says how far nvcc would compile. */
static int add_gencode(struct cc_job *job, const char *text)
{
    const char *arch = strstr(text, "arch=");
    char name[32];
    if (!arch)
        return usage("no arch= in -gencode", text);
    arch += strlen("arch=");
    size_t n = strcspn(arch, ",");
    if (n >= sizeof name)
        return usage("unknown architecture", arch);
    memcpy(name, arch, n);
    name[n] = 0;
    return add_arch(job, name);
}

static int set_opt(struct cc_job *job, const char *value)
{
    if (strlen(value) > 1 || (*value && !strchr("0123s", *value)))
        return usage("unknown optimisation level", value);
    job->opt = *value ? *value : '2';
    return CLI_OK;
}

static void set_fast_math(struct cc_job *job)
{
    cc_list_add(&job->device, "-fgpu-approx-transcendentals");
    cc_list_add(&job->device, "-fgpu-flush-denormals-to-zero");
    cc_list_add_split(&job->device, "-mllvm,-nvptx-prec-divf32=0,-mllvm,-nvptx-prec-sqrtf32=0");
    cc_list_add(&job->compile, "-D__USE_FAST_MATH__=1");
}

static int set_cudart(struct cc_job *job, const char *value)
{
    if (strcmp(value, "none") == 0)
        job->no_cudart = true;
    else if (strcmp(value, "static") == 0)
        fputs("heddle cc: note: -cudart static: linking the shared runtime instead\n", stderr);
    else if (strcmp(value, "shared") != 0)
        return usage("unknown runtime kind", value);
    return CLI_OK;
}

static void add_library(struct cc_job *job, const char *name)
{
    /* Heddle's own libraries are linked by path, so that no other libcudart can be picked up. */
    if (strcmp(name, "cuda") == 0)
        job->want_libcuda = true;
    else if (strcmp(name, "cudart") != 0 && strcmp(name, "cudart_static") != 0 &&
             strcmp(name, "cudadevrt") != 0)
        cc_list_addf(&job->link, "-l%s", name);
}

static void add_compile(struct cc_job *job, const char *name, const char *value)
{
    name = clang_spelling(name);
    if (strlen(name) == 2) {
        cc_list_addf(&job->compile, "%s%s", name, value);
    } else {
        cc_list_add(&job->compile, name);
        cc_list_add(&job->compile, value);
    }
}

static void set_precision(struct cc_job *job, const char *what, const char *value)
{
    cc_list_add(&job->device, "-mllvm");
    cc_list_addf(&job->device, "-nvptx-prec-%sf32=%d", what,
                 is_true(value) ? 2 - (what[0] == 's') : 0);
}

static int apply_value(struct cc_job *job, const struct cc_option *opt, const char *value,
                       enum cc_lang *lang)
{
    switch (opt->action) {
    case ACT_OUTPUT:
        job->output = value;
        return CLI_OK;
    case ACT_LANG:
        return parse_lang(value, lang);
    case ACT_ARCH:
        return add_arch(job, value);
    case ACT_GENCODE:
        return add_gencode(job, value);
    case ACT_STD:
        cc_list_addf(&job->compile, "-std=%s", value);
        return CLI_OK;
    case ACT_OPT:
        return set_opt(job, value);
    case ACT_COMPILE:
        add_compile(job, opt->name, value);
        return CLI_OK;
    case ACT_HOST_LIST:
        cc_list_add_split(&job->host, value);
        return CLI_OK;
    case ACT_LINK_LIST:
        cc_list_addf(&job->link, "-Wl,%s", value);
        return CLI_OK;
    case ACT_LIB:
        add_library(job, value);
        return CLI_OK;
    case ACT_LIBDIR:
        cc_list_addf(&job->link, "-L%s", value);
        return CLI_OK;
    case ACT_RDC:
        job->rdc = is_true(value);
        return CLI_OK;
    case ACT_FTZ:
        if (is_true(value))
            cc_list_add(&job->device, "-fgpu-flush-denormals-to-zero");
        return CLI_OK;
    case ACT_PREC_DIV:
        set_precision(job, "div", value);
        return CLI_OK;
    case ACT_PREC_SQRT:
        set_precision(job, "sqrt", value);
        return CLI_OK;
    case ACT_FMAD:
        cc_list_addf(&job->device, "-ffp-contract=%s", is_true(value) ? "fast" : "off");
        return CLI_OK;
    case ACT_DEFAULT_STREAM:
        if (strcmp(value, "per-thread") == 0)
            cc_list_add(&job->compile, "-fgpu-default-stream=per-thread");
        return CLI_OK;
    case ACT_CUDART:
        return set_cudart(job, value);
    default: /* -code and the ignored ones */
        return CLI_OK;
    }
}

static void apply_flag(struct cc_job *job, const struct cc_option *opt)
{
    switch (opt->action) {
    case ACT_MODE_RDC_OBJECT:
        job->rdc = true;
        job->mode = CC_MODE_OBJECT;
        break;
    case ACT_MODE_OBJECT:
        job->mode = CC_MODE_OBJECT;
        break;
    case ACT_MODE_PTX:
        job->mode = CC_MODE_PTX;
        break;
    case ACT_MODE_FATBIN:
        job->mode = CC_MODE_FATBIN;
        break;
    case ACT_MODE_PREPROCESS:
        job->mode = CC_MODE_PREPROCESS;
        break;
    case ACT_MODE_DEPEND:
        job->mode = CC_MODE_DEPEND;
        job->depend_mode = opt->name;
        break;
    case ACT_COMPILE_FLAG:
        /* Dependency files come from the host pass, so that they are written once. */
        cc_list_add(strncmp(opt->name, "-M", 2) == 0 ? &job->host : &job->compile, opt->name);
        break;
    case ACT_HOST_LIST:
        cc_list_add(&job->host, opt->name);
        cc_list_add(&job->link, opt->name);
        break;
    case ACT_SHARED:
        job->shared = true;
        break;
    case ACT_DEBUG:
        cc_list_add(&job->host, "-g");
        break;
    case ACT_DEBUG_DEVICE:
        job->debug_device = true;
        break;
    case ACT_LINEINFO:
        job->lineinfo = true;
        break;
    case ACT_FAST_MATH:
        set_fast_math(job);
        break;
    case ACT_KEEP:
        job->keep = true;
        break;
    case ACT_DRYRUN:
        job->dryrun = job->verbose = true;
        break;
    case ACT_VERBOSE:
        job->verbose = true;
        break;
    case ACT_HELP:
        job->help = true;
        break;
    default:
        break;
    }
}

/*
 * Finds the row for an argument. *out_value is the value inside the argument ("-Idir",
 * "-std=c++17") or NULL. Exact names win over joined ones: -lineinfo is not the library "ineinfo".
 */
static const struct cc_option *find_option(const char *arg, const char **out_value)
{
    const struct cc_option *joined = NULL;
    *out_value = NULL;
    for (const struct cc_option *opt = options; opt->name; opt++) {
        const char *rest = after_prefix(arg, opt->name);
        if (!rest)
            continue;
        if (*rest == 0)
            return opt;
        if (opt->form == FORM_VALUE && *rest == '=') {
            *out_value = rest + 1;
            return opt;
        }
        if (opt->form == FORM_JOINED && !joined)
            joined = opt;
    }
    if (joined)
        *out_value = arg + strlen(joined->name);
    return joined;
}

static enum cc_lang lang_of_name(const char *path)
{
    static const struct {
        const char *suffix;
        enum cc_lang lang;
    } suffixes[] = {
        {".cu", CC_LANG_CUDA}, {".cpp", CC_LANG_CXX}, {".cc", CC_LANG_CXX}, {".cxx", CC_LANG_CXX},
        {".C", CC_LANG_CXX},   {".c", CC_LANG_C},     {".s", CC_LANG_ASM},  {".S", CC_LANG_ASM},
    };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < HD_COUNT_OF(suffixes); i++)
        if (strcmp(dot, suffixes[i].suffix) == 0)
            return suffixes[i].lang;
    return CC_LANG_LINK;
}

static void add_input(struct cc_job *job, const char *path, enum cc_lang lang)
{
    struct cc_input input = {path, lang};
    enum cc_lang named = lang_of_name(path);
    if (lang == CC_LANG_BY_NAME || named == CC_LANG_LINK)
        input.lang = named;
    if (!hd_vec_push(&job->inputs, input))
        abort();
}

/* One argument and, where the option has one, its value. */
static int parse_one(struct cc_job *job, int argc, char **argv, int *at, enum cc_lang *lang)
{
    const char *arg = argv[(*at)++], *value;
    if (arg[0] != '-' || arg[1] == 0) {
        add_input(job, arg, *lang);
        return CLI_OK;
    }
    const struct cc_option *opt = find_option(arg, &value);
    if (!opt) {
        /* Warnings and code generation flags mean the same to clang; -O and friends are above. */
        if (arg[1] == 'W' || arg[1] == 'f' || (arg[1] == 'm' && arg[2])) {
            cc_list_add(&job->compile, arg);
            return CLI_OK;
        }
        return usage("unknown option", arg);
    }
    if (opt->form == FORM_FLAG) {
        apply_flag(job, opt);
        return CLI_OK;
    }
    /* -O and -Werror stand alone too. */
    if (!value && (opt->action == ACT_OPT || strcmp(arg, "-Werror") == 0))
        value = "";
    if (!value) {
        if (*at >= argc)
            return usage("value missing after", arg);
        value = argv[(*at)++];
    }
    return apply_value(job, opt, value, lang);
}

static int check(const struct cc_job *job)
{
    if (job->help)
        return CLI_OK;
    if (job->inputs.len == 0)
        return usage("no input", "heddle cc");
    if (job->output && job->mode != CC_MODE_LINK && job->inputs.len > 1)
        return usage("-o with several inputs and no link", job->output);
    return CLI_OK;
}

int cc_parse(int argc, char **argv, struct cc_job *out_job)
{
    enum cc_lang lang = CC_LANG_BY_NAME;
    *out_job = (struct cc_job){0};
    for (int at = 1; at < argc;) {
        int rc = parse_one(out_job, argc, argv, &at, &lang);
        if (rc != CLI_OK)
            return rc;
    }
    if (out_job->archs.len == 0 && add_arch(out_job, "sm_90") != CLI_OK)
        return CLI_USAGE;
    return check(out_job);
}

void cc_print_help(void)
{
    fputs("usage: heddle cc [OPTIONS] FILES\n\n"
          "Compiles CUDA C++ (.cu) with clang 19 and Heddle's own headers, C and C++ as they are, "
          "and\n"
          "links with Heddle's runtime. Options follow nvcc:\n\n"
          "  -o FILE  -c  -dc  -ptx  -fatbin  -E  -M  -MM      what to make\n"
          "  -x cu|c++|c                                       language of the files that follow\n"
          "  -arch=sm_NN  -gencode arch=compute_NN,code=...    targets, sm_50 to sm_90 (default "
          "sm_90);\n"
          "                                                    newer ones become compute_90\n"
          "  -I -D -U -include -isystem -std=c++NN -O0..-O3    as in every compiler\n"
          "  -g  -G  -lineinfo                                 host debug info, device debug info, "
          "lines\n"
          "  -rdc=true                                         device code links across files\n"
          "  -use_fast_math  -ftz -prec-div -prec-sqrt -fmad   as in nvcc\n"
          "  -Xcompiler A,B  -Xlinker A,B  -L -l -shared       host compiler and linker\n"
          "  -cudart shared|none                               runtime library (default shared)\n"
          "  --keep  --dryrun  -v                              keep files, only print, print "
          "commands\n\n"
          "environment: HEDDLE_CLANG, HEDDLE_INCLUDE, HEDDLE_LIBDIR (see docs/cc.md)\n",
          stdout);
}
