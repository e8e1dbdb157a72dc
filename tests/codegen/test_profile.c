/* Profiles: what code records is exact, what is wrong with a file is told, and code goes by it. */
#include <fcntl.h>
#include <unistd.h>

#include "codegen/both.h"

enum { CTAS = 2, THREADS = 64, WARPS = CTAS * THREADS / 32, FEW = 5, ROUNDS = 10 };

/* A loop with an atomic that no round comes to, and before it one that few lanes come to. */
static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 out, .param .u32 rounds) {\n"
    ".reg .b64 x, y, o; .reg .b32 t, c, s, i, n; .reg .pred p, q, r;\n"
    "ld.param.u64 x, [out];\nld.param.u32 n, [rounds];\nmov.u32 t, %tid.x;\nmov.u32 c, %ctaid.x;\n"
    "mad.lo.u32 c, c, 64, t;\nmul.wide.u32 o, c, 4;\nadd.u64 y, x, o;\n"
    "setp.gt.u32 r, t, 4;\n@r bra all;\nred.global.or.b32 [x+4096], 1;\n"
    "all:\nmov.u32 s, c;\nmov.u32 i, 0;\n"
    "loop:\nsetp.ne.u32 q, i, 100;\n@q bra next;\nred.global.add.u32 [x+4100], s;\n"
    "next:\nmad.lo.u32 s, s, 3, i;\nadd.u32 i, i, 1;\nsetp.lt.u32 p, i, n;\n@p bra loop;\n"
    "st.global.u32 [y], s;\nret;\n}\n";
/* The same name, and another body. */
static const char other[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 out, .param .u32 rounds) { .reg .b64 x;\n"
    "ld.param.u64 x, [out];\nst.global.u64 [x], x;\nret;\n}\n";

static uint32_t out[2048];
static struct ir_module *module;

static bool check(void *ctx, uint64_t address, uint64_t size_B, bool write)
{
    return true;
}
static bool range(void *ctx, uint64_t address, bool write, uint64_t *out_start,
                  uint64_t *out_size_B)
{
    *out_start = 4096;
    *out_size_B = UINT64_MAX - 4096;
    return true;
}
static const struct interp_ops services = {.check = check, .range = range};

static bool run(const struct isa_code *code, struct sim_executed *words)
{
    const struct {
        uint64_t out;
        uint32_t n;
    } params = {(uintptr_t)out, ROUNDS};
    const struct interp_launch launch = {.grid = {CTAS, 1, 1},
                                         .block = {THREADS, 1, 1},
                                         .params = &params,
                                         .ops = &services,
                                         .kernel = module->funcs};
    struct sim_counts counts = {.words = words};
    struct sim_program *program = NULL;
    struct sim_kernel described;
    enum hd_status status = sim_kernel_of(module->funcs, &described);

    memset(out, 0, sizeof(out));
    described.checks_hazards = true;
    described.counts = words != NULL;
    if (status == HD_OK)
        status = sim_program_create(code, &described, &program);
    if (status == HD_OK)
        status = sim_launch(program, &launch, NULL, &counts);
    sim_program_destroy(program);
    return status == HD_OK;
}

/* Does the block have the operation? */
static bool has(const struct ir_block *b, enum ir_op op)
{
    ir_foreach_instr(in, b)
        if (in->op == op)
            return true;
    return false;
}

static bool is(const struct ir_profile_count *count, uint64_t warps, uint64_t lanes)
{
    return count->warps == warps && count->lanes == lanes;
}

static void test_record(struct ir_profile *out_profile)
{
    struct codegen_record record = {0};
    const struct codegen_options options = {.checks = true, .record = &record};
    struct sim_executed *words;
    struct isa_code code;
    unsigned cold = 0, few = 0, rounds = 0;

    ir_profile_init(&record.funcs);
    eq_u64(codegen_kernel(module->funcs, &options, &code), HD_OK, "code that records");
    eq_u64(record.funcs.funcs.len, 1, "of one function");
    eq_u64(record.marks.len, module->funcs->nblocks, "has a mark for each block");
    words = calloc(code.words.len, sizeof(*words));
    ok(words && run(&code, words), "it runs: %s", hd_error_message());
    for (size_t i = 0; i < record.marks.len; i++) {
        const struct codegen_mark *mark = &record.marks.at[i];
        struct ir_profile_count *count = &record.funcs.funcs.at[0].blocks.at[mark->block];
        const struct ir_block *b = module->funcs->blocks[mark->block];

        *count = (struct ir_profile_count){words[mark->word].warps, words[mark->word].lanes};
        if (!mark->block)
            ok(is(count, WARPS, CTAS * THREADS), "each warp comes to the entry once");
        cold += has(b, IR_OP_ATOM) && is(count, 0, 0);
        few += has(b, IR_OP_ATOM) && is(count, CTAS, CTAS * FEW);
        rounds += is(count, WARPS * ROUNDS, CTAS * THREADS * ROUNDS);
    }
    eq_u64(cold, 1, "nobody comes to one atomic");
    eq_u64(few, 1, "few lanes of a warp of each CTA come to the other");
    ok(rounds, "all come to the loop in each round");
    *out_profile = record.funcs;
    hd_vec_fini(&record.marks);
    isa_code_fini(&code);
    free(words);
}

/* ---- the file */

static void test_text(const struct ir_profile *profile)
{
    struct ir_profile again, twice;
    struct hd_buf once, back;

    hd_buf_init(&once);
    hd_buf_init(&back);
    ir_profile_print(profile, &once);
    eq_u64(ir_profile_parse((struct hd_str){once.ptr, once.len}, "p", &again), HD_OK, "is read");
    ir_profile_print(&again, &back);
    eq_str(back.ptr, once.ptr, "and written as it was");
    ir_profile_init(&twice);
    eq_u64(ir_profile_merge(&twice, &again), HD_OK, "added to nothing");
    eq_u64(ir_profile_merge(&twice, profile), HD_OK, "and again");
    ok(is(&twice.funcs.at[0].blocks.at[0], 2 * WARPS, 2 * CTAS * THREADS), "gives the sum");
    again.funcs.at[0].blocks.len--;
    eq_u64(ir_profile_merge(&twice, &again), HD_BAD_ARG, "a function with fewer blocks is refused");
    ir_profile_fini(&again);
    ir_profile_fini(&twice);
    hd_buf_fini(&once);
    hd_buf_fini(&back);
}

#define HEAD "heddle-profile 1\n"
#define FUNC HEAD "function 0123456789abcdef 2 k\n"

static void test_mistakes(void)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "f:1: no profile: the first line is not 'heddle-profile 1'"},
        {"heddle-profile 2\n", "f:1: no profile"},
        {HEAD "\n", "f:2: here a line 'function HASH BLOCKS NAME' is expected"},
        {HEAD "function 0123 2 k\n", "f:2: a function's hash has 16 hexadecimal digits"},
        {HEAD "function 0123456789abcdeg 2 k\n", "f:2: a function's hash"},
        {HEAD "function 0123456789abcdef 0 k\n", "f:2: a function has a number of blocks"},
        {HEAD "function 0123456789abcdef x k\n", "f:2: a function has a number of blocks"},
        {HEAD "function 0123456789abcdef 2\n", "f:2: the function has no name"},
        {FUNC "1 2\n", "f:3: the function ends before all of its blocks have a line"},
        {FUNC "1 2\n3\n", "f:4: a block is two numbers, of warps and of lanes"},
        {FUNC "1 2\n-3 4\n", "f:4: a block is two numbers"},
        {FUNC "1 2\n3 9007199254740993\n", "f:4: a count is larger than 2^53"},
        {FUNC "1 2\n3 4\nfunction 0123456789abcdef 1 k\n5 6\n",
         "f:5: the function is there already"},
    };
    char garbage[256];

    for (size_t i = 0; i < HD_COUNT_OF(bad); i++) {
        struct ir_profile profile;

        eq_u64(ir_profile_parse(hd_str_from(bad[i].text), "f", &profile), HD_BAD_ARG,
               "text %zu is refused", i);
        ok(strstr(hd_error_message(), bad[i].why), "%s", hd_error_message());
    }
    for (unsigned i = 0; i < 2000; i++) {
        struct ir_profile profile;
        size_t len = sizeof(FUNC "1 2\n3 4\n") - 1;

        memcpy(garbage, FUNC "1 2\n3 4\n", len);
        for (unsigned k = 0; k < 1 + i % 3; k++)
            garbage[(i * 31 + k * 7) % len] = (char)(i * 17 + k * 101);
        if (ir_profile_parse((struct hd_str){garbage, len - i % 5}, "f", &profile) == HD_OK)
            ir_profile_fini(&profile);
    }
    ok(true, "whatever is read, nothing crashes");
}

