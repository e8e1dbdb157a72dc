/*
 * Kernels that launch kernels, in IR. What launches.c made of the source arrives here as
 *
 *     define dso_local void @child(ptr noundef %0, i32 noundef %1) #0 {      noted as a kernel
 *     call void @child(ptr %p, i32 %n)
 *     call void @__heddle_launched(<grid, block, shared memory, stream>)
 *
 * and leaves as a kernel, a function that puts its arguments where its launch finds them, and
 *
 *     %heddle.launch.0 = call ptr @"child.launch"(ptr %p, i32 %n)
 *     call void @__heddle_launch(<the same>, ptr @child, ptr %heddle.launch.0)
 *
 * Both functions of Heddle's are in cuda_device_runtime_api.h.
 */
#include "clang/clang.h"
#include "clang/ir_text.h"
#include "clang/notes.h"

#include <string.h>

#include "base/vec.h"

#define LAUNCHED "call void @" CLANG_LAUNCHED "("
/* A kernel named like those of an unnamed namespace: clang ends all such names alike. */
#define SAMPLE "_ZN12_GLOBAL__N_122__heddle_sample_kernelEv"

struct kernel {
    struct hd_str name, params; /* as IR has them: "ptr noundef %0, i32 noundef %1" */
    bool is_internal, is_launched;
};

struct launches {
    HD_VEC(struct kernel) kernels;
    struct hd_str ending;        /* of internal names; empty when there is none */
    const struct kernel *called; /* and not yet launched, in the function at hand */
    unsigned count;
    bool in_sample;
    struct hd_buf *out;
};

/* ---- what there is */

/* The function that a "define" or "declare" names; its parameters stand behind it. */
static struct hd_str ir_function_of(struct hd_str line, struct hd_str *out_params)
{
    const char *at = ir_find(line, " void @");
    const char *end = line.ptr + line.len;
    unsigned depth = 1;

    if (!at)
        return HD_STR("");
    at += 6;
    struct hd_str name = clang_symbol_at(&at);
    if (at >= end || *at != '(')
        return HD_STR("");
    out_params->ptr = ++at;
    while (at < end && (depth += (*at == '(') - (*at == ')')))
        at++;
    out_params->len = (size_t)(at - out_params->ptr);
    return name;
}

static struct kernel *ir_kernel_find(struct launches *l, struct hd_str name)
{
    for (size_t i = 0; i < l->kernels.len && name.len; i++)
        if (hd_str_eq(l->kernels.at[i].name, name))
            return &l->kernels.at[i];
    return NULL;
}

static bool ir_is_function(struct hd_str line)
{
    return hd_str_starts(line, "define ") || hd_str_starts(line, "declare ");
}

static enum hd_status ir_kernels_find(struct launches *l, const char *ir)
{
    struct clang_notes notes = clang_notes_of(ir);
    struct clang_note note;

    while (clang_notes_next(&notes, &note))
        if (hd_str_is(note.kind, CLANG_KERNEL_NOTE) &&
            !hd_vec_push(&l->kernels, (struct kernel){.name = note.function}))
            return hd_error(HD_NO_MEMORY, "no memory for the kernels of a program");
    for (; *ir; ir = ir_next_line(ir)) {
        struct hd_str line = ir_line_at(ir);
        if (ir_is_function(line)) {
            struct hd_str params, name = ir_function_of(line, &params);
            struct kernel *kernel = ir_kernel_find(l, name);
            if (hd_str_starts(name, SAMPLE))
                l->ending = (struct hd_str){name.ptr + strlen(SAMPLE), name.len - strlen(SAMPLE)};
            if (kernel) {
                kernel->params = params;
                kernel->is_internal = hd_str_starts(line, "define internal ");
            }
        }
    }
    return HD_OK;
}

/* ---- kernels and launches */

/* Names of internal kernels end as clang's do where others can see them. */
static void ir_put_names(struct launches *l, struct hd_str text)
{
    const char *at = text.ptr, *end = text.ptr + text.len, *found;

    while ((found = memchr(at, '@', (size_t)(end - at)))) {
        const char *behind = found;
        struct hd_str name = clang_symbol_at(&behind);
        const struct kernel *kernel = ir_kernel_find(l, name);
        if (behind > end)
            break;
        hd_buf_append(l->out, at, (size_t)(behind - at));
        if (kernel && kernel->is_internal)
            hd_buf_append(l->out, l->ending.ptr, l->ending.len);
        at = behind;
    }
    hd_buf_append(l->out, at, (size_t)(end - at));
}

