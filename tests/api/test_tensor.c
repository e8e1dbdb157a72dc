/*
 * Tensor copies of random maps, boxes and modes against tensor_model.h, and what they refuse.
 *
 *     test_api_tensor (strict|plain) DEVICE [HEDDLE_FAULT [HEDDLE_CPU]]
 */
#include <inttypes.h>
#include <stdio.h>

#include "api/driver/cuda_abi.h"
#include "tap.h"
#include "tensor_model.h"

#define GLOBAL_B (1u << 20)
#define SHARED_B (46u << 10)
#define BASE_B   (64u << 10) /* of the tensor in global memory: what is before it must stay */

static CUmodule module;
static uint64_t seed;
static CUdeviceptr device_global, device_image, device_args;
static unsigned char *image, *global, *got_image, *got_global;

/* ---- kernels: one for each mode and number of dimensions */

static const char *const modes[][3] = {
    [TILE] = {"tile", "tile", "tile"},
    [ROWS4] = {"tile::gather4", "tile::scatter4", "tile::scatter4"},
    [PIXELS] = {"im2col", "im2col_no_offs", "im2col_no_offs"},
    [WIDE] = {"im2col::w"},
    [WIDE128] = {"im2col::w::128"},
};
static const char *const atoms[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};

static char text[256 << 10];
static size_t text_B;

static HD_PRINTF(1, 2) void put(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text + text_B, sizeof(text) - text_B, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(text) - text_B)
        abort();
    text_B += (size_t)n;
}

static void put_list(char letter, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        put("%s%%%c%u", i ? ", " : "{", letter, i);
    put("}");
}

static void put_copy(enum way way, enum mode mode, unsigned rank, unsigned atom)
{
    unsigned infos = way != LOAD ? 0 : mode == PIXELS ? rank - 2 : mode > PIXELS ? 2 : 0;

    put("%s.async.bulk.tensor.%ud.%s%s%s.%s.%s ", way == REDUCE ? "cp.reduce" : "cp", rank,
        way == LOAD ? "shared::cta.global" : "global.shared::cta", way == REDUCE ? "." : "",
        way == REDUCE ? atoms[atom] : "", modes[mode][way],
        way == LOAD ? "mbarrier::complete_tx::bytes" : "bulk_group");
    put(way == LOAD ? "[%%at], [%%map, " : "[%%map, ");
    put_list('c', mode == ROWS4 ? 5 : rank);
    put(way == LOAD ? "], [barrier]" : "], [%%at]");
    if (infos) {
        put(", ");
        put_list('h', infos);
    }
    put(";\n");
}

static void kernel_name(char *out, size_t n, enum way way, enum mode mode, unsigned rank,
                        unsigned atom)
{
    snprintf(out, n, "k%u_%u_%u_%u", way, mode, rank, atom);
}

