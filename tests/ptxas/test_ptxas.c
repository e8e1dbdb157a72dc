/* src/ptxas by itself: messages, targets, code, short memory. The options are tests/tools'. */
#include "isa/image.h"
#include "obj/fatbin.h"
#include "ptxas/ptxas.h"
#include "tap.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static const char good[] = HEAD ".visible .entry k(.param .u64 p)\n{\n"
                                "  .reg .b64 %rd<2>; .reg .f64 %d<2>;\n"
                                "  ld.param.u64 %rd1, [p];\n  ld.global.f64 %d1, [%rd1+8];\n"
                                "  bar.sync 3;\n  st.global.f64 [%rd1], %d1;\n  ret;\n}\n";
static const char two_errors[] = HEAD ".visible .entry a()\n{\n  .reg .u32 %r<2>;\n"
                                      "  mov.u32 %r1, %pm0;\n  ret;\n}\n"
                                      ".visible .entry b()\n{\n  .reg .u64 %r<2>;\n"
                                      "  mov.u64 %r1, %pm0_64;\n  ret;\n}\n";

/* Loops, a division with its routine, a call: more than one line of code. */
static const char busy[] = HEAD ".global .f32 sums[32];\n"
                                ".func (.param .f32 r) down(.param .f32 x, .param .u32 n)\n{\n"
                                "  .reg .f32 %f<4>; .reg .u32 %r<3>; .reg .pred %p;\n"
                                "  ld.param.f32 %f1, [x]; ld.param.u32 %r1, [n];\n"
                                "  setp.eq.u32 %p, %r1, 0; @%p bra out;\n"
                                "  div.rn.f32 %f1, %f1, 0f40400000; sub.u32 %r2, %r1, 1;\n"
                                "  .param .f32 a; .param .u32 b; .param .f32 c;\n"
                                "  st.param.f32 [a], %f1; st.param.u32 [b], %r2;\n"
                                "  call (c), down, (a, b); ld.param.f32 %f1, [c];\n"
                                "out: st.param.f32 [r], %f1; ret;\n}\n"
                                ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
                                "  .reg .b64 %rd<4>; .reg .f32 %f<40>; .reg .u32 %r<4>;\n"
                                "  .reg .pred %p; .param .f32 a; .param .u32 b; .param .f32 c;\n"
                                "  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];\n"
                                "  mov.u32 %r2, %tid.x; setp.lt.u32 %p, %r2, 7;\n"
                                "loop: ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n"
                                "  @%p bra skip; add.f32 %f1, %f1, %f2;\n"
                                "skip: fma.rn.f32 %f1, %f1, %f3, %f4;\n"
                                "  st.global.f32 [%rd1], %f1; add.s64 %rd1, %rd1, 16;\n"
                                "  sub.u32 %r1, %r1, 1; setp.ne.u32 %p, %r1, 0; @%p bra loop;\n"
                                "  st.param.f32 [a], %f1; st.param.u32 [b], %r2;\n"
                                "  call (c), down, (a, b); ld.param.f32 %f5, [c];\n"
                                "  mov.u64 %rd2, sums; st.global.f32 [%rd2+4], %f5; ret;\n}\n";
/* A call with more arguments than registers take has no form in Heddle's ISA. */
static const char refused[] =
    HEAD ".func deep(.param .align 8 .b8 a[256])\n{\n"
         "  .reg .u64 %r; ld.param.u64 %r, [a]; .param .align 8 .b8 b[256];\n"
         "  st.param.u64 [b+8], %r; call deep, (b); ret;\n}\n"
         ".visible .entry bad()\n{\n  .param .align 8 .b8 b[256]; call deep, (b); ret;\n}\n"
         ".visible .entry good()\n{\n  ret;\n}\n";

struct job {
    const char *name, *text;
    size_t count;
    const char *words[4];
};

/* Options and one input; the status of what they come to. */
static enum hd_status work(struct ptxas *p, const struct job *job)
{
    ptxas_init(p);
    if (!ptxas_options_read(p, PTXAS_TOOL, job->count, job->words))
        return HD_BAD_ARG;
    HD_TRY(ptxas_input_add(p, job->name, job->text, strlen(job->text)));
    return ptxas_assemble(p);
}

static void says(const struct job *job, enum hd_status want, const char *text)
{
    struct ptxas p;

    eq_u64(work(&p, job), want, "status of %s", job->name);
    const char *error = p.error.ptr ? p.error.ptr : "", *info = p.info.ptr ? p.info.ptr : "";
    if (!ok(strstr(error, text) || strstr(info, text), "it says \"%s\"", text))
        diag("%s%s", info, error);
    ptxas_fini(&p);
}