static void ir_put_line(struct launches *l, struct hd_str line)
{
    ir_put_names(l, line);
    hd_buf_putc(l->out, '\n');
}

/* A kernel is one, and kept: templates and internal ones, too. */
static void ir_put_function(struct launches *l, struct hd_str line)
{
    struct hd_str params, name = ir_function_of(line, &params);
    const char *type = ir_find(line, "void @");

    if (!ir_kernel_find(l, name)) {
        ir_put_line(l, line);
        return;
    }
    if (ir_find(line, " internal ") || ir_find(line, " linkonce_odr "))
        hd_buf_puts(l->out, "define weak_odr dso_local ");
    else
        hd_buf_append(l->out, line.ptr, (size_t)(type - line.ptr));
    hd_buf_puts(l->out, "ptx_kernel ");
    ir_put_line(l, (struct hd_str){type, line.len - (size_t)(type - line.ptr)});
}

static enum hd_status ir_unlaunched(const struct kernel *kernel)
{
    return hd_error(HD_BAD_ARG, "%.*s is a kernel: a call of it must be configured with <<<...>>>",
                    HD_STR_ARG(kernel->name));
}

static enum hd_status ir_put_launched(struct launches *l, struct hd_str line)
{
    const char *args = ir_find(line, LAUNCHED) + strlen(LAUNCHED);
    const char *at = args, *end = line.ptr + line.len;
    unsigned depth = 1;

    if (!l->called)
        return hd_error(HD_NOT_SUPPORTED,
                        "device code launches a kernel by a pointer: only kernels "
                        "that are named can be launched there");
    while (at < end && (depth += (*at == '(') - (*at == ')')))
        at++;
    hd_buf_printf(l->out,
                  "  call void @__heddle_launch(%.*s, ptr @\"%.*s%.*s\", ptr %%heddle.launch.%u",
                  (int)(at - args), args, HD_STR_ARG(l->called->name),
                  HD_STR_ARG(l->called->is_internal ? l->ending : HD_STR("")), l->count++);
    ir_put_line(l, (struct hd_str){at, (size_t)(end - at)});
    l->called = NULL;
    return HD_OK;
}

/* The kernel that a line calls, and the line from the arguments on; NULL. */
static struct kernel *ir_called_by(struct launches *l, struct hd_str line, struct hd_str *out_args)
{
    static const char call[] = "call void @";
    const char *at = ir_find(line, call);

    if (!at)
        return NULL;
    at += strlen(call) - 1;
    struct kernel *kernel = ir_kernel_find(l, clang_symbol_at(&at));
    *out_args = (struct hd_str){at, (size_t)(line.ptr + line.len - at)};
    return kernel;
}

/* The sample is no kernel of the program's: nothing names it any more. */
static bool ir_put_sample(struct launches *l, struct hd_str line)
{
    static const char pointer[] = "ptr @" SAMPLE;
    const char *at = ir_find(line, pointer);

    if (l->in_sample)
        l->in_sample = !hd_str_is(line, "}");
    else if (hd_str_starts(line, "define ") && ir_find(line, SAMPLE))
        l->in_sample = true;
    else if (at && line.ptr[0] == '!')
        hd_buf_printf(l->out, "%.*snull, !\"kernel\", i32 1}\n", (int)(at - line.ptr), line.ptr);
    else
        return false;
    return true;
}

static enum hd_status ir_line_put(struct launches *l, struct hd_str line)
{
    struct hd_str args;
    struct kernel *kernel = ir_called_by(l, line, &args);

    if (ir_put_sample(l, line))
        return HD_OK;
    if (hd_str_is(line, "}") && l->called)
        return ir_unlaunched(l->called);
    if (kernel) {
        /* "  call void @child(...": the line from its arguments on. */
        if (l->called)
            return ir_unlaunched(l->called);
        l->called = kernel;
        kernel->is_launched = true;
        hd_buf_printf(l->out, "  %%heddle.launch.%u = call ptr @\"%.*s.launch\"", l->count,
                      HD_STR_ARG(kernel->name));
        ir_put_line(l, args);
        return HD_OK;
    }
    if (ir_find(line, LAUNCHED))
        return ir_put_launched(l, line);
    if (ir_is_function(line))
        ir_put_function(l, line);
    else
        ir_put_line(l, line);
    return HD_OK;
}

