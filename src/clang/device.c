/*
 * The device pass in two runs of clang: CUDA to LLVM's IR, IR to PTX.
 *
 * clang takes the lowest bit of a byte for the bool that it reads, and tells its optimisers that
 * the byte is 0 or 1. NVIDIA's compiler asks whether the byte is 0, and programs that write bytes
 * and read bools (views of arrays, memset) count on it. No option of clang 19 says so: the reads
 * are changed between the runs. So are conversions to integers (conversions.c)
 * and the built-in variables (builtin_vars.c).
 */
#include "clang/builtin_vars.h"
#include "clang/clang.h"
#include "clang/ir_text.h"

#define IR_MAX_B (1u << 30)

/* ---- the second command */

#define BACK_WORDS                                                                                 \
    "--target=nvptx64-nvidia-cuda -nogpulib -x ir -S -Wno-override-module "                        \
    "-Wno-unused-command-line-argument -mllvm -expand-fp-convert-bits=64 "                         \
    "-mllvm " WHOLE_WARPS
/* Between two branches on one condition stands what all lanes do together: `if (leader) sum = 0;
 * atomicAdd(&sum, x); if (leader) use(sum);`. It is not copied to either side of the first branch,
 * where the leader would go ahead; nvcc does not do that either. */
#define WHOLE_WARPS "-simplifycfg-max-small-block-size=0"
/* No vectors of straight-line code: LLVM 19 reads 16 bytes at any address as if it were aligned
 * (`load <16 x i8>, align 1` becomes ld.v4.u32). Behind -O, which would allow them again. */
#define END_WORDS "-fno-slp-vectorize"
#define CONTRACT  "-ffp-contract="

/* What is also said to the second run, and as what; all other words are about the source. */
static const struct rule {
    const char *begins, *becomes;
} rules[] = {
    {"--cuda-gpu-arch=", "-march="},
    {"--cuda-feature=", "-Xclang -target-feature -Xclang "},
    {"-fdiagnostics", "-fdiagnostics"},
    {"-fno-", "-fno-"},
    {"-ffast-math", "-ffast-math"},
    {"-O", "-O"},
    {"-g", "-g"},
    {"-w", "-w"},
    {"-W", "-W"},
};

static void put_word(const char *word, struct clang_args *back)
{
    for (size_t i = 0; i < HD_COUNT_OF(rules); i++) {
        size_t len = strlen(rules[i].begins);
        struct hd_buf words;

        if (strncmp(word, rules[i].begins, len) != 0)
            continue;
        hd_buf_init(&words);
        hd_buf_printf(&words, "%s%s", rules[i].becomes, word + len);
        clang_args_add_words(back, words.ptr ? words.ptr : "");
        back->failed |= words.failed;
        hd_buf_fini(&words);
        return;
    }
}

/* The mode of contraction is the language's, CUDA's is fast: IR has none. */
static bool contracts(const struct clang_args *front)
{
    const char *mode = "fast";

    for (size_t i = 0; i < front->len; i++)
        if (!strncmp(front->at[i], CONTRACT, strlen(CONTRACT)))
            mode = front->at[i] + strlen(CONTRACT);
    return !strcmp(mode, "fast");
}

void clang_back_words(const struct clang_args *front, struct clang_args *back)
{
    back->failed |= front->failed;
    if (back->failed)
        return;
    clang_args_add(back, "%s", front->at[0]);
    clang_args_add_words(back, BACK_WORDS);
    if (contracts(front))
        clang_args_add_words(back, "-mllvm -nvptx-fma-level=2");
    for (size_t i = 1; i < front->len; i++) {
        if (!strcmp(front->at[i], "-mllvm") && i + 1 < front->len) {
            clang_args_add(back, "-mllvm");
            clang_args_add(back, "%s", front->at[++i]);
        } else {
            put_word(front->at[i], back);
        }
    }
    clang_args_add_words(back, END_WORDS);
}

/* ---- the reads */