/* Variables lie in the order of their declaration, those of the function first, whoever is used
 * first. The sizes are those of the vendor's assembler. */
static void test_shared(void)
{
    static const struct {
        const char *own, *first, *second, *says;
    } cases[] = {
        {"", "c", "b", ", 68 bytes smem"},
        {"", "b", "a", ", 80 bytes smem"},
        {".shared .align 4 .b8 own[4];", "b", "own", ", 80 bytes smem"},
        {".shared .align 4 .b8 own[4];", "own", "a", ", 8 bytes smem"},
    };
    char text[512];

    for (size_t i = 0; i < HD_COUNT_OF(cases); i++) {
        snprintf(text, sizeof(text),
                 HEAD ".shared .align 4 .b8 a[4];\n.shared .align 16 .b8 b[64];\n"
                      ".shared .align 4 .b8 c[4];\n.visible .entry k()\n{\n"
                      "%s\n.reg .b32 %%r<3>; st.volatile.shared.u32 [%s], 1;\n"
                      "st.volatile.shared.u32 [%s], 2; ret;\n}\n",
                 cases[i].own, cases[i].first, cases[i].second);
        struct job job = {"shared", text, 2, {"-arch=sm_80", "-v"}};
        says(&job, HD_OK, cases[i].says);
    }
}

static void test_messages(void)
{
    struct job job = {"a b.ptx", good, 2, {"-arch=sm_90", "-v"}};

    says(&job, HD_OK, "ptxas info    : Compiling entry function 'k' for 'sm_90'");
    says(&job, HD_OK, ", used 4 barriers");
    job.words[1] = "--warn-on-double-precision-use";
    says(&job, HD_OK, "ptxas warning : Double precision instructions are used in function 'k'");
    job = (struct job){"a b.ptx", HEAD "frob\n", 1, {"-arch=sm_90"}};
    says(&job, HD_BAD_PTX, "ptxas a b.ptx, line 4; error   : ");
    job = (struct job){"x:1:1: y", HEAD "frob\n", 1, {"-arch=sm_90"}};
    says(&job, HD_BAD_PTX, "ptxas x:1:1: y, line 4; error   : ");
    job = (struct job){"", HEAD "frob\n", 1, {"-arch=sm_90"}};
    says(&job, HD_BAD_PTX, "ptxas , line 4; error   : ");
    job = (struct job){"future", ".version 9.9\n.target sm_80\n", 1, {"-arch=sm_90"}};
    says(&job, HD_BAD_VERSION,
         "ptxas future, line 1; fatal   : Unsupported .version 9.9; "
         "current version is '9.0'");
    job = (struct job){"far", ".version 99.99\n.target sm_80\n", 1, {"-arch=sm_90"}};
    says(&job, HD_BAD_VERSION,
         "ptxas far, line 1; fatal   : Unsupported .version 99.99; "
         "current version is '9.0'");
}

/* The lowering goes on behind an error. */
static void test_all_errors(void)
{
    const struct job job = {"k.ptx", two_errors, 1, {"-arch=sm_90"}};

    says(&job, HD_BAD_PTX, "ptxas k.ptx, line 7; error   : ");
    says(&job, HD_BAD_PTX, "ptxas k.ptx, line 13; error   : ");
}

static void test_targets(void)
{
    static const struct {
        const char *name;
        bool exists;
        unsigned cc;
        char variant;
        bool is_virtual;
    } cases[] = {
        {"sm_90", true, 90, 0, false},
        {"sm_90a", true, 90, 'a', false},
        {"sm_100f", true, 100, 'f', false},
        {"compute_120", true, 120, 0, true},
        {"lto_75", true, 75, 0, true},
        {"sm_90f", false, 0, 0, false},
        {"sm_90aa", false, 0, 0, false},
        {"sm_", false, 0, 0, false},
        {"sm_35", false, 0, 0, false},
        {"sm_99", false, 0, 0, false},
        {"90", false, 0, 0, false},
        {"", false, 0, 0, false},
        {"sm_18446744073709551706", false, 0, 0, false},
    };

    for (size_t i = 0; i < HD_COUNT_OF(cases); i++) {
        struct ptxas_target t = {0};

        eq_u64(ptxas_target_read(cases[i].name, &t), cases[i].exists, "'%s'", cases[i].name);
        if (cases[i].exists)
            ok(t.cc == cases[i].cc && t.variant == cases[i].variant &&
                   t.is_virtual == cases[i].is_virtual,
               "what it is");
    }
    ok(ptxas_version_known(9, 1) && !ptxas_version_known(9, 2) && !ptxas_version_known(10, 0),
       "versions of PTX");
}

