/*
 * Golden files of tests/ir: `; print` (read, print: the expectation is the canonical text, which
 * must read back to itself), `; error` (the message), `; windows`, `; shape CLASS` and
 * `; facts CLASS`.
 */
#include "golden.h"

#include "analysis/facts.h"
#include "jit/launch_class.h"

static void show_windows(struct ir_module *module, struct hd_buf *out)
{
    if (ir_layout_windows(module) != HD_OK) {
        hd_buf_printf(out, "%s\n", hd_error_message());
        return;
    }
    for (const struct ir_var *var = module->vars; var; var = var->next)
        hd_buf_printf(out, "@%s at %llu\n", var->name, (unsigned long long)var->window_offset);
    ir_foreach_func(func, module) {
        struct ir_window w;
        for (const struct ir_var *var = func->vars; var; var = var->next)
            hd_buf_printf(out, "%s.%s at %llu\n", func->name, var->name,
                          (unsigned long long)var->window_offset);
        if (!func->is_kernel || ir_kernel_window(func, &w) != HD_OK)
            continue;
        hd_buf_printf(out, "kernel %s: shared %llu dynamic at %llu local %llu%s\n", func->name,
                      (unsigned long long)w.shared_B, (unsigned long long)w.dynamic_offset_B,
                      (unsigned long long)w.local_B, w.recursive ? " recursive" : "");
    }
}

static void show_print(struct ir_module *module, struct hd_buf *out)
{
    struct ir_module *again = NULL;
    struct hd_buf second;

    hd_buf_init(&second);
    ir_print_module(module, out);
    if (ok(ir_read_module(out->ptr, out->len, module->name, &again) == HD_OK, "reads back")) {
        ir_print_module(again, &second);
        eq_str(second.ptr, out->ptr, "and prints the same");
    }
    ir_module_destroy(again);
    hd_buf_fini(&second);
}

static enum jit_launch_class class_of(const char *class_name)
{
    unsigned cls = 0;

    while (cls < JIT_CLASS_COUNT && strcmp(class_name, jit_launch_class_name(cls)) != 0)
        cls++;
    return (enum jit_launch_class)cls;
}

static void show_facts(struct ir_module *module, const char *class_name, struct hd_buf *out)
{
    const enum jit_launch_class cls = class_of(class_name);
    const struct ir_launch_facts launch = jit_launch_facts(cls == JIT_CLASS_COUNT ? 0 : cls);

    ir_foreach_func(func, module) {
        struct facts facts;
        struct hd_arena arena;
        hd_arena_init(&arena);
        ir_func_compact(func);
        if (facts_compute(func, cls == JIT_CLASS_COUNT ? NULL : &launch, &arena, &facts) == HD_OK)
            facts_print(&facts, out);
        else
            hd_buf_printf(out, "%s\n", hd_error_message());
        hd_arena_fini(&arena);
    }
}

static void show_shapes(struct ir_module *module, const char *class_name, struct hd_buf *out)
{
    ir_foreach_func(func, module) {
        struct ir_shapes shapes;
        struct hd_arena arena;
        hd_arena_init(&arena);
        ir_func_compact(func);
        if (ir_shapes_compute(func, jit_launch_facts(class_of(class_name)), &arena, &shapes) ==
            HD_OK)
            ir_shapes_print(func, &shapes, out);
        else
            hd_buf_printf(out, "%s\n", hd_error_message());
        hd_arena_fini(&arena);
    }
}

static void make(const char *mode, const char *argument, const char *input, size_t len,
                 struct hd_buf *out)
{
    struct ir_module *module = NULL;

    if (ir_read_module(input, len, "t", &module) != HD_OK) {
        hd_buf_printf(out, "%s\n", hd_error_message());
        return;
    }
    if (!strcmp(mode, "print"))
        show_print(module, out);
    else if (!strcmp(mode, "windows"))
        show_windows(module, out);
    else if (!strcmp(mode, "shape"))
        show_shapes(module, argument, out);
    else if (!strcmp(mode, "facts"))
        show_facts(module, argument, out);
    ir_module_destroy(module);
}

int main(int argc, char **argv)
{
    golden_dir(argc > 1 ? argv[1] : ".", ".ir", make);
    return done();
}