/* Loads have the map in a parameter, others in global memory behind the coordinates. */
static void put_kernel(enum way way, enum mode mode, unsigned rank, unsigned atom)
{
    char name[64];

    kernel_name(name, sizeof(name), way, mode, rank, atom);
    put(".visible .entry %s(.param .align 64 .b8 m[128], .param .u64 args, .param .u64 image,\n"
        "    .param .u32 words, .param .u32 offset, .param .u32 bytes) {\n"
        ".reg .b64 %%map, %%a, %%i, %%t; .reg .b32 %%c<5>, %%x, %%n, %%w, %%at, %%s;\n"
        ".reg .b16 %%h<3>; .reg .pred %%p, %%q;\n"
        ".shared .align 8 .b64 barrier;\n"
        "ld.param.u64 %%a, [args]; ld.param.u64 %%i, [image]; ld.param.u32 %%n, [words];\n"
        "ld.param.u32 %%at, [offset]; mov.u32 %%s, box; add.u32 %%at, %%at, %%s;\n"
        "mov.u32 %%x, %%tid.x;\n"
        "FILL: setp.ge.u32 %%p, %%x, %%n; @%%p bra FILLED;\n"
        "mul.wide.u32 %%t, %%x, 4; add.u64 %%t, %%t, %%i; ld.global.b32 %%w, [%%t];\n"
        "shl.b32 %%c0, %%x, 2; add.u32 %%c0, %%c0, %%s; st.shared.b32 [%%c0], %%w;\n"
        "add.u32 %%x, %%x, 32; bra FILL;\n"
        "FILLED: bar.sync 0; mov.u32 %%x, %%tid.x; setp.ne.u32 %%p, %%x, 0; @%%p bra COPIED;\n",
        name);
    if (way == LOAD)
        put("mov.b64 %%map, m; cvta.param.u64 %%map, %%map;\n");
    else
        put("add.u64 %%map, %%a, 64;\n");
    for (unsigned i = 0; i < 5; i++)
        put("ld.global.s32 %%c%u, [%%a+%u];\n", i, 4 * i);
    for (unsigned i = 0; i < 3; i++)
        put("ld.global.u16 %%h%u, [%%a+%u];\n", i, 20 + 2 * i);
    if (way == LOAD)
        put("ld.param.u32 %%w, [bytes]; mbarrier.init.shared.b64 [barrier], 1;\n"
            "mbarrier.arrive.expect_tx.shared.b64 %%t, [barrier], %%w;\n");
    put_copy(way, mode, rank, atom);
    if (way == LOAD)
        put("mov.u32 %%w, 0;\n"
            "WAIT: mbarrier.try_wait.parity.shared.b64 %%q, [barrier], 0;\n"
            "add.u32 %%w, %%w, 1; setp.lt.u32 %%p, %%w, 100; @%%q bra WAITED; @%%p bra WAIT;\n"
            "mov.u32 %%w, 0;\nWAITED: st.global.u32 [%%a+32], %%w;\n");
    else
        put("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n");
    put("COPIED: bar.sync 0; mov.u32 %%x, %%tid.x;\n"
        "BACK: setp.ge.u32 %%p, %%x, %%n; @%%p bra DONE;\n"
        "shl.b32 %%c0, %%x, 2; add.u32 %%c0, %%c0, %%s; ld.shared.b32 %%w, [%%c0];\n"
        "mul.wide.u32 %%t, %%x, 4; add.u64 %%t, %%t, %%i; st.global.b32 [%%t], %%w;\n"
        "add.u32 %%x, %%x, 32; bra BACK;\nDONE: ret;\n}\n");
}

static void put_module(void)
{
    put(".version 8.6\n.target sm_100a\n.address_size 64\n"
        ".extern .shared .align 1024 .b8 box[];\n");
    for (enum way way = LOAD; way <= STORE; way++) {
        for (unsigned rank = 1; rank <= 5; rank++)
            put_kernel(way, TILE, rank, 0);
        put_kernel(way, ROWS4, 2, 0);
        for (unsigned rank = 3; rank <= 5; rank++)
            put_kernel(way, PIXELS, rank, 0);
    }
    for (unsigned rank = 3; rank <= 5; rank++) {
        put_kernel(LOAD, WIDE, rank, 0);
        put_kernel(LOAD, WIDE128, rank, 0);
    }
    for (unsigned atom = ADD; atom <= XOR; atom++) {
        put_kernel(REDUCE, TILE, 1 + atom % 5, atom);
        put_kernel(REDUCE, PIXELS, 3 + atom % 3, atom);
        put_kernel(REDUCE, ROWS4, 2, atom);
    }
}

/* ---- random cases: every number that a map or a copy may have, and small tensors */

static unsigned below(unsigned n)
{
    return (unsigned)(tap_random(&seed) % n);
}

static unsigned between(unsigned a, unsigned b)
{
    return a + below(b - a + 1);
}

static bool may_reduce(unsigned atom, int type)
{
    static const unsigned types[] = {/* of ADD, MIN, .. */
                                     1 << 2 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 9 | 1 << 10,
                                     1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 9,
                                     1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 9,
                                     1 << 2,
                                     1 << 2,
                                     0x3c,
                                     0x3c,
                                     0x3c};
    return types[atom] >> type & 1;
}

static void draw_kind(struct tensor_case *c)
{
    static const enum mode all[] = {TILE, TILE, ROWS4, PIXELS, WIDE, WIDE128};

    c->way = (enum way)below(3);
    do
        c->mode = all[below(HD_COUNT_OF(all))];
    while (c->way != LOAD && c->mode >= WIDE);
    c->atom = below(8);
    if (c->mode == ROWS4)
        c->rank = 2;
    else if (c->way == REDUCE)
        c->rank = c->mode == TILE ? 1 + c->atom % 5 : 3 + c->atom % 3;
    else
        c->rank = between(c->mode >= PIXELS ? 3 : 1, 5);
    do
        c->type = (int)below(16);
    while ((c->way == STORE && c->type == 14) ||
           (c->way == REDUCE && !may_reduce(c->atom, c->type)));
}