/* A word that comes twice, a value that ends early: nothing is read behind the words. */
static void test_words(void)
{
    static const struct job cases[] = {
        {"-O", good, 3, {"-O", "-arch=sm_90", "--opt-level=1"}},
        {"-e", good, 3, {"-e=k,k", "-arch", "sm_90"}},
        {"-m64", good, 2, {"-m64", "-arch=sm_90"}},
    };
    static const struct job bad[] = {
        {"-e", good, 2, {"-arch=sm_90", "-e"}},
        {"-e,", good, 2, {"-arch=sm_90", "-e=k,,x"}},
        {"-m", good, 1, {"-m"}},
        {"--", good, 1, {"--"}},
        {"-=", good, 1, {"-="}},
        {"null", good, 2, {"-v", NULL}},
    };
    struct ptxas p;

    for (size_t i = 0; i < HD_COUNT_OF(cases); i++) {
        eq_u64(work(&p, &cases[i]), HD_OK, "%s", cases[i].name);
        eq_u64(obj_image_identify(p.image.ptr, p.image.len), OBJ_IMAGE_CUBIN, "an image");
        ptxas_fini(&p);
    }
    for (size_t i = 0; i < HD_COUNT_OF(bad); i++) {
        ok(work(&p, &bad[i]) != HD_OK, "refused: %s", bad[i].name);
        ok(p.error.len, "with a message");
        ptxas_fini(&p);
    }
}

/* What the image has of each kernel is what -v says. */
static void test_code(void)
{
    const struct job job = {"busy.ptx", busy, 3, {"-v", "-arch", "sm_90"}};
    struct obj_ptx_list list;
    struct isa_image image;
    char used[256];
    struct ptxas p;

    eq_u64(work(&p, &job), HD_OK, "a program of several functions");
    if (!ok(isa_image_read(p.image.ptr, p.image.len, &image) == HD_OK, "its image has code"))
        diag("%s", hd_error_message());
    struct isa_kernel *k = isa_image_find(&image, hd_str_from("k"));
    if (!ok(k != NULL, "of its kernel"))
        return;
    snprintf(used, sizeof(used),
             "Used %u registers, used 0 barriers, %u bytes cumulative stack size, 268 bytes "
             "cmem[0], %zu bytes cmem[1]",
             k->properties[ISA_PROPERTY_REGISTERS], k->properties[ISA_PROPERTY_LOCAL],
             k->literals.len);
    if (!k->properties[ISA_PROPERTY_LOCAL])
        snprintf(used, sizeof(used), "Used %u registers, used 0 barriers, ",
                 k->properties[ISA_PROPERTY_REGISTERS]);
    if (!ok(strstr(p.info.ptr, used) != NULL, "-v tells of that code: %s", used))
        diag("%s", p.info.ptr);
    ok(k->properties[ISA_PROPERTY_REGISTERS] > 4 && k->properties[ISA_PROPERTY_REGISTERS] < 40,
       "%u registers", k->properties[ISA_PROPERTY_REGISTERS]);
    eq_u64(k->functions.len, 2, "two functions");
    eq_str(isa_kernel_text(k, k->functions.at[1].index), "down", "by their names");
    ok(k->relocs.len == 1 && !strcmp(isa_kernel_text(k, k->relocs.at[0].var), "sums"),
       "and a variable");
    const struct isa_line *line = k->lines.len > 1 ? &k->lines.at[1] : NULL;
    ok(line && !strcmp(isa_kernel_text(k, line->file - 1), "busy.ptx"), "and lines");
    ok(isa_image_has_key(&image) && image.arch == 90, "and a key");
    eq_u64(obj_image_load_ptx(p.image.ptr, OBJ_SIZE_UNKNOWN, (struct obj_target){.cc = 120}, &list),
           HD_OK, "others find the PTX there");
    eq_str(list.at[0].text, busy, "as it was");
    obj_ptx_list_fini(&list);
    isa_image_fini(&image);
    ptxas_fini(&p);
}

static void test_refused(void)
{
    struct job job = {"refused.ptx", refused, 3, {"-v", "-arch", "sm_90"}};
    struct isa_image image;
    struct ptxas p;

    says(&job, HD_OK, "ptxas warning : No code for Heddle's GPU of function 'bad', only PTX");
    says(&job, HD_OK, "a call with more than 240 bytes of arguments");
    says(&job, HD_OK, "Function properties for good");
    eq_u64(work(&p, &job), HD_OK, "the image is made");
    ok(isa_image_read(p.image.ptr, p.image.len, &image) == HD_OK, "with code");
    ok(image.kernels.len == 1 && !strcmp(image.kernels.at[0].name, "good"), "of the other kernel");
    isa_image_fini(&image);
    ptxas_fini(&p);
    job.words[0] = "-w";
    eq_u64(work(&p, &job), HD_OK, "without warnings");
    eq_u64(p.info.len + p.error.len, 0, "nothing is said");
    ptxas_fini(&p);
    job.words[0] = "-Werror";
    says(&job, HD_BAD_PTX, "ptxas error   : No code for Heddle's GPU of function 'bad'");
    job.words[2] = "compute_90";
    job.words[0] = "-w";
    eq_u64(work(&p, &job), HD_OK, "an architecture to check for");
    eq_u64(p.image.len, 0, "has no image");
    ptxas_fini(&p);
}

