/* From bytes to entries and their code: choose, decompress, parse and link; compile on demand. */
#include "core/module/image.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/probe.h"
#include "compile.h"
#include "core/device.h"
#include "dbg/dbg.h"
#include "hal/hal.h"
#include "heddle/native.h"
#include "obj/fatbin.h"
#include "san/san.h"

enum code_state { CODE_NONE, CODE_BUSY, CODE_READY, CODE_FAILED };

struct entry_code {
    enum code_state state;
    struct ir_module *ir; /* CODE_READY */
    enum hd_status status;
    char *why; /* CODE_FAILED */
};

struct core_image {
    _Atomic unsigned refs;
    struct obj_ptx_list list; /* the text that the program is made of */
    struct compile_program *program;
    struct hd_arena arena; /* entries */
    struct core_entry *entries;
    uint32_t nentries;
    struct hd_map by_name;    /* -> struct core_entry */
    struct hd_lock lock;      /* codes */
    pthread_cond_t changed;   /* some code is no longer busy */
    struct entry_code *codes; /* lock; by target and position */
    struct dbg_program *debugged;
    struct dbg_text *texts;                    /* lock; NULL: not asked for yet */
    struct core_image *forms[CORE_FORM_COUNT]; /* lock; the others, whose list is ours */
    enum core_form form;                       /* its own */
    struct hal_native native;                  /* of one entry, or of none */
};

static enum hd_status image_program_create(struct core_image *image, unsigned max_arch)
{
    const struct compile_options options = {.max_arch = max_arch,
                                            .on_demand = image->form == CORE_FORM_PLAIN,
                                            .debug = image->form == CORE_FORM_DEBUG,
                                            .counts = image->form == CORE_FORM_COUNTED,
                                            .probes = san_probes()};
    const struct obj_ptx_list *list = &image->list;
    struct compile_unit *units = hd_alloc_array(list->len + 1, sizeof(*units));
    enum hd_status status;

    if (!units)
        return hd_error(HD_NO_MEMORY, "module");
    for (size_t i = 0; i < list->len; i++)
        units[i] = (struct compile_unit){.name = *list->at[i].source ? list->at[i].source : "ptx",
                                         .ptx = list->at[i].text,
                                         .len = list->at[i].len};
    status = compile_program_create(units, list->len, &options, &image->program);
    hd_free(units);
    return status;
}

static void image_entry_fill(struct core_image *image, const struct ir_func *func)
{
    struct core_entry *entry = &image->entries[image->nentries];
    struct core_param *params = hd_arena_array(&image->arena, struct core_param, func->nparams + 1);

    *entry = (struct core_entry){.name = func->name,
                                 .index = func->index,
                                 .position = image->nentries,
                                 .params = params,
                                 .params_B = func->param_size_B};
    memcpy(entry->reqntid, func->reqntid, sizeof(entry->reqntid));
    if (func->maxntid[0])
        entry->max_threads = (uint64_t)func->maxntid[0] * HD_MAX(func->maxntid[1], 1u) *
                             HD_MAX(func->maxntid[2], 1u);
    entry->max_regs = func->maxnreg;
    memcpy(entry->cluster, func->reqnctapercluster, sizeof(entry->cluster));
    entry->explicit_cluster = func->explicitcluster;
    entry->blocks_are_clusters = func->blocksareclusters;
    entry->max_cluster = func->maxclusterrank;
    for (uint32_t i = 0; params && i < func->nparams; i++) {
        const struct ir_param *p = &func->params[i];
        params[entry->nparams++] = (struct core_param){p->name, p->offset_B, p->size_B};
    }
    if (!hd_map_put(&image->by_name, hd_str_from(entry->name), entry))
        image->arena.failed = true;
    image->nentries++;
}

static enum hd_status image_entries_fill(struct core_image *image)
{
    const struct ir_module *decls = compile_program_decls(image->program);
    uint32_t count = 0;

