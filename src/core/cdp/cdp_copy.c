/* Copies and fills by kernels. See cdp_calls.h. */
#include "core/cdp/cdp_calls.h"
#include "core/mem/memory.h"

#define MEMCPY_DEFAULT   4u
#define MEMCPY_IN_DEVICE 3u

struct box {
    uint64_t dst, dst_pitch_B, dst_slice_B;
    uint64_t src, src_pitch_B, src_slice_B;
    uint64_t width_B, height, depth;
};

/* The bytes from the first to the last; UINT64_MAX, which no check lets pass, on overflow. */
static uint64_t box_span_B(const struct box *b, uint64_t pitch_B, uint64_t slice_B)
{
    unsigned __int128 span = (unsigned __int128)(b->height - 1) * pitch_B + b->width_B;

    span += (unsigned __int128)(b->depth - 1) * slice_B;
    return span > UINT64_MAX ? UINT64_MAX : (uint64_t)span;
}

static bool side_fits(const struct box *b, uint64_t va, uint64_t pitch_B, uint64_t slice_B)
{
    if (b->height > 1 && pitch_B < b->width_B)
        return false;
    return va && core_memory_check(va, box_span_B(b, pitch_B, slice_B), false) == HD_OK;
}

static bool box_is_empty(const struct box *b)
{
    return !b->width_B || !b->height || !b->depth;
}

static uint64_t copy(const struct core_cdp_call *call, const struct box *b, uint64_t kind,
                     uint64_t stream)
{
    struct core_cdp_command command = {.packet.copy = {.head.op = HAL_OP_COPY}};
    struct hal_copy *p = &command.packet.copy;

    if ((uint32_t)kind != MEMCPY_IN_DEVICE && (uint32_t)kind != MEMCPY_DEFAULT)
        return cudaErrorInvalidMemcpyDirection;
    if (box_is_empty(b))
        return core_cdp_stream_takes(call, stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
    if (!side_fits(b, b->dst, b->dst_pitch_B, b->dst_slice_B) ||
        !side_fits(b, b->src, b->src_pitch_B, b->src_slice_B))
        return cudaErrorInvalidValue;
    p->dst = b->dst;
    p->src = b->src;
    p->width_B = b->width_B;
    p->height = b->height;
    p->depth = b->depth;
    p->dst_pitch_B = b->dst_pitch_B;
    p->src_pitch_B = b->src_pitch_B;
    p->dst_slice_B = b->dst_slice_B;
    p->src_slice_B = b->src_slice_B;
    return core_cdp_enqueue(call, stream, &command);
}

/* A packet fills one slice. */
static uint64_t fill(const struct core_cdp_call *call, const struct box *b, uint64_t value,
                     uint64_t stream)
{
    uint64_t error = cudaSuccess;

    if (box_is_empty(b))
        return core_cdp_stream_takes(call, stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
    if (!side_fits(b, b->dst, b->dst_pitch_B, b->dst_slice_B))
        return cudaErrorInvalidValue;
    for (uint64_t z = 0; z < b->depth && error == cudaSuccess; z++) {
        struct core_cdp_command command = {.packet.fill = {.head.op = HAL_OP_FILL,
                                                           .dst = b->dst + z * b->dst_slice_B,
                                                           .width = b->width_B,
                                                           .height = b->height,
                                                           .pitch_B = b->dst_pitch_B,
                                                           .value = (uint8_t)value,
                                                           .elem_B = 1}};

        error = core_cdp_enqueue(call, stream, &command);
    }
    return error;
}

uint64_t core_cdp_MemcpyAsync(const struct core_cdp_call *call)
{
    const uint64_t *a = call->io->args;
    const struct box b = {.dst = a[0], .src = a[1], .width_B = a[2], .height = 1, .depth = 1};

    return copy(call, &b, a[3], a[4]);
}

uint64_t core_cdp_Memcpy2DAsync(const struct core_cdp_call *call)
{
    const uint64_t *a = call->io->args;
    const struct box b = {.dst = a[0],
                          .dst_pitch_B = a[1],
                          .src = a[2],
                          .src_pitch_B = a[3],
                          .width_B = a[4],
                          .height = a[5],
                          .depth = 1};

    return copy(call, &b, a[6], a[7]);
}

/* struct cudaPitchedPtr, and struct cudaMemcpy3DParms in words. */
struct pitched {
    uint64_t va, pitch_B, width, height;
};

struct copy_3d {
    uint64_t src_array, src_pos[3];
    struct pitched src;
    uint64_t dst_array, dst_pos[3];
    struct pitched dst;
    uint64_t extent[3];
    uint64_t kind;
};
_Static_assert(sizeof(struct copy_3d) == 160, "ABI");

static uint64_t pitched_at(const struct pitched *p, const uint64_t pos[3])
{
    return p->va + pos[0] + (pos[1] + pos[2] * p->height) * p->pitch_B;
}

uint64_t core_cdp_Memcpy3DAsync(const struct core_cdp_call *call)
{
    struct copy_3d c;

    if (!core_cdp_read(call, call->io->args[0], &c, sizeof(c)) || c.src_array || c.dst_array)
        return cudaErrorInvalidValue;
    const struct box b = {.dst = pitched_at(&c.dst, c.dst_pos),
                          .dst_pitch_B = c.dst.pitch_B,
                          .dst_slice_B = c.dst.pitch_B * c.dst.height,
                          .src = pitched_at(&c.src, c.src_pos),
                          .src_pitch_B = c.src.pitch_B,
                          .src_slice_B = c.src.pitch_B * c.src.height,
                          .width_B = c.extent[0],
                          .height = c.extent[1],
                          .depth = c.extent[2]};

    return copy(call, &b, c.kind, call->io->args[1]);
}

uint64_t core_cdp_MemsetAsync(const struct core_cdp_call *call)
{
    const uint64_t *a = call->io->args;
    const struct box b = {.dst = a[0], .width_B = a[2], .height = 1, .depth = 1};

    return fill(call, &b, a[1], a[3]);
}

uint64_t core_cdp_Memset2DAsync(const struct core_cdp_call *call)
{
    const uint64_t *a = call->io->args;
    const struct box b = {
        .dst = a[0], .dst_pitch_B = a[1], .width_B = a[3], .height = a[4], .depth = 1};

    return fill(call, &b, a[2], a[5]);
}

/* The pitched pointer's four words, the value, the extent's three, the stream. */
uint64_t core_cdp_Memset3DAsync(const struct core_cdp_call *call)
{
    const uint64_t *a = call->io->args;
    const struct box b = {.dst = a[0],
                          .dst_pitch_B = a[1],
                          .dst_slice_B = a[1] * a[3],
                          .width_B = a[5],
                          .height = a[6],
                          .depth = a[7]};

    return fill(call, &b, a[4], a[8]);
}
