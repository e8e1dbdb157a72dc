/*
 * Floating point to integers. To C++ and LLVM a value that the integer cannot hold is undefined,
 * and what is made of a constant one is nothing: its store goes. The device's instruction
 * saturates, and NVIDIA's compiler keeps it. So the conversions become what LLVM's optimisers know
 * nothing of. clang writes the first under -fno-strict-float-cast-overflow:
 *
 *     %3 = call i32 @llvm.fptosi.sat.i32.f32(float %2)
 *     %3 = call i32 @llvm.nvvm.f2i.rz.ftz(float %2)
 *
 * Flushing changes no result that is rounded to zero; LLVM 19 takes the same name without `ftz`
 * for its own conversion. It does so with all of double's, which are assembly here. Integers of 8
 * and 16 bits are the lower half of one of 32, as in NVIDIA's compiler.
 */
#include "clang/clang.h"
#include "clang/ir_text.h"

#include <stdlib.h>

/* ---- reading a line */

struct conversion {
    struct hd_str result, type, operand; /* type: of the operand */
    bool is_signed;
    unsigned bits;
};

static struct hd_str between(const char *begin, const char *end)
{
    return (struct hd_str){begin, (size_t)(end - begin)};
}

/* The argument of a call, "float %2": `at` is behind the bracket. */
static bool argument_read(const char *at, const char *end, struct conversion *out)
{
    const char *blank = memchr(at, ' ', (size_t)(end - at));
    unsigned depth = 1;

    if (!blank)
        return false;
    out->type = between(at, blank);
    for (at = blank + 1; at < end && (depth += (*at == '(') - (*at == ')')); at++)
        ;
    out->operand = between(blank + 1, at);
    return at < end;
}

/* "i32 @llvm.fptosi.sat.i32.f32(" or "i32 @llvm.nvvm.d2i.rz(": `at` is the function's name. */
static bool call_read(const char *at, const char *end, struct conversion *out)
{
    static const struct {
        const char *begins;
        unsigned bits; /* 0: they follow */
        bool is_signed;
    } functions[] = {
        {"fptosi.sat.i", 0, true},     {"fptoui.sat.i", 0, false},   {"nvvm.f2i.rz(", 32, true},
        {"nvvm.d2i.rz(", 32, true},    {"nvvm.f2ui.rz(", 32, false}, {"nvvm.d2ui.rz(", 32, false},
        {"nvvm.f2ll.rz(", 64, true},   {"nvvm.d2ll.rz(", 64, true},  {"nvvm.f2ull.rz(", 64, false},
        {"nvvm.d2ull.rz(", 64, false},
    };
    struct hd_str name = between(at, end);

    for (size_t i = 0; i < HD_COUNT_OF(functions); i++) {
        if (!hd_str_starts(name, functions[i].begins))
            continue;
        out->is_signed = functions[i].is_signed;
        out->bits = functions[i].bits
                        ? functions[i].bits
                        : (unsigned)strtoul(at + strlen(functions[i].begins), NULL, 10);
        const char *bracket = memchr(at, '(', (size_t)(end - at));
        return bracket && argument_read(bracket + 1, end, out);
    }
    return false;
}

/* "float %2 to i32": `at` is the type. */
static bool cast_read(const char *at, const char *end, struct conversion *out)
{
    const char *blank = memchr(at, ' ', (size_t)(end - at));
    const char *to = ir_find(between(at, end), " to i");

    if (!blank || !to || to < blank)
        return false;
    out->type = between(at, blank);
    out->operand = between(blank + 1, to);
    out->bits = (unsigned)strtoul(to + strlen(" to i"), NULL, 10);
    return true;
}

static bool conversion_read(struct hd_str line, struct conversion *out)
{
    static const char call[] = "call i", cast[] = "fpto";
    const char *end = line.ptr + line.len, *equals = ir_find(line, " = ");

    if (!equals || !hd_str_starts(line, "  %"))
        return false;
    const char *at = equals + 3;
    out->result = between(line.ptr + 2, equals);
    if (hd_str_starts(between(at, end), cast)) {
        out->is_signed = at[4] == 's';
        return cast_read(at + strlen("fptosi "), end, out);
    }
    if (hd_str_starts(between(at, end), "tail "))
        at += strlen("tail ");
    const char *name = ir_find(line, " @llvm.");
    return hd_str_starts(between(at, end), call) && name &&
           call_read(name + strlen(" @llvm."), end, out);
}

/* ---- writing it */

static bool is_type(const struct conversion *c, const char *name)
{
    return hd_str_is(c->type, name);
}

static void put_conversion(const struct conversion *c, const char *to, struct hd_str operand,
                           struct hd_str debug, struct hd_buf *out)
{
    unsigned bits = c->bits == 64 ? 64 : 32;
    char sign = c->is_signed ? 's' : 'u';

