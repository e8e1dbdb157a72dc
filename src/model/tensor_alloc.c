/* Tensor memory: which columns are whose. See tensor.h. */
#include <string.h>

#include "model/tensor_private.h"

enum { UNITS = IR_TENSOR_COLUMNS / IR_TENSOR_UNIT };

#define NO_ADDRESS ((uint32_t)IR_TENSOR_WAIT)

void ir_tensor_memory_own(struct ir_tensor_memory *memory, const uint64_t owner[3])
{
    if (!memcmp(memory->owner, owner, sizeof(memory->owner)))
        return;
    memcpy(memory->owner, owner, sizeof(memory->owner));
    memory->allocated = memory->first = 0;
    memory->relinquished = false;
    memory->request = (struct ir_tensor_request){0};
}

unsigned ir_tensor_columns_left(const struct ir_tensor_memory *memory)
{
    return (unsigned)__builtin_popcount(memory->allocated) * IR_TENSOR_UNIT;
}

static uint32_t units_mask(unsigned first, unsigned n)
{
    return ((n < 32 ? 1u << n : 0u) - 1) << first;
}

static bool columns_are_legal(uint32_t n)
{
    return n >= IR_TENSOR_UNIT && n <= IR_TENSOR_COLUMNS && hd_is_pow2(n);
}

/* ---- places */

bool ir_tensor_locate(const struct ir_tensor_cta *cta, uint32_t address, unsigned lanes,
                      unsigned columns, struct ir_tensor_coord *out, struct ir_tensor_error *error)
{
    unsigned lane = address >> 16, column = address & 0xffff;
    unsigned first = column / IR_TENSOR_UNIT, last = (column + columns - 1) / IR_TENSOR_UNIT;

    *out = (struct ir_tensor_coord){lane, column};
    if (lane + lanes > IR_TENSOR_LANES || column + columns > IR_TENSOR_COLUMNS)
        return ir_tensor_refuse(error, HD_ILLEGAL_ADDRESS, address, "outside of tensor memory");
    for (unsigned i = 0; i < cta->nblocks; i++)
        if (units_mask(first, last - first + 1) & ~cta->block[i].memory->allocated)
            return ir_tensor_refuse(error, HD_ILLEGAL_ADDRESS, address,
                                    "tensor memory that is not allocated");
    return true;
}

/* ---- allocation */

/* The first columns that are free in every block, which are taken; NO_ADDRESS: there are none. */
static uint32_t take(const struct ir_tensor_cta *cta, uint32_t columns)
{
    unsigned units = columns / IR_TENSOR_UNIT;
    uint32_t taken = 0;

    for (unsigned i = 0; i < cta->nblocks; i++)
        taken |= cta->block[i].memory->allocated;
    for (unsigned first = 0; first + units <= UNITS; first++) {
        uint32_t mask = units_mask(first, units);
        if (taken & mask)
            continue;
        for (unsigned i = 0; i < cta->nblocks; i++) {
            cta->block[i].memory->allocated |= mask;
            cta->block[i].memory->first |= 1u << first;
        }
        return first * IR_TENSOR_UNIT;
    }
    return NO_ADDRESS;
}

/* An error; false. */
static bool refuse_after_end(struct ir_tensor_error *error, uint32_t columns)
{
    return ir_tensor_refuse(error, HD_TRAP, columns,
                            "the block has given up the right to allocate tensor memory");
}

/* Both ask, and have no answer: both get one, which may be to wait. */
static bool answer(const struct ir_tensor_cta *cta, struct ir_tensor_error *error)
{
    const struct ir_tensor_memory *peer = cta->block[!cta->own].memory;
    struct ir_tensor_request *own = &ir_tensor_own(cta)->request;
    struct ir_tensor_request *other = &cta->block[!cta->own].memory->request;

    if (!other->columns)
        return !peer->relinquished || refuse_after_end(error, own->columns);
    if (other->address != NO_ADDRESS)
        return true;
    if (other->columns != own->columns)
        return ir_tensor_refuse(error, HD_TRAP, own->columns,
                                "the blocks of a pair allocate different numbers of columns");
    own->address = other->address = take(cta, own->columns);
    return true;
}

/*
 * A warp of each block asks, and who sees that both do takes columns for both. Other warps of the
 * block ask when it has its answer.
 */
static bool take_together(const struct ir_tensor_cta *cta, uint32_t columns, uint32_t *out,
                          struct ir_tensor_error *error)
{
    struct ir_tensor_request *own = &ir_tensor_own(cta)->request;

    *out = NO_ADDRESS;
    if (!own->columns)
        *own = (struct ir_tensor_request){columns, cta->warp, NO_ADDRESS};
    if (own->warp != cta->warp)
        return true;
    if (own->address == NO_ADDRESS && !answer(cta, error))
        return false;
    *out = own->address;
    if (*out != NO_ADDRESS)
        *own = (struct ir_tensor_request){0};
    return true;
}

bool ir_tensor_allocate(const struct ir_tensor_cta *cta, uint32_t columns, uint32_t *out,
                        struct ir_tensor_error *error)
{
    if (!columns_are_legal(columns))
        return ir_tensor_refuse(error, HD_TRAP, columns,
                                "columns are allocated in powers of two from 32 to 512");
    if (ir_tensor_own(cta)->relinquished)
        return refuse_after_end(error, columns);
    if (cta->nblocks > 1)
        return take_together(cta, columns, out, error);
    *out = take(cta, columns);
    return true;
}

/* Does the allocation that begins at unit `first` have that many? */
static bool is_allocation(const struct ir_tensor_memory *memory, unsigned first, unsigned units)
{
    uint32_t mask = units_mask(first, units), next = 1u << (first + units);

    return (memory->allocated & mask) == mask && (memory->first & mask) == 1u << first &&
           (!(memory->allocated & next) || memory->first & next);
}

bool ir_tensor_deallocate(const struct ir_tensor_cta *cta, uint32_t address, uint32_t columns,
                          struct ir_tensor_error *error)
{
    struct ir_tensor_memory *memory = ir_tensor_own(cta);
    unsigned first = address / IR_TENSOR_UNIT, units = columns / IR_TENSOR_UNIT;
    uint32_t mask = units_mask(first % 32, units);

    if (!columns_are_legal(columns) || address % IR_TENSOR_UNIT || first + units > UNITS ||
        !is_allocation(memory, first, units))
        return ir_tensor_refuse(error, HD_ILLEGAL_ADDRESS, address,
                                "these columns were not allocated together");
    memory->allocated &= ~mask;
    memory->first &= ~mask;
    return true;
}
