/*
 * Pure instructions: random words on random registers. The loops over lanes (kernels.c) must have
 * the reference's bits; HEDDLE_SIM_WORDS sets how many words are tried.
 */
#include "isa/isa.h"
#include "sim/sim_private.h"

#include "support/tap.h"

static uint64_t state;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Numbers that instructions treat specially come often. */
static uint32_t random_word(void)
{
    static const uint32_t special[] = {
        0,          1,          0xffffffff, 0x80000000, 0x7fffffff, 0x3f800000, 0xbf800000,
        0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x00000001, 0x807fffff, 0x00800000,
        0x7f7fffff, 0x4f000000, 0xcf000000, 0x4f800000, 0x3f000000, 0x7ff00000, 0xfff00000,
        0x7ff80000, 0x41dfffff, 0x41e00000, 0xc1e00000, 31,         32,         33,
        64,         63,         0x3c003c00, 0x7c00fc00, 0x7e000001, 0x03ff8400};
    uint64_t r = next_random();

    if (r % 4 == 0)
        return special[next_random() % HD_COUNT_OF(special)];
    if (r % 4 == 1) /* floats of moderate size */
        return (uint32_t)(next_random() & 0x807fffff) | (uint32_t)(100 + next_random() % 60) << 23;
    if (r % 16 == 2)
        return (uint32_t)next_random() & 127;
    return (uint32_t)next_random();
}

static bool random_insn(enum isa_op op, struct isa_insn *out_insn)
{
    const struct isa_row *row = isa_row(op);
    unsigned form = next_random() % 2 ? 0 : (unsigned)(next_random() % ISA_FORMS);
    struct isa_word word = {next_random(), next_random()};

    if (!row->used[form].lo)
        form = 0;
    word.lo &= row->used[form].lo & ~UINT64_C(0xffff);
    word.hi &= row->used[form].hi & ~(UINT64_C(0x1ff) << 52) & ~(UINT64_C(0x3ffff) << 46);
    word.hi |= UINT64_C(077) << 46;
    word.lo |= row->opcode | (uint64_t)form << 9 | 7 << 12;
    word.lo &= ~(UINT64_C(3) << 16 | UINT64_C(3) << 24 | UINT64_C(3) << 32);
    word.hi &= ~UINT64_C(3);
    return !isa_decode(word, out_insn);
}

static struct sim_sem sem;
static struct sim_op op;
static _Alignas(64) uint32_t sources[3][2][SIM_LANES], fast[2][SIM_LANES];

static uint64_t source(unsigned s, unsigned n, unsigned lane)
{
    return n > 1 ? sim_pair(sources[s][0], lane) : sources[s][0][lane];
}

static unsigned registers_of(const struct isa_insn *insn, enum isa_field field)
{
    const struct isa_row *row = isa_row(insn->op);

    for (unsigned i = 0; i < row->noperands; i++)
        if (row->operands[i].field == field)
            return isa_registers(insn, i);
    return 0;
}

/* False: the results differ. */
static bool compare(const struct isa_insn *insn, struct sim_run *run)
{
    struct sim_io io = {.op = &op,
                        .d = fast[0],
                        .a = sources[0][0],
                        .b = sources[1][0],
                        .c = sources[2][0],
                        .mask = UINT32_MAX,
                        .pa = (uint32_t)next_random(),
                        .pb = (uint32_t)next_random(),
                        .pc = (uint32_t)next_random()};
    unsigned na = registers_of(insn, ISA_FIELD_A), nb = registers_of(insn, ISA_FIELD_B);
    unsigned nc = registers_of(insn, ISA_FIELD_C), nd = registers_of(insn, ISA_FIELD_D);

    for (unsigned s = 0; s < 3; s++)
        for (unsigned k = 0; k < 2; k++)
            for (unsigned lane = 0; lane < SIM_LANES; lane++)
                sources[s][k][lane] = random_word();
    sim_mode(run, op.mode);
    op.rows(&io);
    sim_mode(run, 0);
    for (unsigned lane = 0; lane < SIM_LANES; lane++) {
        struct sim_lane l = {.a = source(0, na, lane),
                             .b = source(1, nb, lane),
                             .c = source(2, nc, lane),
                             .pa = io.pa >> lane & 1,
                             .pb = io.pb >> lane & 1,
                             .pc = io.pc >> lane & 1};

        sim_sem_lane(&sem, &l);
        for (unsigned k = 0; k < nd; k++) {
            uint32_t want = (uint32_t)(l.d >> 32 * k);

            if (fast[k][lane] == want)
                continue;
            diag("lane %u: a %#llx b %#llx c %#llx pa %d pb %d: word %u is %#x, want %#x", lane,
                 (unsigned long long)l.a, (unsigned long long)l.b, (unsigned long long)l.c, l.pa,
                 l.pb, k, fast[k][lane], want);
            return false;
        }
        if ((op.pd != ISA_PT && l.pd != (io.pd >> lane & 1)) ||
            (op.pe != ISA_PT && l.pe != (io.pe >> lane & 1))) {
            diag("lane %u: a %#llx b %#llx c %#llx: predicates %d %d, want %d %d", lane,
                 (unsigned long long)l.a, (unsigned long long)l.b, (unsigned long long)l.c,
                 io.pd >> lane & 1, io.pe >> lane & 1, l.pd, l.pe);
            return false;
        }
    }
    return true;
}

static uint8_t predicate(const struct isa_insn *insn, enum isa_field field)
{
    return (uint8_t)sim_field(insn, field, ISA_PT);
}

int main(void)
{
    const char *words = getenv("HEDDLE_SIM_WORDS");
    unsigned long each = words ? strtoul(words, NULL, 10) : 60;
    struct sim_run run = {0};
    unsigned with_loop = 0;

    state = tap_seed() * 2654435761u + 1;
    for (unsigned i = 0; i < ISA_OPS; i++) {
        struct isa_insn insn = isa_insn_of((enum isa_op)i);
        unsigned tried = 0, right = 0;

        if (!sim_sem_of(&insn, &sem) || isa_row(insn.op)->pipe == ISA_PIPE_UNIFORM)
            continue;
        for (unsigned long n = 0; n < each; n++) {
            if (!random_insn((enum isa_op)i, &insn) || !sim_sem_of(&insn, &sem))
                continue;
            op = (struct sim_op){.insn = &insn,
                                 .sem = &sem,
                                 .pd = predicate(&insn, ISA_FIELD_PD),
                                 .pe = predicate(&insn, ISA_FIELD_PE)};
            op.rows = sim_rows_of(&insn, &op);
            if (!op.rows)
                continue;
            tried++;
            if (compare(&insn, &run)) {
                right++;
            } else {
                struct hd_buf text;

                hd_buf_init(&text);
                isa_print(&insn, 0, &text);
                diag("%s", text.ptr);
                hd_buf_fini(&text);
            }
        }
        if (!tried)
            continue;
        with_loop++;
        eq_u64(right, tried, "%s: loop and reference agree", isa_row((enum isa_op)i)->name);
    }
    if (!with_loop)
        skip("no loops for this host");
    return done();
}
