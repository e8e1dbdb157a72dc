/*
 * Functions that are not inlined: those that call themselves and each other, through pointers, with
 * arguments of all widths, local variables and stack of their own, and more values than fit into
 * registers across a call.
 */
#include "codegen/both.h"

enum { THREADS = 40 };

static uint64_t out[THREADS];

static bool check(void *ctx, uint64_t address, uint64_t size_B, bool write)
{
    const char *p = (const char *)(uintptr_t)address;

    return p >= (char *)out && p + size_B <= (char *)out + sizeof(out);
}
static const struct interp_ops services = {.check = check};

/* `body` makes d of x, both of 64 bits, with `functions`. */
static void test(const char *name, const char *functions, const char *body)
{
    const uint64_t params[] = {(uintptr_t)out};
    const struct interp_launch launch = {
        .grid = {1, 1, 1}, .block = {THREADS, 1, 1}, .params = params, .ops = &services};
    struct hd_buf text;

    hd_buf_init(&text);
    hd_buf_printf(&text,
                  ".version 8.0\n.target sm_80\n.address_size 64\n%s\n"
                  ".visible .entry k(.param .u64 out) {\n.reg .b64 o, x, d, f; .reg .b32 t, w;\n"
                  "ld.param.u64 o, [out];\nmov.u32 t, %%tid.x;\nmul.wide.u32 x, t, 8;\n"
                  "add.u64 o, o, x;\ncvt.u64.u32 x, t;\n%s\nst.global.b64 [o], d;\nret;\n}\n",
                  functions, body);
    hd_buf_putc(&text, '\0');
    memset(out, 0, sizeof(out));
    both_test(name, &text, launch, out, sizeof(out));
    ok(out[THREADS - 1] != 0, "%s: a result", name);
    hd_buf_fini(&text);
}

#define CALL(f)                                                                                    \
    "{ .param .b64 a; .param .b64 r; st.param.b64 [a], x; call (r), " f                            \
    ", (a); ld.param.b64 d, [r]; }"

static void test_itself(void)
{
    test("fibonacci",
         ".func (.param .b64 r) fib(.param .b64 n) {\n.reg .b64 x, y, z; .reg .pred p;\n"
         "ld.param.b64 x, [n];\nand.b64 x, x, 7;\nsetp.lt.u64 p, x, 2;\n@p bra end;\n"
         "{ .param .b64 a; .param .b64 b; sub.u64 y, x, 1; st.param.b64 [a], y; "
         "call (b), fib, (a); ld.param.b64 z, [b]; }\n"
         "{ .param .b64 a; .param .b64 b; sub.u64 y, x, 2; st.param.b64 [a], y; "
         "call (b), fib, (a); ld.param.b64 y, [b]; }\nadd.u64 x, y, z;\n"
         "end: st.param.b64 [r], x;\nret;\n}",
         CALL("fib"));
}

static void test_each_other(void)
{
    test("even and odd",
         ".func (.param .b64 r) odd(.param .b64 n);\n"
         ".func (.param .b64 r) even(.param .b64 n) {\n.reg .b64 x; .reg .pred p;\n"
         "ld.param.b64 x, [n];\nsetp.eq.u64 p, x, 0;\n@p mov.b64 x, 7;\n@p bra end;\n"
         "{ .param .b64 a; .param .b64 b; sub.u64 x, x, 1; st.param.b64 [a], x; "
         "call (b), odd, (a); ld.param.b64 x, [b]; }\nend: st.param.b64 [r], x;\nret;\n"
         "}\n.func (.param .b64 r) odd(.param .b64 n) {\n.reg .b64 x; .reg .pred p;\n"
         "ld.param.b64 x, [n];\nsetp.eq.u64 p, x, 0;\n@p mov.b64 x, 3;\n@p bra end;\n"
         "{ .param .b64 a; .param .b64 b; sub.u64 x, x, 1; st.param.b64 [a], x; "
         "call (b), even, (a); ld.param.b64 x, [b]; }\nend: st.param.b64 [r], x;\nret;\n"
         "}",
         CALL("even"));
}

