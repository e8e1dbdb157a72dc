/* src/ptxas by itself: messages, targets, estimates, short memory. The options are tests/tools'. */
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
}

int main(void)
{
    test_messages();
    test_shared();
    test_all_errors();
    test_targets();
    test_words();
    test_memory();
    return done();
}
