/*
 * Groups of lanes: branches part them, convergence barriers and WARPSYNC bring them together.
 *
 * A lane has its own view of each convergence barrier: the lanes that executed BSSY with it. So two
 * parts of a warp may be in the same code at once, each with its own meeting.
 */
#include "sim/sim_private.h"

struct sim_group *sim_group_split(struct sim_warp *w, uint32_t g, uint32_t lanes)
{
    struct sim_group *from = &w->groups[g], *to = &w->groups[w->ngroups++];

    assert(w->ngroups <= SIM_LANES && lanes && !(lanes & ~from->mask) && lanes != from->mask);
    *to = *from;
    to->mask = lanes;
    from->mask &= ~lanes;
    return to;
}

void sim_group_remove(struct sim_warp *w, uint32_t g)
{
    w->ngroups--;
    if (w->current == g)
        w->current = 0;
    else if (w->current == w->ngroups)
        w->current = g;
    w->groups[g] = w->groups[w->ngroups];
}

void sim_group_release(struct sim_group *g)
{
    g->wait = SIM_RUNS;
    g->pc++;
}

enum sim_step sim_group_wait(struct sim_warp *w, enum sim_wait wait, uint32_t arg)
{
    sim_group_of(w)->wait = (uint8_t)wait;
    sim_group_of(w)->arg = arg;
    return SIM_STOP;
}

/* Lanes of the current group wait; the others go on. */
enum sim_step sim_lanes_wait(struct sim_warp *w, uint32_t lanes, enum sim_wait wait, uint32_t arg)
{
    struct sim_group *g;

    if (lanes == sim_group_of(w)->mask)
        return sim_group_wait(w, wait, arg);
    g = sim_group_split(w, w->current, lanes);
    g->wait = (uint8_t)wait;
    g->arg = arg;
    return SIM_NEXT;
}

/* ---- meetings */

static uint32_t lanes_waiting(const struct sim_warp *w, enum sim_wait wait, uint32_t arg)
{
    uint32_t lanes = 0;

    for (uint32_t g = 0; g < w->ngroups; g++)
        if (w->groups[g].wait == wait && w->groups[g].arg == arg)
            lanes |= w->groups[g].mask;
    return lanes;
}

/* Whom a waiting group waits for; itself in any case. */
static uint32_t group_members(const struct sim_warp *w, const struct sim_group *g)
{
    uint32_t members = g->mask;

    if (g->wait == SIM_AT_WARPSYNC)
        members |= g->arg;
    else
        SIM_FOR_LANES(lane, g->mask) members |= w->barriers[g->arg][lane];
    return members & w->live;
}

/* Those of the members that wait at the same place become one group, which runs. */
static void members_go_on(struct sim_warp *w, uint32_t first, uint32_t members)
{
    const struct sim_group was = w->groups[first];

    for (uint32_t g = w->ngroups; g-- > 0;) {
        struct sim_group *other = &w->groups[g];

        if (g == first || other->wait != was.wait || other->arg != was.arg ||
            !(other->mask & members))
            continue;
        if (other->pc != was.pc) {
            sim_group_release(other);
            continue;
        }
        w->groups[first].mask |= other->mask;
        w->groups[first].cycle = HD_MAX(w->groups[first].cycle, other->cycle);
        if (w->current == g)
            w->current = first;
        /* The last group takes this one's place: it may be the one that the others join. */
        if (first == w->ngroups - 1) {
            sim_group_remove(w, g);
            w->current = w->current == first ? g : w->current;
            first = g;
        } else {
            sim_group_remove(w, g);
        }
    }
    sim_group_release(&w->groups[first]);
    w->current = first;
    w->run->effects++;
}

void sim_lanes_let_go(struct sim_warp *w, uint32_t barrier, uint32_t lanes)
{
    SIM_FOR_LANES(lane, lanes) w->barriers[barrier][lane] = 0;
}

static bool settle_one(struct sim_warp *w)
{
    for (uint32_t i = 0; i < w->ngroups; i++) {
        const struct sim_group *g = &w->groups[i];
        uint32_t members;

        if (g->wait != SIM_AT_BSYNC && g->wait != SIM_AT_WARPSYNC)
            continue;
        members = group_members(w, g);
        if (members & ~lanes_waiting(w, (enum sim_wait)g->wait, g->arg))
            continue;
        if (g->wait == SIM_AT_BSYNC)
            sim_lanes_let_go(w, g->arg, members);
        members_go_on(w, i, members);
        return true;
    }
    return false;
}

void sim_groups_settle(struct sim_warp *w)
{
    while (settle_one(w))
        ;
}