static void test_file(const struct ir_profile *profile)
{
    char folder[] = "/tmp/heddle-profile-XXXXXX", path[64];
    struct ir_profile again;
    FILE *file;

    ok(mkdtemp(folder) != NULL, "a folder");
    snprintf(path, sizeof(path), "%s/p", folder);
    for (unsigned i = 1; i <= 2; i++) {
        eq_u64(ir_profile_write(profile, path), HD_OK, "written, time %u", i);
        eq_u64(ir_profile_read(path, &again), HD_OK, "and read");
        ok(is(&again.funcs.at[0].blocks.at[0], i * WARPS, i * CTAS * THREADS), "with the sum");
        ir_profile_fini(&again);
    }
    file = fopen(path, "w");
    ok(file && fputs("something else\n", file) > 0 && !fclose(file), "another file");
    eq_u64(ir_profile_write(profile, path), HD_BAD_ARG, "is not written over");
    unlink(path);
    rmdir(folder);
    eq_u64(ir_profile_write(profile, path), HD_IO, "a folder that is not there is told");
}

/* ---- use */

static size_t place_of(const struct isa_code *code, enum isa_op op, size_t from)
{
    struct isa_insn insn;

    for (size_t i = from; i < code->words.len; i++)
        if (!isa_decode(code->words.at[i], &insn) && insn.op == op)
            return i;
    return SIZE_MAX;
}