static bool is_float_type(int type)
{
    return type >= 6 && type <= 12;
}

static void draw_layout(struct tensor_case *c)
{
    if (c->rank >= 3 && c->mode != ROWS4 && c->mode < WIDE && !is_padded(c) && !below(4))
        c->interleave = between(1, 2);
    do
        c->swizzle = below(7);
    while ((is_padded(c) && c->swizzle != S0 && c->swizzle != S128 && c->swizzle != S128_32) ||
           (c->way != LOAD && c->swizzle == S128_FLIP) ||
           (c->mode >= WIDE && (c->swizzle < S64 || c->swizzle >= S128_FLIP)));
    if (c->interleave == 2)
        c->swizzle = S32;
    c->nan = is_float_type(c->type) && below(2);
}

/* Elements of a row: a multiple of 16 bytes, and no more than the swizzle has. */
static unsigned draw_row(const struct tensor_case *c)
{
    static const unsigned widths[] = {512, 32, 64, 128, 128, 128, 128};
    unsigned bits = type_bits(c->type), most = HD_MIN(widths[c->swizzle] * 8 / bits, 256u);

    if (is_padded(c))
        return 128;
    if (c->interleave)
        return between(1, 12);
    return between(1, most * bits / 128) * 128 / bits;
}

static void draw_tensor(struct tensor_case *c)
{
    cuuint64_t stride_B;
    unsigned inner = draw_row(c), unit = c->interleave == 2 || is_padded(c) ? 32 : 16;

    c->channels = inner;
    for (unsigned d = 0; d < c->rank; d++) {
        c->box[d] = d ? between(1, c->rank > 3 ? 4 : 9) : inner;
        c->step[d] = below(3) ? 1 : between(1, 8);
        c->dim[d] = between(1, d ? 7 : 2 * inner);
    }
    if (c->interleave)
        c->box[c->rank - 2] = 1;
    if (is_padded(c))
        c->dim[0] = 128 * between(1, 2);
    if (c->type == 13 && c->dim[0] % 2)
        c->dim[0]++;
    if (c->mode == ROWS4)
        c->box[1] = c->step[1] = 1;
    stride_B = (c->dim[0] * slice_bits(c) / 8 + unit) / unit * unit;
    for (unsigned d = 1; d < c->rank; d++) {
        c->stride_B[d - 1] = stride_B + unit * below(3);
        stride_B = c->stride_B[d - 1] * c->dim[d];
    }
}

/* Where copies begin: around the tensor, or not before it when they go there. */
static void draw_place(struct tensor_case *c)
{
    unsigned n = c->mode == ROWS4 ? 5 : c->rank;
    bool store = c->way != LOAD;

    for (unsigned i = 0; i < n; i++) {
        unsigned d = c->mode == ROWS4 && i ? 1 : i;
        int size = (int)c->dim[d], before = store ? 0 : d ? 4 : (int)HD_MIN(c->box[0], 8u);
        c->at[i] = (int)below((unsigned)(size + before + 2)) - before;
        if (!below(3))
            c->at[i] = 0;
    }
    if (!c->interleave && is_padded(c))
        c->at[0] = c->at[0] / 128 * 128;
    if (!c->interleave && c->type == 13)
        c->at[0] &= ~1;
}

static void draw_pixels(struct tensor_case *c)
{
    static const int ends[] = {1 << 15, 1 << 7, 1 << 4};
    unsigned first = c->interleave ? 0 : 1, n = c->mode == PIXELS ? c->rank - 2 : 1;
    int end = ends[n - 1];

    c->pixels = between(1, c->mode == PIXELS ? 60 : 100);
    for (unsigned i = 0; i < n; i++) {
        int size = (int)c->dim[first + i];
        do {
            c->lower[i] = c->way == LOAD ? (int)below(6) - 3 : (int)below(2);
            c->upper[i] = c->way == LOAD ? (int)below(6) - 3 : -(int)below(2);
        } while (c->lower[i] >= size + c->upper[i] || c->lower[i] < -end);
        c->at[first + i] = c->lower[i] + (int)below((unsigned)(size + c->upper[i] - c->lower[i]));
        if (c->mode > PIXELS && !below(4))
            c->at[first + i] = c->lower[i] - (int)below(5);
        c->info[i] = c->way == LOAD && c->mode == PIXELS ? below(4) : 0;
    }
    if (c->mode > PIXELS) {
        c->info[0] = below(c->mode == WIDE ? 20 : 5);
        c->info[1] = below(4);
    }
}