/* ---- arguments: where the launch finds them is where PTX has parameters of these types */

struct param {
    struct hd_str text; /* "ptr noundef byval(%struct.S) align 8", without a name */
    struct hd_str type; /* of what is stored: %struct.S, i32, <4 x float> */
    bool by_value;      /* the argument points to it */
    unsigned align_B;
};

/* Up to the blank or comma that is outside of brackets. */
static size_t ir_part_len(const char *at, const char *end, char stop)
{
    const char *begin = at;
    unsigned depth = 0;

    for (; at < end && (depth || *at != stop); at++)
        depth += (strchr("(<[{", *at) != NULL) - (strchr(")>]}", *at) != NULL);
    return (size_t)(at - begin);
}

/* The number behind a word; of a number above a million, its first digits: IR has none here. */
static unsigned ir_number_behind(struct hd_str text, const char *word)
{
    const char *at = ir_find(text, word);
    unsigned value = 0;

    for (at = at ? at + strlen(word) : "."; *at >= '0' && *at <= '9' && value < 1 << 20; at++)
        value = value * 10 + (unsigned)(*at - '0');
    return value;
}

/* Bytes of a type of register size, which are its alignment; 0: of another one. */
static unsigned ir_scalar_B(struct hd_str type)
{
    static const struct {
        const char *name;
        unsigned size_B;
    } scalars[] = {{"i1", 1},     {"i8", 1},  {"i16", 2},   {"half", 2},
                   {"bfloat", 2}, {"i32", 4}, {"float", 4}, {"i64", 8},
                   {"double", 8}, {"ptr", 8}, {"i128", 16}, {"fp128", 16}};

    for (size_t i = 0; i < HD_COUNT_OF(scalars); i++)
        if (hd_str_is(type, scalars[i].name))
            return scalars[i].size_B;
    return 0;
}

/* A vector's alignment is its size, rounded up to a power of two. */
static unsigned ir_vector_B(struct hd_str type)
{
    unsigned size_B, align_B = 1;
    const char *by = ir_find(type, " x ");

    if (!by || type.ptr[0] != '<')
        return 0;
    const char *element = by + 3;
    size_B = ir_number_behind(type, "<") *
             ir_scalar_B((struct hd_str){element, (size_t)(type.ptr + type.len - 1 - element)});
    while (size_B && align_B < size_B)
        align_B *= 2;
    return size_B ? align_B : 0;
}

static enum hd_status ir_param_read(struct hd_str text, struct param *out)
{
    static const char by_value[] = " byval(";
    const char *end = text.ptr + text.len, *name = ir_find(text, " %");
    const char *held = ir_find(text, by_value);

    for (const char *next = name; next; next = memmem(next + 1, (size_t)(end - next - 1), " %", 2))
        name = next; /* the last one: "ptr byval(%struct.S) align 8 %0" */
    if (name && ir_part_len(name + 1, end, ' ') == (size_t)(end - name - 1) &&
        !memchr(name, ')', (size_t)(end - name)))
        text.len = (size_t)(name - text.ptr);
    *out = (struct param){.text = text, .by_value = held != NULL};
    out->type = (struct hd_str){text.ptr, ir_part_len(text.ptr, text.ptr + text.len, ' ')};
    out->align_B = ir_scalar_B(out->type) ? ir_scalar_B(out->type) : ir_vector_B(out->type);
    if (held) {
        held += strlen(by_value);
        out->type = (struct hd_str){held, ir_part_len(held, end, ')')};
        out->align_B = ir_number_behind(text, " align ");
    }
    if (!out->align_B)
        return hd_error(HD_NOT_SUPPORTED, "launches in kernels cannot pass a %.*s",
                        HD_STR_ARG(out->type));
    return HD_OK;
}

static void ir_put_store(struct hd_buf *out, const struct param *p, unsigned i)
{
    bool is_bool = hd_str_is(p->type, "i1");

    hd_buf_printf(out, "  %%room.%u = getelementptr i8, ptr %%room, i64 %%at.%u\n", i, i);
    if (p->by_value) {
        hd_buf_printf(out, "  %%size.%u = sub i64 %%end.%u, %%at.%u\n", i, i + 1, i);
        hd_buf_printf(out,
                      "  call void @llvm.memcpy.p0.p0.i64(ptr align %u %%room.%u, ptr align %u "
                      "%%arg.%u, i64 %%size.%u, i1 false)\n",
                      p->align_B, i, p->align_B, i, i);
        return;
    }
    if (is_bool)
        hd_buf_printf(out, "  %%byte.%u = zext i1 %%arg.%u to i8\n", i, i);
    hd_buf_printf(out, "  store %.*s %%%s.%u, ptr %%room.%u, align %u\n",
                  HD_STR_ARG(is_bool ? HD_STR("i8") : p->type), is_bool ? "byte" : "arg", i, i,
                  p->align_B);
}

