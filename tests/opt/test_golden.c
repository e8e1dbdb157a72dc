/*
 * Golden files of tests/opt: `; opt PASS` runs one pass once, `; opt all` the pipeline; the
 * validator runs after every pass. The expectation is the module's text afterwards.
 */
#include "golden.h"

#include "opt/opt.h"

static void make(const char *mode, const char *argument, const char *input, size_t len,
                 struct hd_buf *out)
{
    struct opt_options options = {.validate = true,
                                  .target = OPT_TARGET_CPU,
                                  .only = strcmp(argument, "all") ? argument : NULL};
    struct ir_module *module = NULL;

    if (ir_read_module(input, len, "t", &module) != HD_OK || opt_run(module, &options) != HD_OK)
        hd_buf_printf(out, "%s\n", hd_error_message());
    else
        ir_print_module(module, out);
    ir_module_destroy(module);
}

static void test_table(void)
{
    const struct opt_pass_info *infos;
    size_t n = opt_passes(&infos);
    size_t required = 0;

    for (size_t i = 0; i < n; i++)
        required += infos[i].required;
    eq_u64(required, 1, "inlining is the one required pass");
}

int main(int argc, char **argv)
{
    test_table();
    golden_dir(argc > 1 ? argv[1] : ".", ".ir", make);
    return done();
}