/* A bool that was read, and the byte that it was in: names of IR's values in one function. */
struct read {
    struct hd_str value, byte;
};

/* Reads are used close by: of those before the newest ones a byte is made again, of 0 or 1. */
struct mending {
    struct read newest[64];
    size_t n;
    struct hd_buf *out;
};

static struct hd_str between(const char *begin, const char *end)
{
    return (struct hd_str){begin, (size_t)(end - begin)};
}

/* "  %25 = trunc i8 %24 to i1, !dbg !7": result, operand, and what is behind the type. */
struct cast {
    struct hd_str result, operand, behind;
};

static bool cast_of(struct hd_str line, const char *opcode, const char *type, struct cast *out)
{
    const char *at = ir_find(line, opcode), *to = ir_find(line, type), *end = line.ptr + line.len;

    if (!at || !to || to < at + strlen(opcode))
        return false;
    const char *behind = to + strlen(type);
    if (behind < end && *behind != ',')
        return false;
    out->result = between(line.ptr + strspn(line.ptr, " "), at);
    out->operand = between(at + strlen(opcode), to);
    out->behind = between(behind, end);
    return true;
}

/* Does the line load a byte into the value? */
static bool loads(struct hd_str line, struct hd_str value)
{
    struct hd_str text = between(line.ptr + strspn(line.ptr, " "), line.ptr + line.len);

    if (text.len <= value.len || memcmp(text.ptr, value.ptr, value.len) != 0)
        return false;
    return !strncmp(text.ptr + value.len, " = load ", strlen(" = load ")) &&
           ir_find(line, " i8, ptr ");
}

/* Without what says that a byte is 0 or 1. */
static void put_load(struct hd_buf *out, struct hd_str line)
{
    static const char range[] = ", !range !";
    const char *at = ir_find(line, range), *end = line.ptr + line.len;
    const char *behind = at ? at + strlen(range) : end;

    behind += strspn(behind, "0123456789");
    hd_buf_append(out, line.ptr, (size_t)((at ? at : end) - line.ptr));
    hd_buf_append(out, behind, (size_t)(end - behind));
    hd_buf_putc(out, '\n');
}

/* A byte that is read as a bool, and the cast of it in the next line. */
static bool put_read(struct mending *m, struct hd_str line, struct hd_str next)
{
    struct cast cast;

    if (!cast_of(next, " = trunc i8 ", " to i1", &cast) || !loads(line, cast.operand))
        return false;
    put_load(m->out, line);
    hd_buf_printf(m->out, "  %.*s = icmp ne i8 %.*s, 0%.*s\n", HD_STR_ARG(cast.result),
                  HD_STR_ARG(cast.operand), HD_STR_ARG(cast.behind));
    m->newest[m->n++ % HD_COUNT_OF(m->newest)] = (struct read){cast.result, cast.operand};
    return true;
}

static const struct read *read_find(const struct mending *m, struct hd_str value)
{
    for (size_t back = 1; back <= m->n && back <= HD_COUNT_OF(m->newest); back++) {
        const struct read *read = &m->newest[(m->n - back) % HD_COUNT_OF(m->newest)];

        if (hd_str_eq(read->value, value))
            return read;
    }
    return NULL;
}

/* A bool that is written where it was read stays the byte that it was: copies are copies. */
static bool put_written(struct mending *m, struct hd_str line)
{
    struct cast cast;

    if (!cast_of(line, " = zext i1 ", " to i8", &cast))
        return false;
    const struct read *read = read_find(m, cast.operand);
    if (!read)
        return false;
    hd_buf_printf(m->out, "  %.*s = or i8 %.*s, 0%.*s\n", HD_STR_ARG(cast.result),
                  HD_STR_ARG(read->byte), HD_STR_ARG(cast.behind));
    return true;
}