static struct tensor_case draw(void)
{
    struct tensor_case c;

    do {
        memset(&c, 0, sizeof(c));
        draw_kind(&c);
        draw_layout(&c);
        draw_tensor(&c);
        draw_place(&c);
        if (c.mode >= PIXELS)
            draw_pixels(&c);
        c.shared_at = 128 * below(12);
    } while (c.shared_at + rows_of(&c) * pitch_of(&c, inner_of(&c)) + 128 > SHARED_B ||
             c.stride_B[c.rank > 1 ? c.rank - 2 : 0] * (c.rank > 1 ? c.dim[c.rank - 1] : 0) >
                 GLOBAL_B - BASE_B);
    return c;
}

/* ---- running one */

static CUresult encode(const struct tensor_case *c, CUtensorMap *out)
{
    void *at = (void *)(uintptr_t)(device_global + BASE_B);
    CUtensorMapDataType type = (CUtensorMapDataType)c->type;
    CUtensorMapInterleave interleave = (CUtensorMapInterleave)c->interleave;
    CUtensorMapSwizzle swizzle = (CUtensorMapSwizzle)c->swizzle;
    CUtensorMapFloatOOBfill fill = (CUtensorMapFloatOOBfill)c->nan;

    if (c->mode < PIXELS)
        return cuTensorMapEncodeTiled(out, type, c->rank, at, c->dim, c->stride_B, c->box, c->step,
                                      interleave, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                      fill);
    if (c->mode == PIXELS)
        return cuTensorMapEncodeIm2col(out, type, c->rank, at, c->dim, c->stride_B, c->lower,
                                       c->upper, c->channels, c->pixels, c->step, interleave,
                                       swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
    return cuTensorMapEncodeIm2colWide(
        out, type, c->rank, at, c->dim, c->stride_B, c->lower[0], c->upper[0], c->channels,
        c->mode == WIDE128 ? 0 : c->pixels, c->step, interleave,
        c->mode == WIDE128 ? CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128 : CU_TENSOR_MAP_IM2COL_WIDE_MODE_W,
        swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
}

/* Numbers that the type's reductions have a simple answer for; else any bits. */
static void randomize(const struct tensor_case *c, unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint64_t x = tap_random(&seed), odd = tap_random(&seed);
        for (unsigned at = 0; c->way == REDUCE && at < 64; at += 16) {
            uint64_t small = half_bits(c, (float)(1 + (odd >> at & 31)) / 8);
            if (c->type == 6 || c->type == 9)
                x = (x & ~(0x7fffull << at)) | (small & 0x7fff) << at;
        }
        if (c->way == REDUCE && (c->type == 7 || c->type == 10))
            x &= odd & 1 ? 0xbfffffffbfffffff : 0x80ffffff80ffffff;
        memcpy(p + i, &x, 8);
    }
}

static void print_case(const struct tensor_case *c)
{
    diag("way %u mode %u atom %u type %d rank %u swizzle %u interleave %u nan %d shared_at %u",
         c->way, c->mode, c->atom, c->type, c->rank, c->swizzle, c->interleave, c->nan,
         c->shared_at);
    for (unsigned d = 0; d < 5; d++)
        diag("dim %" PRIu64 " stride %" PRIu64 " box %u step %u at %d", c->dim[d],
             d ? c->stride_B[d - 1] : 0, c->box[d], c->step[d], c->at[d]);
    diag("channels %u pixels %u lower %d %d %d upper %d %d %d info %u %u %u", c->channels,
         c->pixels, c->lower[0], c->lower[1], c->lower[2], c->upper[0], c->upper[1], c->upper[2],
         c->info[0], c->info[1], c->info[2]);
}

static CUresult launch(const struct tensor_case *c, CUtensorMap *map, unsigned bytes)
{
    struct {
        int at[5];
        uint16_t info[6];
        uint32_t waited, pad[7];
        CUtensorMap map;
    } args = {.waited = 0};
    unsigned words = SHARED_B / 4, offset = c->shared_at;
    void *params[] = {map, &device_args, &device_image, &words, &offset, &bytes};
    CUfunction kernel;
    char name[64];

    _Static_assert(offsetof(__typeof__(args), map) == 64, "as the kernels have it");
    memcpy(args.at, c->at, sizeof(args.at));
    for (unsigned i = 0; i < 3; i++)
        args.info[i] = (uint16_t)c->info[i];
    args.map = *map;
    kernel_name(name, sizeof(name), c->way, c->mode, c->rank, c->way == REDUCE ? c->atom : 0);
    CUresult r = cuMemcpyHtoD_v2(device_args, &args, sizeof(args));
    r = r ? r : cuMemcpyHtoD_v2(device_image, image, SHARED_B);
    r = r ? r : cuMemcpyHtoD_v2(device_global, global, GLOBAL_B);
    r = r ? r : cuModuleGetFunction(&kernel, module, name);
    r = r ? r : cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, SHARED_B, NULL, params, NULL);
    r = r ? r : cuCtxSynchronize();
    r = r ? r : cuMemcpyDtoH_v2(got_image, device_image, SHARED_B);
    r = r ? r : cuMemcpyDtoH_v2(got_global, device_global, GLOBAL_B);
    r = r ? r : cuMemcpyDtoH_v2(&args, device_args, sizeof(args));
    return r || c->way != LOAD || args.waited ? r : CUDA_ERROR_LAUNCH_TIMEOUT;
}

