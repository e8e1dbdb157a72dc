/* The file of what was measured and chosen: its form is in tune.h. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "tune/tune.h"

#define BASE_MAGIC "heddle-tuning 1"
#define BASE_MAX_B ((size_t)256 << 20)

void tune_base_init(struct tune_base *base)
{
    *base = (struct tune_base){0};
    hd_map_init(&base->by_key);
}

void tune_base_fini(struct tune_base *base)
{
    for (size_t i = 0; i < base->kernels.len; i++) {
        hd_free(base->kernels.at[i].name);
        hd_vec_fini(&base->kernels.at[i].measures);
    }
    hd_vec_fini(&base->kernels);
    hd_map_fini(&base->by_key);
}

bool tune_device_target(struct hd_str device, enum tune_target *out_target)
{
    bool is_cpu = hd_str_starts(device, "cpu-");

    *out_target = is_cpu ? TUNE_CPU : TUNE_ISA;
    return is_cpu || hd_str_starts(device, "isa-");
}

static uint64_t key_of(struct hd_str device, struct hd_str name, uint64_t hash)
{
    return hd_hash(name.ptr, name.len, hd_hash(device.ptr, device.len, hash));
}

static struct tune_kernel *find(const struct tune_base *base, struct hd_str device,
                                struct hd_str name, uint64_t hash)
{
    uintptr_t at = (uintptr_t)hd_map_get_u64(&base->by_key, key_of(device, name, hash));
    struct tune_kernel *kernel = at ? &base->kernels.at[at - 1] : NULL;

    return kernel && kernel->hash == hash && hd_str_is(name, kernel->name) &&
                   hd_str_is(device, kernel->device)
               ? kernel
               : NULL;
}

struct tune_kernel *tune_base_find(const struct tune_base *base, const char *device,
                                   const char *name, uint64_t hash)
{
    return find(base, hd_str_from(device), hd_str_from(name), hash);
}

struct tune_kernel *tune_base_add(struct tune_base *base, struct hd_str device, struct hd_str name,
                                  uint64_t hash)
{
    struct tune_kernel kernel = {.hash = hash}, *known = find(base, device, name, hash);

    if (known)
        return known;
    if (device.len >= sizeof(kernel.device) ||
        !hd_vec_reserve(&base->kernels, base->kernels.len + 1))
        return NULL;
    kernel.name = hd_alloc(name.len + 1);
    if (!kernel.name)
        return NULL;
    memcpy(kernel.name, name.ptr, name.len);
    kernel.name[name.len] = '\0';
    memcpy(kernel.device, device.ptr, device.len);
    if (!hd_map_put_u64(&base->by_key, key_of(device, name, hash),
                        (void *)(uintptr_t)(base->kernels.len + 1))) {
        hd_free(kernel.name);
        return NULL;
    }
    base->kernels.at[base->kernels.len++] = kernel;
    return &hd_vec_last(&base->kernels);
}

enum hd_status tune_base_merge(struct tune_base *into, const struct tune_base *from)
{
    for (size_t i = 0; i < from->kernels.len; i++) {
        const struct tune_kernel *f = &from->kernels.at[i];
        struct tune_kernel *to =
            tune_base_add(into, hd_str_from(f->device), hd_str_from(f->name), f->hash);

        if (!to || !hd_vec_reserve(&to->measures, to->measures.len + f->measures.len))
            return hd_error(HD_NO_MEMORY, "kernel %s: no memory for its tuning", f->name);
        for (size_t k = 0; k < HD_COUNT_OF(f->applies.bits); k++)
            to->applies.bits[k] |= f->applies.bits[k];
        for (size_t k = 0; k < f->measures.len; k++)
            to->measures.at[to->measures.len++] = f->measures.at[k];
        if (f->is_chosen)
            to->chosen = f->chosen;
        to->is_chosen |= f->is_chosen;
    }
    return HD_OK;
}

/* ---- text */

static void kernel_print(const struct tune_kernel *k, struct hd_buf *out)
{
    const char *before = "applies ";

    hd_buf_printf(out, "kernel %016" PRIx64 " %s %s\n", k->hash, k->device, k->name);
    for (unsigned i = 0; i < TUNE_PARAMETERS; i++)
        if (tune_set_has(&k->applies, i)) {
            hd_buf_printf(out, "%s%s", before, tune_name((enum tune_parameter)i));
            before = ",";
        }
    if (*before == ',')
        hd_buf_putc(out, '\n');
    for (size_t i = 0; i < k->measures.len; i++) {
        const struct tune_measure *m = &k->measures.at[i];

        hd_buf_printf(out, "measured %s %" PRIu64 " ", tune_evaluator(m->evaluator)->name, m->cost);
        tune_point_print(&m->point, out);
        hd_buf_putc(out, '\n');
    }
    if (k->is_chosen) {
        hd_buf_puts(out, "chosen ");
        tune_point_print(&k->chosen, out);
        hd_buf_putc(out, '\n');
    }
}

void tune_base_print(const struct tune_base *base, struct hd_buf *out)
{
    hd_buf_puts(out, BASE_MAGIC "\n");
    for (size_t i = 0; i < base->kernels.len; i++)
        kernel_print(&base->kernels.at[i], out);
}

struct reader {
    struct hd_str left;
    const char *name; /* of the file */
    uint32_t line;
    struct tune_base *base;
    size_t kernel; /* that lines are of: index + 1; 0: none yet */
    enum tune_target target;
};

static enum hd_status refuse(const struct reader *r, const char *why)
{
    return hd_error(HD_BAD_ARG, "%s:%" PRIu32 ": %s", r->name, r->line, why);
}

