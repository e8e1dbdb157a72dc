/*
 * In which order the CTAs of a grid and the warps of a CTA run: one legal order out of many. CUDA
 * promises none, so every right program has the same results in all of them; a device that is given
 * one keeps to it, on one thread, so that a run can be made again.
 *
 *     struct ir_schedule s = IR_SCHEDULE_USUAL;
 *     s.units = order;                      // CTA order[0] first, then order[1] ..
 *
 * A device runs a CTA to its end before the next one begins, and a warp as far as its barriers
 * allow before the next one, unless the launch may wait for others of its CTAs: then all that are
 * resident take turns, in the order that is asked for, and none is kept from running.
 */
#ifndef HD_IR_SCHEDULE_H
#define HD_IR_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ir_schedule {
    const uint32_t *units; /* CTAs, or clusters, in the order of their start; NULL: ascending */
    const uint8_t *warps;  /* of a CTA in the order of their turns; NULL: ascending */
    uint64_t first, end;   /* the CTAs, by number, whose warps have that order */
    /*
     * Not 0: warps and a few CTAs are interleaved, by this seed: each warp has a few instructions,
     * then another one.
     */
    uint64_t turns;
    bool in_turns;        /* as the device does it without a schedule; else one after the other */
    bool is_quiet;        /* nothing is printed */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC: the run is given up then; 0: never */
};
#define IR_SCHEDULE_USUAL ((struct ir_schedule){.end = UINT64_MAX, .in_turns = true})

/* The order of the warps of a CTA; NULL: ascending. */
static inline const uint8_t *ir_schedule_warps(const struct ir_schedule *s, uint64_t cta)
{
    return s && cta >= s->first && cta < s->end ? s->warps : NULL;
}

static inline uint64_t ir_schedule_unit(const struct ir_schedule *s, uint64_t position)
{
    return s && s->units ? s->units[position] : position;
}

/* A step of a generator of numbers without any pattern that matters here (xorshift64*). */
static inline uint64_t ir_schedule_dice(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (*state * UINT64_C(0x2545f4914f6cdd1d)) >> 32;
}

#endif