/* Arguments of all widths in another order, and a local variable that lives across the call. */
static void test_arguments(void)
{
    test("arguments of all widths",
         ".func (.param .b64 r) mix(.param .b32 pn, .param .b64 px, .param .b16 ph, .param .align "
         "16 .b8 pq[16]) {\n"
         ".local .align 16 .b8 mine[32]; .reg .b32 n; .reg .b64 x, y, z, m; "
         ".reg .b16 h; .reg .pred p;\nld.param.b32 n, [pn];\nld.param.b64 x, [px];\n"
         "ld.param.b16 h, [ph];\nld.param.v2.b64 {y, z}, [pq];\nmov.b64 m, mine;\n"
         "st.local.v2.b64 [m], {z, y};\nst.local.b64 [m+16], x;\nsetp.eq.u32 p, n, 0;\n"
         "@p bra end;\n"
         "{ .param .b32 a; .param .b64 b; .param .b16 c; .param .align 16 .b8 d[16]; "
         ".param .b64 e;\n"
         "sub.u32 n, n, 1; st.param.b32 [a], n; st.param.b64 [b], y; add.u16 h, h, 3; "
         "st.param.b16 [c], h; st.param.v2.b64 [d], {z, x}; "
         "call (e), mix, (a, b, c, d); ld.param.b64 x, [e]; }\n"
         "end: ld.local.v2.b64 {y, z}, [m];\nmad.lo.u64 x, x, 31, y;\nxor.b64 x, x, z;\n"
         "ld.local.b64 y, [m+16];\nadd.u64 x, x, y;\ncvt.u64.u16 y, h;\n"
         "add.u64 x, x, y;\nst.param.b64 [r], x;\nret;\n}",
         "{ .param .b32 a; .param .b64 b; .param .b16 c; .param .align 16 .b8 q[16]; "
         ".param .b64 e;\n"
         "and.b32 w, t, 7; st.param.b32 [a], w; st.param.b64 [b], x; .reg .b16 h; "
         "cvt.u16.u32 h, t; st.param.b16 [c], h; add.u64 f, x, 99; "
         "st.param.v2.b64 [q], {f, x}; call (e), mix, (a, b, c, q); "
         "ld.param.b64 d, [e]; }");
}

static void test_stack(void)
{
    test("stack of its own",
         ".func (.param .b64 r) deep(.param .b64 n) {\n"
         ".reg .b64 x, y, s, l; .reg .pred p;\nld.param.b64 x, [n];\nand.b64 x, x, 7;\n"
         "setp.eq.u64 p, x, 0;\nmov.b64 y, 5;\n@p bra end;\nshl.b64 s, x, 3;\n"
         "add.u64 s, s, 8;\nalloca.u64 l, s;\nst.local.b64 [l], x;\n"
         "{ .param .b64 a; .param .b64 b; sub.u64 y, x, 1; st.param.b64 [a], y; "
         "call (b), deep, (a); ld.param.b64 y, [b]; }\nld.local.b64 s, [l];\n"
         "mad.lo.u64 y, y, 3, s;\nalloca.u64 l, 48;\nst.local.b64 [l+40], y;\n"
         "{ .param .b64 a; .param .b64 b; shr.u64 y, x, 1; st.param.b64 [a], y; "
         "call (b), deep, (a); ld.param.b64 y, [b]; }\nld.local.b64 s, [l+40];\n"
         "add.u64 y, y, s;\nend: st.param.b64 [r], y;\nret;\n}",
         CALL("deep"));
}

static void test_pointers(void)
{
    test("through pointers",
         ".func (.param .b64 r) one(.param .b64 n) {\n"
         ".reg .b64 x; ld.param.b64 x, [n];\nadd.u64 x, x, 11;\nst.param.b64 [r], x;\n"
         "ret;\n}\n.func (.param .b64 r) two(.param .b64 n) {\n"
         ".reg .b64 x, f, y; .reg .pred p; ld.param.b64 x, [n];\nsetp.gt.u64 p, x, 20;\n"
         "mov.b64 f, one;\nmov.b64 y, two;\nselp.b64 f, y, f, p;\nsub.u64 y, x, 7;\n"
         "type: .callprototype (.param .b64 r) _ (.param .b64 n);\n"
         "{ .param .b64 a; .param .b64 b; st.param.b64 [a], y; call (b), f, (a), type; "
         "ld.param.b64 y, [b]; }\nmad.lo.u64 x, x, 5, y;\nst.param.b64 [r], x;\nret;\n}",
         ".reg .pred p; mov.b64 f, one; mov.b64 d, two; setp.lt.u64 p, x, 9; "
         "selp.b64 f, f, d, p;\n"
         "type: .callprototype (.param .b64 r) _ (.param .b64 n);\n"
         "{ .param .b64 a; .param .b64 r; st.param.b64 [a], x; call (r), f, (a), type; "
         "ld.param.b64 d, [r]; }");
}

int main(void)
{
    test_itself();
    test_each_other();
    test_arguments();
    test_stack();
    test_pointers();
    return done();
}
