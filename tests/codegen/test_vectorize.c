/*
 * Loads of neighbours that become one: which do, and that all give the interpreter's bits. A
 * misaligned wide load would trap, as would one behind what it must not pass give other numbers.
 */
#include "codegen/both.h"

enum { THREADS = 32, OUTS = 12 };

static uint32_t out[OUTS * THREADS], in[4 * OUTS * THREADS] HD_ALIGNED(16);
static struct {
    uint64_t out, in;
} params;

static bool check(void *ctx, uint64_t address, uint64_t size_B, bool write)
{
    const char *p = (const char *)(uintptr_t)address;

    return (p >= (char *)out && p + size_B <= (char *)out + sizeof(out)) ||
           (!write && p >= (char *)in && p + size_B <= (char *)in + sizeof(in));
}
static const struct interp_ops services = {.check = check};

/*
 * The tile has 256 words: word i is i. s: its address + 4 * (word that a row of `row` words begins
 * with), t: tid.x, g: the global copy.
 */
struct pattern {
    const char *name;
    const char *code;
    unsigned wide16, wide8; /* loads of so many bytes that there are to be */
};

#define ROW16   "shl.b32 a, t, 6; add.u32 s, tile, a;\n"
#define ROW4    "shl.b32 a, t, 4; add.u32 s, tile, a;\n"
#define ROW2    "shl.b32 a, t, 3; add.u32 s, tile, a;\n"
#define ROW1    "shl.b32 a, t, 2; add.u32 s, tile, a;\n"
#define L(r, o) "ld.shared.u32 " #r ", [s+" #o "];\n"

static const struct pattern patterns[] = {
    {"four words of an aligned row", ROW4 L(r0, 0) L(r1, 4) L(r2, 8) L(r3, 12), 1, 0},
    {"in another order", ROW4 L(r3, 12) L(r1, 4) L(r0, 0) L(r2, 8), 1, 0},
    {"eight words",
     "and.b32 t, t, 3;" ROW16 L(r0, 0) L(r1, 4) L(r2, 8) L(r3, 12) L(r4, 16) L(r5, 20) L(r6, 24)
         L(r7, 28),
     2, 0},
    {"from the third word on",
     "and.b32 t, t, 3;" ROW16 L(r0, 8) L(r1, 12) L(r2, 16) L(r3, 20) L(r4, 24) L(r5, 28), 1, 1},
    {"three words", ROW4 L(r0, 0) L(r1, 4) L(r2, 8), 0, 1},
    {"two words", ROW2 L(r0, 0) L(r1, 4), 0, 1},
    {"two words of rows of four", ROW4 L(r0, 8) L(r1, 12), 0, 1},
    {"rows of two words hold no four", ROW2 L(r0, 0) L(r1, 4) L(r2, 8) L(r3, 12), 0, 2},
    {"a window that slides", ROW1 L(r0, 0) L(r1, 4) L(r2, 8) L(r3, 12), 0, 0},
    {"words with one between", ROW4 L(r0, 0) L(r1, 8), 0, 0},
    {"the second word of a pair", ROW4 L(r0, 4) L(r1, 8), 0, 0},
    {"the same for all lanes", "mov.u32 s, tile;\n" L(r0, 16) L(r1, 20) L(r2, 24) L(r3, 28), 1, 0},
    {"behind a store", ROW4 L(r0, 0) L(r1, 4) "st.shared.u32 [s+8], t;\n" L(r2, 8) L(r3, 12), 0, 2},
    {"behind a barrier", ROW4 L(r0, 0) L(r1, 4) "bar.sync 0;\n" L(r2, 8) L(r3, 12), 0, 2},
    {"behind a barrier, one by one", ROW4 L(r0, 0) "bar.sync 0;\n" L(r1, 4), 0, 0},
    {"volatile", ROW4 "ld.volatile.shared.u32 r0, [s]; ld.volatile.shared.u32 r1, [s+4];\n", 0, 0},
    {"on both sides of a volatile load",
     ROW4 L(r0, 0) L(r1, 4) "ld.volatile.shared.u32 r4, [s];\n" L(r2, 8) L(r3, 12), 0, 2},
    {"on both sides of an acquire", ROW4 L(r0, 0) "ld.acquire.gpu.global.u32 r4, [g];\n" L(r1, 4),
     0, 0},
    {"by address and by offset", ROW4 "add.u32 s, s, 4;\n" L(r0, -4) L(r1, 0) L(r2, 4) L(r3, 8), 1,
     0},
    {"pairs", ROW4 "ld.shared.v2.u32 {r0, r1}, [s]; ld.shared.v2.u32 {r2, r3}, [s+8];\n", 1, 0},
    {"words of eight bytes",
     ROW4 "ld.shared.u64 d0, [s]; ld.shared.u64 d1, [s+8];\n"
          "mov.b64 {r0, r1}, d0; mov.b64 {r2, r3}, d1;\n",
     1, 0},
    {"halves stay",
     ROW4 "ld.shared.u16 h0, [s]; ld.shared.u16 h1, [s+2];\n"
          "cvt.u32.u16 r0, h0; cvt.u32.u16 r1, h1;\n",
     0, 0},
    {"a mask aligns",
     "and.b32 a, t, 28; shl.b32 a, a, 2; add.u32 s, tile, a;\n" L(r0, 0) L(r1, 4) L(r2, 8)
         L(r3, 12),
     1, 0},
    {"behind a branch",
     ROW4 L(r0, 0) L(r1, 4) "setp.gt.u32 p, t, 7; @p bra over;\n" L(r2, 8) L(r3, 12) "over:\n", 0,
     2},
    {"a pointer that nobody knows", "ld.global.u32 r0, [g]; ld.global.u32 r1, [g+4];\n", 0, 0},
    {"one that is rounded",
     "and.b64 d2, g, -16; mul.wide.u32 d3, t, 16; add.u64 d2, d2, d3;\n"
     "ld.global.u32 r0, [d2]; ld.global.u32 r1, [d2+4];\n"
     "ld.global.u32 r2, [d2+8]; ld.global.u32 r3, [d2+12];\n",
     1, 0},
    {"its cache and another's",
     "and.b64 d2, g, -16;\nld.global.cs.u32 r0, [d2];\n"
     "ld.global.u32 r1, [d2+4];\n",
     0, 0},
};