static bool one(const struct tensor_case *c)
{
    _Alignas(64) CUtensorMap map;
    CUresult r = encode(c, &map);

    randomize(c, image, SHARED_B);
    randomize(c, global, GLOBAL_B);
    if (!r) {
        unsigned char *tensor = global + BASE_B;
        memcpy(got_image, image, SHARED_B);
        memcpy(got_global, global, GLOBAL_B);
        unsigned bytes = model(c, got_global + BASE_B, got_image);
        (void)tensor;
        unsigned char *want_image = malloc(SHARED_B), *want_global = malloc(GLOBAL_B);
        memcpy(want_image, got_image, SHARED_B);
        memcpy(want_global, got_global, GLOBAL_B);
        r = launch(c, &map, bytes);
        bool same = !r && tap_note_mem_(got_image, want_image, SHARED_B) &&
                    tap_note_mem_(got_global, want_global, GLOBAL_B);
        free(want_image);
        free(want_global);
        if (same)
            return true;
    }
    diag("result %d", (int)r);
    print_case(c);
    return false;
}

static void test_random(unsigned batches, unsigned cases)
{
    for (unsigned b = 0; b < batches; b++) {
        bool good = true;
        for (unsigned i = 0; good && i < cases; i++) {
            struct tensor_case c = draw();
            good = one(&c);
        }
        ok(good, "batch %u: copies as the manual has them", b);
    }
}

static void set(const char *name, const char *value)
{
    if (value && *value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static CUresult begin(void)
{
    CUdevice dev;
    CUcontext ctx;

    put_module();
    image = malloc(SHARED_B);
    global = malloc(GLOBAL_B);
    got_image = malloc(SHARED_B);
    got_global = malloc(GLOBAL_B);
    CUresult r = cuDeviceGet(&dev, 0);
    r = r ? r : cuCtxCreate_v2(&ctx, 0, dev);
    r = r ? r : cuModuleLoadData(&module, text);
    r = r ? r : cuMemAlloc_v2(&device_global, GLOBAL_B);
    r = r ? r : cuMemAlloc_v2(&device_image, SHARED_B);
    return r ? r : cuMemAlloc_v2(&device_args, 4096);
}

int main(int argc, char **argv)
{
    set("HEDDLE_MEMORY", "256M");
    set("HEDDLE_STRICT", argc > 1 && !strcmp(argv[1], "strict") ? "1" : "0");
    set("HEDDLE_DEVICE", argc > 2 ? argv[2] : NULL);
    set("HEDDLE_FAULT", argc > 3 ? argv[3] : NULL);
    set("HEDDLE_CPU", argc > 4 ? argv[4] : NULL);
    set("HEDDLE_CACHE", "off");
    if (argc > 4 && tap_lacks(argv[4]))
        return skip_all("this CPU lacks the level");
    seed = tap_seed();
    if (!ok(!cuInit(0), "cuInit") || !eq_u64(begin(), CUDA_SUCCESS, "the module loads"))
        return done();
    test_random(10, argc > 2 && !strcmp(argv[2], "interp") ? 8 : 30);
    return done();
}