/* What is wrong is the last error's. */
static enum hd_status refuse_again(const struct reader *r)
{
    HD_AUTOFREE char *why = hd_strdup(hd_error_message());

    return refuse(r, why ? why : "no memory");
}

static enum hd_status read_kernel(struct reader *r, struct hd_str line)
{
    struct hd_str digits = hd_str_take(&line, ' '), device = hd_str_take(&line, ' ');
    uint64_t hash;

    if (digits.len != 16 || !hd_str_to_u64(digits, 16, &hash))
        return refuse(r, "a kernel's hash has 16 hexadecimal digits");
    if (!tune_device_target(device, &r->target) ||
        device.len >= sizeof(((struct tune_kernel *)NULL)->device) ||
        memchr(device.ptr, '\0', device.len))
        return refuse(r, "here a device is expected, such as cpu-avx2 or isa-sm120");
    if (!line.len || memchr(line.ptr, '\0', line.len))
        return refuse(r, "the kernel has no name");
    if (find(r->base, device, line, hash))
        return refuse(r, "the kernel is there already, with the same hash");
    if (!tune_base_add(r->base, device, line, hash))
        return hd_error(HD_NO_MEMORY, "%s: no memory for it", r->name);
    r->kernel = r->base->kernels.len;
    return HD_OK;
}

static enum hd_status read_measure(struct reader *r, struct hd_str line, struct tune_kernel *kernel)
{
    struct hd_str name = hd_str_take(&line, ' '), number = hd_str_take(&line, ' ');
    struct tune_measure measure = {0};
    unsigned i = 0;

    while (i < TUNE_EVALUATORS && !hd_str_is(name, tune_evaluator((enum tune_evaluator)i)->name))
        i++;
    if (i == TUNE_EVALUATORS || tune_evaluator((enum tune_evaluator)i)->target != r->target)
        return refuse(r, "this is measured by no evaluator of the device");
    measure.evaluator = (enum tune_evaluator)i;
    if (!hd_str_to_u64(number, 10, &measure.cost))
        return refuse(r, "a cost is a number");
    if (tune_point_parse(line, r->target, &measure.point) != HD_OK)
        return refuse_again(r);
    if (!hd_vec_push(&kernel->measures, measure))
        return hd_error(HD_NO_MEMORY, "%s: no memory for it", r->name);
    return HD_OK;
}

static enum hd_status read_line(struct reader *r, struct hd_str line)
{
    struct tune_kernel *kernel = r->kernel ? &r->base->kernels.at[r->kernel - 1] : NULL;
    struct hd_str word = hd_str_take(&line, ' ');

    if (hd_str_is(word, "kernel"))
        return read_kernel(r, line);
    if (!kernel)
        return refuse(r, "here a line 'kernel HASH DEVICE NAME' is expected");
    if (hd_str_is(word, "applies")) {
        while (line.len) {
            enum tune_parameter parameter = tune_parameter_find(hd_str_take(&line, ','), r->target);

            if (parameter == TUNE_PARAMETERS)
                return refuse(r, "an unknown parameter");
            tune_set_add(&kernel->applies, parameter);
        }
        return HD_OK;
    }
    if (hd_str_is(word, "measured"))
        return read_measure(r, line, kernel);
    if (!hd_str_is(word, "chosen"))
        return refuse(r, "a line begins with kernel, applies, measured or chosen");
    if (kernel->is_chosen)
        return refuse(r, "the kernel has a choice already");
    kernel->is_chosen = true;
    return tune_point_parse(line, r->target, &kernel->chosen) == HD_OK ? HD_OK : refuse_again(r);
}

enum hd_status tune_base_parse(struct hd_str text, const char *name, struct tune_base *out_base)
{
    struct reader r = {.left = text, .name = name, .line = 1, .base = out_base};
    enum hd_status status = HD_OK;

    tune_base_init(out_base);
    if (!text.len || !hd_str_is(hd_str_take(&r.left, '\n'), BASE_MAGIC))
        status = refuse(&r, "no tuning: the first line is not '" BASE_MAGIC "'");
    while (status == HD_OK && r.left.len) {
        r.line++;
        status = read_line(&r, hd_str_take(&r.left, '\n'));
    }
    if (status != HD_OK)
        tune_base_fini(out_base);
    return status;
}

enum hd_status tune_base_read(const char *path, struct tune_base *out_base)
{
    struct hd_buf text;
    enum hd_status status;

    hd_buf_init(&text);
    status = hd_file_read_kept(path, BASE_MAX_B, &text);
    if (status == HD_OK)
        status = tune_base_parse((struct hd_str){text.ptr, text.len}, path, out_base);
    hd_buf_fini(&text);
    return status;
}

enum hd_status tune_base_write(const struct tune_base *base, const char *path)
{
    struct tune_base all;
    struct hd_buf text;
    enum hd_status status;
    int turn;

    HD_TRY(hd_file_turn_begin(path, &turn));
    hd_buf_init(&text);
    status = tune_base_read(path, &all);
    if (status == HD_NOT_FOUND) {
        tune_base_init(&all);
        status = HD_OK;
    }
    if (status == HD_OK) {
        status = tune_base_merge(&all, base);
        tune_base_print(&all, &text);
        tune_base_fini(&all);
    }
    if (status == HD_OK && text.failed)
        status = hd_error(HD_NO_MEMORY, "tuning %s: no memory", path);
    if (status == HD_OK)
        status = hd_file_write(path, text.ptr, text.len);
    hd_buf_fini(&text);
    hd_file_turn_end(turn);
    return status;
}