/* There is nobody who gives them addresses. */
static const struct pattern variables[] = {
    {"a variable of its alignment",
     "ld.global.u32 r0, [aligned]; ld.global.u32 r1, [aligned+4];\n"
     "ld.global.u32 r2, [aligned+8]; ld.global.u32 r3, [aligned+12];"
     "\n",
     1, 0},
    {"another variable", "ld.global.u32 r0, [plain]; ld.global.u32 r1, [plain+4];\n", 0, 0},
};

static void kernel_text(struct hd_buf *text, const struct pattern *p)
{
    hd_buf_printf(
        text,
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".global .align 16 .u32 aligned[4] = {1, 2, 3, 4};\n"
        ".global .align 4 .u32 plain[4] = {5, 6, 7, 8};\n"
        ".visible .entry k(.param .u64 out, .param .u64 in) {\n"
        ".reg .b64 x<3>, g, d<4>; .reg .b32 t, s, a, i, tile, r<8>; .reg .b16 h<2>; .reg .pred p, "
        "q;\n"
        ".shared .align 4 .u32 words[256];\n"
        "ld.param.u64 x0, [out]; ld.param.u64 g, [in]; mov.u32 t, %%tid.x; mov.u32 tile, words;\n"
        "mul.wide.u32 x2, t, %u; add.u64 x0, x0, x2;\n"
        "mov.u32 i, t;\nfill: shl.b32 a, i, 2; add.u32 s, tile, a; st.shared.u32 [s], i;\n"
        "add.u32 i, i, %u; setp.lt.u32 q, i, 256; @q bra fill;\nbar.sync 0;\n"
        "mov.u32 r0, 0; mov.u32 r1, 0; mov.u32 r2, 0; mov.u32 r3, 0;\n"
        "mov.u32 r4, 0; mov.u32 r5, 0; mov.u32 r6, 0; mov.u32 r7, 0;\n%s",
        4 * OUTS, THREADS, p->code);
    for (unsigned i = 0; i < 8; i++)
        hd_buf_printf(text, "st.global.u32 [x0+%u], r%u;\n", 4 * i, i);
    hd_buf_puts(text, "ret;\n}\n");
    hd_buf_putc(text, '\0');
}

/* Of the kernel's words: loads that are not of parameters, by bytes. */
static void count_loads(const struct hd_buf *text, unsigned *wide16, unsigned *wide8)
{
    struct ir_module *module = both_module(text->ptr);
    struct isa_code code = {0};
    struct isa_insn insn;

    *wide16 = *wide8 = 0;
    if (!module)
        return;
    ir_foreach_func(func, module)
        if (func->is_kernel)
            ok(codegen_kernel(func, &(struct codegen_options){.checks = true}, &code) == HD_OK,
               "compiles: %s", hd_error_message());
    for (size_t i = 0; i < code.words.len && !isa_decode(code.words.at[i], &insn); i++)
        if (insn.op == ISA_LDS || insn.op == ISA_LDG) {
            *wide16 += isa_registers(&insn, 0) == 4;
            *wide8 += isa_registers(&insn, 0) == 2;
        }
    isa_code_fini(&code);
    ir_module_destroy(module);
}

static void test_pattern(const struct pattern *p, bool runs)
{
    const struct interp_launch launch = {
        .grid = {1, 1, 1}, .block = {THREADS, 1, 1}, .params = &params, .ops = &services};
    unsigned wide16, wide8;
    struct hd_buf text;

    hd_buf_init(&text);
    kernel_text(&text, p);
    if (runs)
        both_test(p->name, &text, launch, out, sizeof(out));
    count_loads(&text, &wide16, &wide8);
    ok(wide16 == p->wide16 && wide8 == p->wide8,
       "%s: %u loads of 16 bytes and %u of 8, wanted %u and %u", p->name, wide16, wide8, p->wide16,
       p->wide8);
    hd_buf_fini(&text);
}

int main(void)
{
    params.out = (uintptr_t)out;
    params.in = (uintptr_t)in;
    for (size_t i = 0; i < HD_COUNT_OF(in); i++)
        in[i] = (uint32_t)i * 2654435761u;
    for (size_t i = 0; i < HD_COUNT_OF(patterns); i++)
        test_pattern(&patterns[i], true);
    for (size_t i = 0; i < HD_COUNT_OF(variables); i++)
        test_pattern(&variables[i], false);
    return done();
}