    for (const struct ir_func *f = decls->funcs; f; f = f->next)
        count += compile_program_is_kernel(image->program, f->index);
    image->entries = hd_arena_array(&image->arena, struct core_entry, count + 1);
    image->codes = hd_alloc_array(OPT_TARGET_COUNT * (count + 1u), sizeof(*image->codes));
    if (!image->entries || !image->codes)
        return hd_error(HD_NO_MEMORY, "module");
    for (const struct ir_func *f = decls->funcs; f; f = f->next)
        if (compile_program_is_kernel(image->program, f->index))
            image_entry_fill(image, f);
    assert(image->nentries == count);
    return hd_arena_status(&image->arena);
}

static enum hd_status image_fill(struct core_image *image, const void *bytes, size_t size_B)
{
    const struct core_device *d = core_device_at(0);
    struct obj_target target = {.cc = (unsigned)(d->cc_major * 10 + d->cc_minor),
                                .accept_any_variant = true};

    HD_TRY(obj_image_load_ptx(bytes, size_B, target, &image->list));
    HD_TRY(image_program_create(image, target.cc));
    return image_entries_fill(image);
}

static struct core_image *image_new(void)
{
    struct core_image *image = hd_new(struct core_image);

    if (!image)
        return NULL;
    atomic_store(&image->refs, 1);
    hd_lock_init(&image->lock, HD_RANK_MODULE, "image");
    pthread_cond_init(&image->changed, NULL);
    hd_arena_init(&image->arena);
    hd_map_init(&image->by_name);
    return image;
}

const struct dbg_text *core_image_texts(struct core_image *image, size_t *out_count)
{
    const struct obj_ptx_list *list = &image->list;

    hd_lock_acquire(&image->lock);
    if (!image->texts)
        image->texts = hd_alloc_array(list->len + 1, sizeof(*image->texts));
    for (size_t i = 0; image->texts && i < list->len; i++)
        image->texts[i] = (struct dbg_text){*list->at[i].source ? list->at[i].source : "ptx",
                                            list->at[i].text, list->at[i].len};
    *out_count = list->len;
    hd_lock_release(&image->lock);
    return image->texts;
}

static struct dbg_program *image_debugged_create(struct core_image *image)
{
    size_t count;
    const struct dbg_text *texts = core_image_texts(image, &count);

    return texts ? dbg_program_create(texts, count) : NULL;
}

enum hd_status core_image_load(const void *bytes, size_t size_B, struct core_image **out_image)
{
    struct core_image *image = image_new();
    enum hd_status status;

    if (!image)
        return hd_error(HD_NO_MEMORY, "module");
    status = image_fill(image, bytes, size_B);
    if (status != HD_OK) {
        core_image_unref(image);
        return status;
    }
    if (dbg_is_active())
        image->debugged = image_debugged_create(image);
    *out_image = image;
    return HD_OK;
}

/* ---- native kernels */

/* What stands for a native kernel without PTX: its parameters. */
static const char *image_only_params(struct hd_arena *arena, uint32_t params_B)
{
    char *text = hd_arena_array(arena, char, 256), params[64] = "";

    if (params_B)
        snprintf(params, sizeof(params), ".param .align 16 .b8 params[%u]", params_B);
    if (text)
        snprintf(text, 256,
                 ".version 6.0\n.target sm_30\n.address_size 64\n"
                 ".visible .entry native(%s)\n{\n    trap;\n}\n",
                 params);
    return text;
}

