/* What operations with a payload access: see probe.h and tensor_copy.h. */
#include <assert.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "ir/probe.h"
#include "model/tensor_copy.h"
#include "model/texture.h"

/* The kernel reads, which says so when nothing is there. */
static bool careful_read(uint64_t va, void *out, size_t size_B)
{
    struct iovec to = {out, size_B}, from = {(void *)(uintptr_t)va, size_B};

    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size_B;
}

const struct ir_texture *ir_probed_object(const struct ir_probe_launch *about, uint64_t handle)
{
    const struct ir_texture *object = ir_texture_find(about->textures, handle);
    uint64_t named;

    if (object || !about->textures || !handle || IR_TEXTURE_IS_HANDLE(handle) ||
        !careful_read(handle, &named, sizeof(named)))
        return object;
    return ir_texture_find(about->textures, named);
}

bool ir_probed_map(uint64_t va, struct ir_tensor_map *out)
{
    return careful_read(va, out, sizeof(*out));
}

bool ir_probed_copy(uint64_t imm, const uint64_t *const *operands, uint32_t lane,
                    const struct ir_tensor_map *map, struct ir_tensor_copy *out)
{
    const struct ir_tensor_what what = ir_tensor_unpack(imm);
    uint32_t n = ir_tensor_coordinates(&what), infos[IR_TENSOR_INFO_MAX];
    int32_t coordinates[IR_TENSOR_RANK_MAX];

    for (uint32_t i = 0; i < n; i++)
        coordinates[i] = (int32_t)operands[IR_TENSOR_OPERAND_0 + i][lane];
    for (uint32_t i = 0; i < ir_tensor_infos(&what); i++)
        infos[i] = (uint32_t)operands[IR_TENSOR_OPERAND_0 + n + i][lane];
    return !ir_tensor_copy_init(out, map, imm, coordinates, infos);
}

/* ---- global memory of a tensor copy, which is let run between buffers that nobody sees */

enum { PIECE_B = 4096 }; /* of global memory, at most */

struct stretches {
    ir_tensor_stretch *visit;
    void *user;
    char *piece;         /* what global memory would have */
    uint64_t va, size_B; /* requests that lie side by side, not told yet */
    bool writes;
};

static void flush(struct stretches *s)
{
    if (s->size_B)
        s->visit(s->user, s->va, s->size_B, s->writes);
    s->size_B = 0;
}

static void *translate(void *user, uint64_t address, uint64_t size_B, bool write)
{
    struct stretches *s = user;

    assert(size_B <= PIECE_B);
    if (address != s->va + s->size_B || write != s->writes)
        flush(s);
    if (!s->size_B)
        s->va = address;
    s->writes = write;
    s->size_B += size_B;
    return s->piece;
}

bool ir_tensor_copy_stretches(const struct ir_tensor_copy *c, ir_tensor_stretch *visit, void *user)
{
    struct stretches s = {.visit = visit, .user = user, .piece = hd_alloc(PIECE_B)};
    const struct ir_tensor_global memory = {translate, &s, PIECE_B};
    char *shared = hd_alloc(c->shared_B);
    bool ok = shared && s.piece;

    if (ok) {
        (void)ir_tensor_copy_run(c, shared, 0, &memory);
        flush(&s);
    }
    hd_free(shared);
    hd_free(s.piece);
    return ok;
}