/* "bitcast (ptr ... to ptr addrspace(1))": `at` is the bracket. */
static bool is_wrong_cast(const char *at, const char *end)
{
    static const char pointer[] = "(ptr ", space[] = " to ptr addrspace(";
    const char *to = NULL, *begin = at;
    unsigned depth = 0;

    for (; at < end; at++) {
        if (depth == 1 && hd_str_starts(between(at, end), space))
            to = at;
        depth += (*at == '(') - (*at == ')');
        if (!depth)
            break;
    }
    return to && hd_str_starts(between(begin, end), pointer);
}

/*
 * Tables of virtual bases as arguments: clang 19 casts them to another address space by a word that
 * LLVM refuses there.
 */
static bool put_casts(struct hd_str line, struct hd_buf *out)
{
    static const char cast[] = "bitcast ";
    const char *at = line.ptr, *end = line.ptr + line.len, *found;

    if (!ir_find(line, cast) || !ir_find(line, "@_ZTT"))
        return false;
    for (; (found = ir_find(between(at, end), cast)); at = found + strlen(cast)) {
        hd_buf_append(out, at, (size_t)(found - at));
        hd_buf_puts(out, is_wrong_cast(found + strlen(cast), end) ? "addrspacecast " : cast);
    }
    hd_buf_append(out, at, (size_t)(end - at));
    hd_buf_putc(out, '\n');
    return true;
}

/* What needs types at run time: which word of C++ it is, in a line of a function; NULL: none. */
static const char *refused_word(struct hd_str line)
{
    static const struct {
        const char *symbol, *word;
    } words[] = {{"@__dynamic_cast(", "dynamic_cast"},
                 {"@__cxa_bad_cast(", "dynamic_cast"},
                 {"@__cxa_bad_typeid(", "typeid"},
                 {"@_ZTI", "typeid"}};

    if (!hd_str_starts(line, "  "))
        return NULL;
    for (size_t i = 0; i < HD_COUNT_OF(words); i++)
        if (ir_find(line, words[i].symbol))
            return words[i].word;
    return NULL;
}

static enum hd_status mend(const char *ir, bool keeps_statics, struct hd_buf *out)
{
    struct mending m = {.out = out};
    unsigned conversions = 0;
    const char *all = ir;

    while (*ir) {
        struct hd_str line = ir_line_at(ir);
        const char *after = ir_next_line(ir), *word = refused_word(line);

        if (word)
            return hd_error(HD_NOT_SUPPORTED, "the operator '%s' is not allowed in device code",
                            word);
        if (hd_str_starts(line, "define ")) {
            m.n = 0;
            hd_buf_append(out, ir, (size_t)(after - ir));
            after = clang_builtin_vars_enter(after, out);
        } else if (put_read(&m, line, ir_line_at(after)))
            after = ir_next_line(after);
        else if (!put_written(&m, line) && !clang_conversion_put(line, &conversions, out) &&
                 !clang_builtin_var_put(line, out) && !clang_pasted_put(all, line, out) &&
                 !put_casts(line, out) && !(keeps_statics && clang_static_put(line, out)))
            hd_buf_append(out, ir, (size_t)(after - ir));
        ir = after;
    }
    if (conversions)
        clang_conversions_declare(all, out);
    clang_builtin_vars_end(out);
    return HD_OK;
}

enum hd_status clang_ir_mend(const char *path, bool keeps_statics)
{
    struct hd_buf ir, mended;

    hd_buf_init(&ir);
    hd_buf_init(&mended);
    enum hd_status status = hd_file_read(path, IR_MAX_B, &ir);
    if (status == HD_OK)
        status = clang_launches_mend(&ir);
    if (status == HD_OK && ir.len)
        status = mend(ir.ptr, keeps_statics, &mended);
    if (status == HD_OK && mended.failed)
        status = hd_error(HD_NO_MEMORY, "no memory for the compiler's IR");
    else if (status == HD_OK)
        status = hd_file_write(path, mended.ptr, mended.len);
    hd_buf_fini(&ir);
    hd_buf_fini(&mended);
    return status;
}