static enum hd_status image_native_fill(struct core_image *image, const struct heddle_native *desc,
                                        const struct core_entry **out_entry)
{
    const char *ptx = desc->ptx ? desc->ptx : image_only_params(&image->arena, desc->params_B);
    const char *name = desc->ptx ? desc->entry ? desc->entry : desc->name : "native";
    char *own_name = hd_arena_array(&image->arena, char, strlen(desc->name) + 1);
    struct core_entry *entry;

    if (!ptx || !own_name)
        return hd_error(HD_NO_MEMORY, "native kernel %s", desc->name);
    memcpy(own_name, desc->name, strlen(desc->name) + 1);
    HD_TRY(image_fill(image, ptx, strlen(ptx) + 1));
    entry = hd_map_get(&image->by_name, hd_str_from(name));
    if (!entry)
        return hd_error(HD_BAD_ARG, "native kernel %s: there is no kernel %s in its PTX",
                        desc->name, name);
    image->native.name = entry->name = own_name;
    image->native.function = desc->function;
    image->native.user = desc->user;
    if (desc->size_B >= sizeof(*desc)) /* else it is of an older version */
        image->native.describe = desc->describe;
    image->native.tile_ns = desc->tile_ns;
    image->native.flags = desc->flags;
    entry->native = &image->native;
    entry->is_only_native = !desc->ptx;
    *out_entry = entry;
    return HD_OK;
}

enum hd_status core_image_load_native(const struct heddle_native *desc,
                                      struct core_image **out_image,
                                      const struct core_entry **out_entry)
{
    struct core_image *image = image_new();
    enum hd_status status;

    if (!image)
        return hd_error(HD_NO_MEMORY, "native kernel %s", desc->name);
    status = image_native_fill(image, desc, out_entry);
    if (status == HD_OK)
        *out_image = image;
    else
        core_image_unref(image);
    return status;
}

void core_image_withdraw_native(struct core_image *image)
{
    assert(image->native.function);
    atomic_store(&image->native.withdrawn, true);
}

/* ---- for a debugger */

struct dbg_program *core_image_debugged(const struct core_image *image)
{
    return image->debugged;
}

static enum hd_status image_form_create(const struct core_image *image, enum core_form form,
                                        struct core_image **out_image)
{
    struct core_image *other = image_new();
    enum hd_status status;

    if (!other)
        return hd_error(HD_NO_MEMORY, "module");
    other->form = form;
    other->list = image->list;
    status = image_program_create(other, 0);
    if (status == HD_OK)
        status = image_entries_fill(other);
    if (status == HD_OK)
        *out_image = other;
    else
        core_image_unref(other);
    return status;
}

enum hd_status core_image_form(struct core_image *image, enum core_form form,
                               struct core_image **out_image)
{
    enum hd_status status = HD_OK;

    assert(form != CORE_FORM_PLAIN && image->form == CORE_FORM_PLAIN);
    hd_lock_acquire(&image->lock);
    if (!image->forms[form])
        status = image_form_create(image, form, &image->forms[form]);
    *out_image = image->forms[form];
    hd_lock_release(&image->lock);
    return status;
}

void core_image_ref(struct core_image *image)
{
    unsigned refs = atomic_fetch_add(&image->refs, 1);
    assert(refs > 0);
    (void)refs;
}

void core_image_unref(struct core_image *image)
{
    if (atomic_fetch_sub(&image->refs, 1) != 1)
        return;
    for (uint32_t i = 0; image->codes && i < OPT_TARGET_COUNT * image->nentries; i++) {
        assert(image->codes[i].state != CODE_BUSY);
        ir_module_destroy(image->codes[i].ir);
        hd_free(image->codes[i].why);
    }
    hd_free(image->codes);
    for (int form = 0; form < CORE_FORM_COUNT; form++)
        if (image->forms[form])
            core_image_unref(image->forms[form]);
    dbg_program_destroy(image->debugged);
    hd_free(image->texts);
    compile_program_destroy(image->program);
    if (image->form == CORE_FORM_PLAIN)
        obj_ptx_list_fini(&image->list);
    hd_map_fini(&image->by_name);
    hd_arena_fini(&image->arena);
    pthread_cond_destroy(&image->changed);
    hd_lock_fini(&image->lock);
    hd_free(image);
}

uint32_t core_image_count(const struct core_image *image)
{
    return image->nentries;
}

const struct core_entry *core_image_entry(const struct core_image *image, uint32_t position)
{
    assert(position < image->nentries);
    return &image->entries[position];
}