    if (is_type(c, "double"))
        hd_buf_printf(out,
                      "  %s = call i%u asm \"cvt.rzi.%c%u.f64 $0, $1;\", \"=%c,d\"(double %.*s) "
                      "nounwind willreturn memory(none)%.*s\n",
                      to, bits, sign, bits, bits == 64 ? 'l' : 'r', HD_STR_ARG(operand),
                      HD_STR_ARG(debug));
    else
        hd_buf_printf(out, "  %s = call i%u @llvm.nvvm.f2%s%s.rz.ftz(float %.*s)%.*s\n", to, bits,
                      c->is_signed ? "" : "u", bits == 64 ? "ll" : "i", HD_STR_ARG(operand),
                      HD_STR_ARG(debug));
}

/*
 * To 128 bits there is no instruction: LLVM writes one out, which is right for what the integer can
 * hold. NVIDIA's saturates; what is no number is the highest bit alone, signed or not.
 */
static void put_long_conversion(const struct conversion *c, unsigned number, const char *to,
                                struct hd_str type, struct hd_str operand, struct hd_str debug,
                                struct hd_buf *out)
{
    static const char max[] = "170141183460469231731687303715884105727";
    static const char min[] = "-170141183460469231731687303715884105728";
    const char *most = c->is_signed           ? "0x47E0000000000000"  /* 2^127 */
                       : is_type(c, "double") ? "0x47F0000000000000"  /* 2^128 */
                                              : "0x7FF0000000000000"; /* float has no 2^128 */
    const struct {
        const char *compare, *limit, *value;
    } steps[] = {{"oge", most, c->is_signed ? max : "-1"},
                 {"olt", c->is_signed ? "0xC7E0000000000000" : "0.0", c->is_signed ? min : "0"},
                 {"uno", "0.0", min}};

    hd_buf_printf(out, "  %%heddle.long.%u.0 = fpto%ci %.*s %.*s to i128%.*s\n", number,
                  c->is_signed ? 's' : 'u', HD_STR_ARG(type), HD_STR_ARG(operand),
                  HD_STR_ARG(debug));
    for (unsigned i = 0; i < HD_COUNT_OF(steps); i++) {
        hd_buf_printf(out, "  %%heddle.out.%u.%u = fcmp %s %.*s %.*s, %s%.*s\n", number, i,
                      steps[i].compare, HD_STR_ARG(type), HD_STR_ARG(operand), steps[i].limit,
                      HD_STR_ARG(debug));
        if (i + 1 < HD_COUNT_OF(steps))
            hd_buf_printf(out, "  %%heddle.long.%u.%u = ", number, i + 1);
        else
            hd_buf_printf(out, "  %s = ", to);
        hd_buf_printf(out, "select i1 %%heddle.out.%u.%u, i128 %s, i128 %%heddle.long.%u.%u%.*s\n",
                      number, i, steps[i].value, number, i, HD_STR_ARG(debug));
    }
}

bool clang_conversion_put(struct hd_str line, unsigned *count, struct hd_buf *out)
{
    struct conversion c;
    char wide[40], source[40], result[128];

    if (!ir_find(line, "fpto") && !ir_find(line, ".rz("))
        return false;
    if (!conversion_read(line, &c) || c.result.len >= sizeof(result))
        return false;
    const char *dbg = ir_find(line, ", !dbg !");
    struct hd_str debug = dbg ? between(dbg, line.ptr + line.len) : HD_STR("");
    bool widens = is_type(&c, "half") || is_type(&c, "bfloat");
    if ((c.bits != 8 && c.bits != 16 && c.bits != 32 && c.bits != 64 && c.bits != 128) ||
        (!widens && !is_type(&c, "float") && !is_type(&c, "double")))
        return false;
    (void)snprintf(wide, sizeof(wide), "%%heddle.wide.%u", *count);
    (void)snprintf(source, sizeof(source), "%%heddle.float.%u", *count);
    (void)snprintf(result, sizeof(result), "%.*s", HD_STR_ARG(c.result));

    if (widens)
        hd_buf_printf(out, "  %s = fpext %.*s %.*s to float%.*s\n", source, HD_STR_ARG(c.type),
                      HD_STR_ARG(c.operand), HD_STR_ARG(debug));
    if (c.bits == 128)
        put_long_conversion(&c, *count, result, widens ? HD_STR("float") : c.type,
                            widens ? (struct hd_str){source, strlen(source)} : c.operand, debug,
                            out);
    else
        put_conversion(&c, c.bits < 32 ? wide : result,
                       widens ? (struct hd_str){source, strlen(source)} : c.operand, debug, out);
    if (c.bits < 32)
        hd_buf_printf(out, "  %s = trunc i32 %s to i%u%.*s\n", result, wide, c.bits,
                      HD_STR_ARG(debug));
    ++*count;
    return true;
}

void clang_conversions_declare(const char *ir, struct hd_buf *out)
{
    static const struct {
        unsigned bits;
        const char *name;
    } functions[] = {{32, "i"}, {32, "ui"}, {64, "ll"}, {64, "ull"}};
    char text[80];

    for (size_t i = 0; i < HD_COUNT_OF(functions); i++) {
        (void)snprintf(text, sizeof(text), "declare i%u @llvm.nvvm.f2%s.rz.ftz(float)",
                       functions[i].bits, functions[i].name);
        if (!strstr(ir, text))
            hd_buf_printf(out, "%s\n", text);
    }
}