static bool is_same(const struct isa_code *a, const struct isa_code *b)
{
    return a->words.len == b->words.len &&
           !memcmp(a->words.at, b->words.at, a->words.len * sizeof(*a->words.at));
}

static void test_use(const struct ir_profile *profile)
{
    const struct codegen_options with = {.checks = true, .profile = profile};
    const struct codegen_options without = {.checks = true};
    struct isa_code by_loops, by_counts;
    uint32_t expected[HD_COUNT_OF(out)];
    struct ir_module *stale;
    size_t first, cold;

    eq_u64(codegen_kernel(module->funcs, &without, &by_loops), HD_OK, "code without a profile");
    eq_u64(codegen_kernel(module->funcs, &with, &by_counts), HD_OK, "and with it");
    first = place_of(&by_loops, ISA_REDG, 0);
    cold = place_of(&by_loops, ISA_REDG, first + 1);
    ok(cold < place_of(&by_loops, ISA_EXIT, 0), "the atomic is in the loop without a profile");
    first = place_of(&by_counts, ISA_REDG, 0);
    cold = place_of(&by_counts, ISA_REDG, first + 1);
    ok(cold != SIZE_MAX && cold > place_of(&by_counts, ISA_EXIT, 0), "and behind the end with it");
    ok(run(&by_loops, NULL), "runs: %s", hd_error_message());
    memcpy(expected, out, sizeof(out));
    ok(run(&by_counts, NULL), "both do: %s", hd_error_message());
    ok(!memcmp(expected, out, sizeof(out)) && out[1], "with the same results");
    ok(by_counts.profile == codegen_profile_hash(profile) && by_counts.profile && !by_loops.profile,
       "code says which profile it is made with");
    isa_code_fini(&by_loops);
    isa_code_fini(&by_counts);

    stale = both_module(other);
    if (!stale) {
        ok(false, "the other kernel: %s", hd_error_message());
        return;
    }
    eq_u64(codegen_kernel(stale->funcs, &without, &by_loops), HD_OK, "another kernel of that name");
    eq_u64(codegen_kernel(stale->funcs, &with, &by_counts), HD_OK, "compiles with the profile");
    ok(is_same(&by_loops, &by_counts), "which is not used");
    isa_code_fini(&by_loops);
    isa_code_fini(&by_counts);
    ir_module_destroy(stale);
}

int main(void)
{
    struct ir_profile profile;

    module = both_module(text);
    if (!module) {
        ok(false, "the kernel: %s", hd_error_message());
        return done();
    }
    test_record(&profile);
    test_text(&profile);
    test_mistakes();
    test_file(&profile);
    test_use(&profile);
    ir_profile_fini(&profile);
    ir_module_destroy(module);
    return done();
}