const struct core_entry *core_image_find_index(const struct core_image *image, uint64_t index)
{
    uint32_t low = 0, high = image->nentries; /* entries are in the order of their numbers */

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (image->entries[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < image->nentries && image->entries[low].index == index ? &image->entries[low]
                                                                       : NULL;
}

const struct core_entry *core_image_find(const struct core_image *image, const char *name)
{
    return hd_map_get(&image->by_name, hd_str_from(name));
}

unsigned core_image_arch(const struct core_image *image)
{
    return core_image_decls(image)->sm;
}

const char *core_image_ptx(const struct core_image *image)
{
    return image->list.len == 1 ? image->list.at[0].text : NULL;
}

const void *core_image_assembled(const struct core_image *image, const struct core_device *device,
                                 size_t *out_size_B, uint8_t out_key[16])
{
    *out_size_B = image->list.image_B;
    compile_image_key(image->program, device->target, out_key);
    return image->form == CORE_FORM_PLAIN ? image->list.image : NULL;
}

const uint8_t *core_image_key(const struct core_image *image)
{
    return compile_program_key(image->program);
}

void core_image_code_key(const struct core_image *image, const struct core_device *device,
                         uint8_t out_key[16])
{
    compile_code_key(image->program, device->target, out_key);
}

const struct ir_module *core_image_decls(const struct core_image *image)
{
    return compile_program_decls(image->program);
}

/* ---- code */

enum hd_status core_image_sizes(const struct core_image *image, const struct core_entry *entry,
                                struct ir_kernel_sizes *out_sizes)
{
    return compile_kernel_sizes(image->program, entry->index, out_sizes);
}

static struct entry_code *image_code_of(const struct core_image *image,
                                        const struct core_entry *entry,
                                        const struct core_device *device)
{
    assert(core_image_entry(image, entry->position) == entry);
    return &image->codes[device->target * image->nentries + entry->position];
}

enum hd_status core_image_code_error(struct core_image *image, const struct core_entry *entry,
                                     const struct core_device *device)
{
    const struct entry_code *code = image_code_of(image, entry, device);
    enum hd_status status = HD_OK;

    hd_lock_acquire(&image->lock);
    if (code->state == CODE_FAILED)
        status = hd_error(code->status, "%s", code->why);
    hd_lock_release(&image->lock);
    return status;
}

enum hd_status core_image_code(struct core_image *image, const struct core_entry *entry,
                               const struct core_device *device, const struct ir_module **out_code)
{
    struct hd_compile_note note = {.name = entry->name, .form = "ir"};
    struct entry_code *code = image_code_of(image, entry, device);
    struct ir_module *ir = NULL;
    enum hd_status status;

    hd_lock_acquire(&image->lock);
    while (code->state == CODE_BUSY)
        hd_lock_wait(&image->lock, &image->changed);
    if (code->state == CODE_NONE) {
        code->state = CODE_BUSY;
        hd_lock_release(&image->lock);
        hd_compile_begin(&note);
        status = compile_kernel(image->program, entry->index, device->target, &ir);
        hd_compile_end(&note, false, status);
        hd_lock_acquire(&image->lock);
        /* The first error stays, but for lack of memory, which may pass. */
        const char *why = hd_error_message();
        assert(code->state == CODE_BUSY);
        code->status = status;
        code->ir = status == HD_OK ? ir : NULL;
        code->state = status == HD_OK ? CODE_READY : CODE_NONE;
        if (status != HD_OK && status != HD_NO_MEMORY && (code->why = hd_alloc(strlen(why) + 1))) {
            memcpy(code->why, why, strlen(why) + 1);
            code->state = CODE_FAILED;
            hd_log("kernel %s cannot be loaded, its launches fail: %s", entry->name, why);
        }
        pthread_cond_broadcast(&image->changed);
    } else {
        status = code->state == CODE_READY ? HD_OK : hd_error(code->status, "%s", code->why);
    }
    *out_code = code->ir;
    hd_lock_release(&image->lock);
    return status;
}
