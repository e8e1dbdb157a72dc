/*
 * Words: each is one instruction or none. Random words that are made to be nearly right (with bits
 * that the instruction uses), and words of nothing but chance: what is decoded encodes to the same
 * word, and its text reads back as it. HEDDLE_ISA_WORDS sets how many.
 */
#include "isa/isa.h"

#include "support/tap.h"

static uint64_t state;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static struct isa_word random_word(void)
{
    struct isa_word word = {next_random(), next_random()};
    const struct isa_row *row = isa_row((enum isa_op)(next_random() % ISA_OPS));
    unsigned form = (unsigned)(next_random() % ISA_FORMS);

    if (next_random() % 16 == 0)
        return word;
    if (!row->used[form].lo)
        form = 0;
    word.lo &= row->used[form].lo & ~UINT64_C(0xfff);
    word.hi &= row->used[form].hi;
    word.lo |= row->opcode | (uint64_t)form << 9;
    if (next_random() %
        2) { /* no counters, no reuse, tuples of registers that begin where they may */
        word.hi = (word.hi & ~(UINT64_C(0x3ffff) << 46)) | UINT64_C(077) << 46;
        word.lo &= ~(UINT64_C(3) << 16 | UINT64_C(3) << 24 | UINT64_C(3) << 32);
        word.hi &= ~UINT64_C(3);
    }
    return word;
}

static bool same(struct isa_word a, struct isa_word b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* The instruction in text and back. */
static bool text_is_same(const struct isa_insn *insn, struct isa_word word, struct hd_buf *text)
{
    struct isa_insn read;
    struct isa_word back;
    size_t at;
    const char *why;

    hd_buf_clear(text);
    isa_print_control(&insn->control, text);
    hd_buf_putc(text, ' ');
    isa_print(insn, 0x100000000000, text);
    why = isa_parse(text->ptr, 0x100000000000, NULL, NULL, &read, &at);
    if (why || isa_encode(&read, &back) || !same(word, back)) {
        diag("%016" PRIx64 "%016" PRIx64 " %s: %s at %zu", word.hi, word.lo, text->ptr,
             why ? why : "another word", at);
        return false;
    }
    return true;
}

static void test_random(uint64_t count)
{
    static uint64_t seen[ISA_OPS];
    struct hd_buf text;
    uint64_t valid = 0, wrong = 0, missing = 0;

    hd_buf_init(&text);
    for (uint64_t i = 0; i < count && wrong < 10; i++) {
        struct isa_word word = random_word(), back;
        struct isa_insn insn;

        if (isa_decode(word, &insn))
            continue;
        valid++;
        seen[insn.op]++;
        if (isa_encode(&insn, &back) || !same(word, back)) {
            wrong++;
            diag("%016" PRIx64 "%016" PRIx64 " encodes as another word", word.hi, word.lo);
        } else if (!text_is_same(&insn, word, &text)) {
            wrong++;
        }
    }
    for (unsigned op = 0; op < ISA_OPS; op++)
        if (!seen[op]) {
            missing++;
            diag("no word of %s was made", isa_row(op)->name);
        }
    eq_u64(wrong, 0, "%" PRIu64 " valid words of %" PRIu64 " encode and read back as they are",
           valid, count);
    eq_u64(missing, 0, "there was one of each instruction");
    hd_buf_fini(&text);
}

/* A bit more than an instruction uses, at every place of every form: no instruction. */
static void test_spare_bits(void)
{
    uint64_t wrong = 0;

    for (unsigned op = 0; op < ISA_OPS; op++) {
        struct isa_insn insn = isa_insn_of((enum isa_op)op), ignored;
        const struct isa_row *row = isa_row((enum isa_op)op);
        struct isa_word word;

        if (isa_encode(&insn, &word)) {
            diag("%s without operands: %s", row->name, isa_encode(&insn, &word));
            wrong++;
            continue;
        }
        for (unsigned bit = 0; bit < 128; bit++) {
            struct isa_word more = word;
            uint64_t *half = bit < 64 ? &more.lo : &more.hi;
            uint64_t used = bit < 64 ? row->used[0].lo : row->used[0].hi;

            if (used >> bit % 64 & 1)
                continue;
            *half |= UINT64_C(1) << bit % 64;
            if (!isa_decode(more, &ignored))
                wrong++;
        }
    }
    eq_u64(wrong, 0, "no word with a spare bit is an instruction");
}

int main(void)
{
    const char *count = getenv("HEDDLE_ISA_WORDS");

    state = tap_seed() | 1;
    test_spare_bits();
    test_random(count ? strtoull(count, NULL, 0) : 300000);
    return done();
}
