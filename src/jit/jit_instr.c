/*
 * Which instruction of the IR an address in compiled code belongs to.
 *
 * No table is kept for that: when somebody asks, which is after a fault, the kernel is compiled
 * once more in the same form and with the same settings, this time with places
 * (gen_request.srclocs). They do not change the code, and that is not taken on trust: the bytes are
 * compared, and without agreement the answer is "not known". So objects stay as small and
 * compilation as fast as without.
 */
#include "jit/jit_private.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

/* Of the same code with places. */
static enum hd_status lines_of(const struct gen_result *result, const struct jit_image *image,
                               struct jit_lines *out)
{
    struct jit_image again;
    uint8_t *section = NULL;
    size_t section_B = 0;

    HD_TRY(jit_link(result->object, result->object_B, &again));
    bool same = jit_image_same_code(result->object, result->object_B, image, &again);
    jit_image_fini(&again);
    if (!same)
        return hd_error(HD_JIT, "code with places is other code");
    HD_TRY(
        jit_object_section(result->object, result->object_B, ".debug_line", &section, &section_B));
    enum hd_status status = jit_lines_read(section, section_B, out);
    hd_free(section);
    return status;
}

enum hd_status jit_lines_of_code(struct jit_module *jit, const struct jit_code *code,
                                 struct jit_lines *out)
{
    const struct jit_image *image;
    struct jit_job job;
    struct gen_result result = {0};

    if (!jit_code_origin(jit, code, &job, &image))
        return hd_error(HD_NOT_FOUND, "no code of this module");
    struct gen_request req = jit_request(&job, code->form);
    req.srclocs = true;
    enum hd_status status = jit_codegen(&req, &result);
    if (status == HD_OK)
        status = lines_of(&result, image, out);
    jit_result_fini(&result);
    return status;
}

void jit_instrs_find(struct jit_module *jit, const struct jit_code *code, const uintptr_t *pcs,
                     uint32_t *numbers, uint32_t n)
{
    struct jit_lines lines = {0};
    bool is_known = jit_lines_of_code(jit, code, &lines) == HD_OK;

    for (uint32_t i = 0; i < n; i++)
        numbers[i] = is_known && pcs[i] - code->base < code->size_B
                         ? jit_lines_find(&lines, (uint32_t)(pcs[i] - code->base))
                         : 0;
    hd_vec_fini(&lines.rows);
}

uint32_t jit_instr_find(struct jit_module *jit, const struct jit_code *code, uintptr_t pc)
{
    uint32_t number = 0;

    if (pc - code->base < code->size_B)
        jit_instrs_find(jit, code, &pc, &number, 1);
    return number;
}
