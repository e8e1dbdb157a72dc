/* Runs assembled kernels on the simulator. */
#ifndef HD_TESTS_SIM_JOB_H
#define HD_TESTS_SIM_JOB_H

#include "isa/image.h"
#include "sim/sim.h"
#include "support/tap.h"

static struct hd_buf job_printed; /* what kernels print */
static struct interp_fault job_fault;
static struct sim_counts job_counts;
static uint64_t job_forbidden; /* the one address that check() refuses */

static bool job_check(void *ctx, uint64_t address, uint64_t size_B, bool write)
{
    return address != job_forbidden;
}
static void job_print(void *ctx, bool is_error, const char *text, size_t len)
{
    hd_buf_append(&job_printed, text, len);
}
static uint64_t job_malloc(void *ctx, uint64_t size_B)
{
    return (uintptr_t)hd_alloc(size_B);
}
static bool job_free(void *ctx, uint64_t address)
{
    hd_free((void *)(uintptr_t)address);
    return true;
}
static bool job_gives_up(void *ctx, uint64_t effects)
{
    static uint64_t last, same;

    same = effects == last ? same + 1 : 0;
    last = effects;
    return same > 20;
}

static bool job_range(void *ctx, uint64_t address, bool write, uint64_t *out_start,
                      uint64_t *out_size_B)
{
    *out_start = 4096;
    *out_size_B = UINT64_MAX - 4096;
    return !job_forbidden;
}
static const struct interp_ops job_ops = {.check = job_check,
                                          .range = job_range,
                                          .print = job_print,
                                          .malloc_ = job_malloc,
                                          .free_ = job_free,
                                          .gives_up = job_gives_up};

struct job {
    const char *text;                /* without ".kernel" */
    uint32_t grid, block, dynamic_B; /* 0: 1 */
    uint32_t cluster;
    const void *params;
    uint32_t params_B;
    uint32_t local_B;
    bool checks_hazards;
};

/* The code of a text; false: the assembler's messages are told. */
static bool job_assemble(const char *text, struct isa_code *out_code)
{
    struct hd_buf whole, messages;
    struct isa_image image;
    bool ok;

    hd_buf_init(&whole);
    hd_buf_init(&messages);
    hd_buf_printf(&whole, ".kernel k\n%s", text);
    *out_code = (struct isa_code){0};
    ok = isa_assemble(whole.ptr, "k", &image, &messages) == HD_OK;
    if (!ok)
        diag("%s", messages.ptr ? messages.ptr : "");
    for (size_t i = 0; ok && i < image.kernels.at[0].words.len; i++)
        ok = hd_vec_push(&out_code->words, image.kernels.at[0].words.at[i]);
    if (ok)
        isa_image_fini(&image);
    hd_buf_fini(&whole);
    hd_buf_fini(&messages);
    return ok;
}

static enum hd_status job_run(const struct job *job)
{
    struct sim_kernel kernel = {
        .name = "k",
        .params_B = job->params_B,
        .nfuncs = 4,
        .checks_hazards = job->checks_hazards,
        .counts = true,
        .window = {.shared_B = job->dynamic_B, .dynamic_offset_B = 0, .clusters = job->cluster}};
    struct interp_launch launch = {.grid = {HD_MAX(job->grid, 1u), 1, 1},
                                   .block = {HD_MAX(job->block, 1u), 1, 1},
                                   .cluster = {job->cluster, job->cluster != 0, job->cluster != 0},
                                   .params = job->params,
                                   .ops = &job_ops};
    struct sim_program *program = NULL;
    struct isa_code code;
    enum hd_status status;

    hd_buf_clear(&job_printed);
    if (!job_assemble(job->text, &code))
        return HD_BAD_ARG;
    code.local_B = job->local_B;
    status = sim_program_create(&code, &kernel, &program);
    if (status == HD_OK)
        status = sim_launch(program, &launch, &job_fault, &job_counts);
    if (status != HD_OK)
        diag("%s", hd_error_message());
    sim_program_destroy(program);
    isa_code_fini(&code);
    return status;
}

#endif