typedef HD_VEC(struct param) params_t;

static enum hd_status ir_params_read(struct hd_str text, params_t *out)
{
    const char *at = text.ptr, *end = text.ptr + text.len;

    while (at < end) {
        struct param param;
        size_t len = ir_part_len(at, end, ',');
        HD_TRY(ir_param_read((struct hd_str){at, len}, &param));
        if (!hd_vec_push(out, param))
            return hd_error(HD_NO_MEMORY, "no memory for a kernel's parameters");
        at += len + 2; /* ", " */
    }
    return HD_OK;
}

static void ir_put_packing(const struct kernel *kernel, const params_t *params, struct hd_buf *out)
{
    hd_buf_printf(out, "\ndefine internal ptr @\"%.*s.launch\"(", HD_STR_ARG(kernel->name));
    for (unsigned i = 0; i < params->len; i++)
        hd_buf_printf(out, "%s%.*s %%arg.%u", i ? ", " : "", HD_STR_ARG(params->at[i].text), i);
    hd_buf_puts(out, ") alwaysinline {\n  %end.0 = add i64 0, 0\n");
    for (unsigned i = 0; i < params->len; i++) {
        /* Its place, %at, from the end of what is in front of it; and its end. */
        hd_buf_printf(out, "  %%up.%u = add i64 %%end.%u, %u\n", i, i, params->at[i].align_B - 1);
        hd_buf_printf(out, "  %%at.%u = and i64 %%up.%u, -%u\n", i, i, params->at[i].align_B);
        hd_buf_printf(
            out,
            "  %%end.%u = add i64 %%at.%u, ptrtoint (ptr getelementptr (%.*s, ptr null, i64 1) "
            "to i64)\n",
            i + 1, i, HD_STR_ARG(params->at[i].type));
    }
    hd_buf_printf(out, "  %%room = call ptr @__heddle_launch_parameters(i64 %%end.%zu)\n",
                  params->len);
    hd_buf_puts(
        out, "  %none = icmp eq ptr %room, null\n  br i1 %none, label %done, label %fill\nfill:\n");
    for (unsigned i = 0; i < params->len; i++)
        ir_put_store(out, &params->at[i], i);
    hd_buf_puts(out, "  br label %done\ndone:\n  ret ptr %room\n}\n");
}

/* ---- all of it */

static enum hd_status ir_lines_put(struct launches *l, const char *ir)
{
    static const char copy[] = "declare void @llvm.memcpy.p0.p0.i64(";
    bool copies = strstr(ir, copy) != NULL;

    for (; *ir; ir = ir_next_line(ir))
        HD_TRY(ir_line_put(l, ir_line_at(ir)));
    for (size_t i = 0; i < l->kernels.len; i++)
        if (l->kernels.at[i].is_launched) {
            params_t params = {0};
            enum hd_status status = ir_params_read(l->kernels.at[i].params, &params);
            if (status == HD_OK)
                ir_put_packing(&l->kernels.at[i], &params, l->out);
            hd_vec_fini(&params);
            HD_TRY(status);
        }
    if (!copies)
        hd_buf_printf(l->out, "%sptr, ptr, i64, i1 immarg)\n", copy);
    return l->out->failed ? hd_error(HD_NO_MEMORY, "no memory for a program's launches") : HD_OK;
}

enum hd_status clang_launches_mend(struct hd_buf *ir)
{
    struct hd_buf out;
    struct launches l = {.out = &out};

    if (!ir->len || !strstr(ir->ptr, CLANG_KERNEL_NOTE))
        return HD_OK;
    hd_buf_init(&out);
    enum hd_status status = ir_kernels_find(&l, ir->ptr);
    if (status == HD_OK)
        status = ir_lines_put(&l, ir->ptr);
    if (status == HD_OK) {
        hd_buf_fini(ir);
        *ir = out;
        hd_buf_init(&out);
    }
    hd_buf_fini(&out);
    hd_vec_fini(&l.kernels);
    return status;
}