/* The limit is the option's, unless the kernel has bounds of its own. */
static void test_limits(void)
{
    static const struct {
        const char *bounds, *first, *second;
        unsigned most;
    } cases[] = {
        {"", "-w", "-w", 255},
        {"", "-maxrregcount=24", "-w", 24},
        {"", "-maxrregcount=1", "-w", 16},
        {".maxnreg 20", "-w", "-w", 20},
        {".maxnreg 20", "-maxrregcount=24", "-w", 20},
        {".maxnreg 20", "-maxrregcount=24", "-override-directive-values", 24},
        {".maxntid 1024 .minnctapersm 2", "-maxrregcount=255", "-w", 32},
    };
    for (size_t i = 0; i < HD_COUNT_OF(cases); i++) {
        struct isa_image image;
        struct hd_buf text;
        struct ptxas p;

        hd_buf_init(&text);
        hd_buf_printf(&text,
                      HEAD ".visible .entry k(.param .u64 p)\n%s {\n.reg .u64 %%a;"
                           ".reg .u32 %%r<40>;\nld.param.u64 %%a, [p];\n",
                      cases[i].bounds);
        for (unsigned r = 0; r < 40; r++)
            hd_buf_printf(&text, "ld.global.u32 %%r%u, [%%a+%u];\n", r, 4 * r);
        for (unsigned r = 0; r < 40; r++)
            hd_buf_printf(&text, "st.global.u32 [%%a+%u], %%r%u;\n", 4 * r, 39 - r);
        hd_buf_puts(&text, "ret;\n}\n");
        struct job job = {"limits", text.ptr, 3, {"-arch=sm_90", cases[i].first, cases[i].second}};
        eq_u64(work(&p, &job), HD_OK, "%s %s %s", cases[i].bounds, job.words[1], job.words[2]);
        if (!ok(isa_image_read(p.image.ptr, p.image.len, &image) == HD_OK, "an image"))
            return;
        const uint32_t *of = image.kernels.at[0].properties;
        ok(of[ISA_PROPERTY_REGISTERS] <= cases[i].most, "%u registers of %u",
           of[ISA_PROPERTY_REGISTERS], cases[i].most);
        ok((of[ISA_PROPERTY_SPILLED] > 0) == (cases[i].most < 42) &&
               (of[ISA_PROPERTY_SPILL_STORES] > 0) == (cases[i].most < 42) &&
               (of[ISA_PROPERTY_SPILL_LOADS] > 0) == (cases[i].most < 42),
           "what does not fit is spilled: %u bytes", of[ISA_PROPERTY_SPILLED]);
        isa_image_fini(&image);
        ptxas_fini(&p);
        hd_buf_fini(&text);
    }
}

struct whole {
    struct job job;
    size_t image_B;
};

static bool work_once(void *arg)
{
    struct whole *whole = arg;
    struct ptxas p;
    enum hd_status status = work(&p, &whole->job);

    if (status == HD_OK && p.image.len != whole->image_B)
        ok(false, "an image of %zu bytes", p.image.len);
    if (status != HD_OK && status != HD_NO_MEMORY && status != HD_BAD_ARG)
        ok(false, "status %d: %s", (int)status, hd_error_message());
    ptxas_fini(&p);
    return status == HD_OK;
}

static void test_memory(void)
{
    struct whole whole = {.job = {"k.ptx", good, 4, {"-v", "-arch", "sm_90a", "-e=k"}}};
    struct ptxas p;

    eq_u64(work(&p, &whole.job), HD_OK, "with memory");
    whole.image_B = p.image.len;
    ptxas_fini(&p);
    tap_oom_loop(work_once, &whole, "assemble");
    whole.job = (struct job){"busy.ptx", busy, 3, {"-v", "-arch=sm_90", "-maxrregcount=16"}};
    eq_u64(work(&p, &whole.job), HD_OK, "a longer one");
    whole.image_B = p.image.len;
    ptxas_fini(&p);
    tap_oom_loop(work_once, &whole, "assemble more");
}

int main(void)
{
    test_messages();
    test_shared();
    test_all_errors();
    test_targets();
    test_words();
    test_code();
    test_refused();
    test_limits();
    test_memory();
    return done();
}
