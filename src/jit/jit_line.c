/*
 * Line tables of objects: which instruction of the IR a byte of code comes from.
 *
 * The code generator gives each LLVM instruction the number of its IR instruction as source line
 * (gen_srcloc.c); LLVM turns that into the line number program of DWARF (versions 2 to 5), which is
 * run here. Only addresses and lines matter; files, columns and the rest are skipped.
 *
 * Objects are made by our own LLVM, yet every offset is checked.
 */
#include "jit/jit_private.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

enum standard_opcode {
    LNS_EXTENDED,
    LNS_COPY,
    LNS_ADVANCE_PC,
    LNS_ADVANCE_LINE,
    LNS_CONST_ADD_PC = 8,
    LNS_FIXED_ADVANCE_PC = 9
};
enum extended_opcode { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS = 2 };

struct reader {
    const uint8_t *at, *end;
    bool bad; /* ran past the end: everything read since is 0 */
};

static uint64_t read_fixed(struct reader *r, unsigned size_B)
{
    uint64_t v = 0;

    if (r->bad || (size_t)(r->end - r->at) < size_B) {
        r->bad = true;
        return 0;
    }
    memcpy(&v, r->at, size_B);
    r->at += size_B;
    return v;
}

static uint64_t read_leb(struct reader *r, bool is_signed)
{
    uint64_t v = 0, byte;
    unsigned shift = 0;

    do {
        byte = read_fixed(r, 1);
        if (shift < 64)
            v |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && shift < 64 && byte & 0x40)
        v |= ~(uint64_t)0 << shift;
    return v;
}

static void skip(struct reader *r, uint64_t size_B)
{
    if (r->bad || (uint64_t)(r->end - r->at) < size_B)
        r->bad = true;
    else
        r->at += size_B;
}

/* The machine of the line number program. */
struct machine {
    struct reader in;
    uint8_t opcode_base, line_range, min_B;
    int8_t line_base;
    const uint8_t *operands; /* by standard opcode, from 1 on */
    uint64_t address, line;
    struct jit_lines *out;
    bool no_memory;
};

static void emit(struct machine *m, uint64_t line)
{
    const struct jit_line entry = {(uint32_t)m->address, (uint32_t)line};

    if (!hd_vec_push(&m->out->rows, entry))
        m->no_memory = true;
}

static void advance(struct machine *m, uint64_t by)
{
    m->address += by * m->min_B;
}

static void run_extended(struct machine *m)
{
    uint64_t len = read_leb(&m->in, false);
    struct reader body = m->in;

    skip(&m->in, len);
    if (m->in.bad || !len)
        return;
    body.end = m->in.at;
    switch (read_fixed(&body, 1)) {
    case LNE_END_SEQUENCE:
        emit(m, 0);
        m->address = 0;
        m->line = 1;
        return;
    case LNE_SET_ADDRESS:
        m->address = read_fixed(&body, 8);
        return;
    default:
        return;
    }
}

static void run_standard(struct machine *m, uint8_t opcode)
{
    switch (opcode) {
    case LNS_COPY:
        emit(m, m->line);
        return;
    case LNS_ADVANCE_PC:
        advance(m, read_leb(&m->in, false));
        return;
    case LNS_ADVANCE_LINE:
        m->line += read_leb(&m->in, true);
        return;
    case LNS_CONST_ADD_PC:
        advance(m, (255u - m->opcode_base) / m->line_range);
        return;
    case LNS_FIXED_ADVANCE_PC:
        m->address += read_fixed(&m->in, 2);
        return;
    default: /* whatever it is, it has that many operands */
        for (unsigned i = m->operands[opcode - 1]; i && !m->in.bad; i--)
            (void)read_leb(&m->in, false);
        return;
    }
}

static void run(struct machine *m)
{
    while (m->in.at < m->in.end && !m->in.bad && !m->no_memory) {
        uint8_t opcode = (uint8_t)read_fixed(&m->in, 1);

        if (opcode >= m->opcode_base) {
            unsigned adjusted = opcode - m->opcode_base;

            advance(m, adjusted / m->line_range);
            m->line += (uint64_t)(int64_t)(m->line_base + (int)(adjusted % m->line_range));
            emit(m, m->line);
        } else if (opcode == LNS_EXTENDED) {
            run_extended(m);
        } else {
            run_standard(m, opcode);
        }
    }
}

/* One unit; the reader is left behind it. */
static bool read_unit(struct reader *r, struct machine *m)
{
    uint64_t unit_B = read_fixed(r, 4), header_B;
    struct reader header = *r;

    skip(r, unit_B);
    if (r->bad || unit_B >= 0xfffffff0u)
        return false;
    header.end = r->at;
    uint64_t version = read_fixed(&header, 2);
    if (version < 2 || version > 5)
        return false;
    if (version >= 5)
        skip(&header, 2); /* sizes of addresses and segments */
    header_B = read_fixed(&header, 4);
    m->in = header;
    skip(&m->in, header_B);
    m->min_B = (uint8_t)read_fixed(&header, 1);
    skip(&header, version >= 4 ? 2 : 1); /* operations per instruction, is_stmt */
    m->line_base = (int8_t)read_fixed(&header, 1);
    m->line_range = (uint8_t)read_fixed(&header, 1);
    m->opcode_base = (uint8_t)read_fixed(&header, 1);
    m->operands = header.at;
    skip(&header, m->opcode_base ? m->opcode_base - 1u : 0);
    m->address = 0;
    m->line = 1;
    return !header.bad && !m->in.bad && m->line_range && m->opcode_base;
}

enum hd_status jit_lines_read(const uint8_t *section, size_t size_B, struct jit_lines *out)
{
    struct reader r = {.at = section, .end = section + size_B};
    struct machine m = {.out = out};

    while (r.at < r.end) {
        if (!read_unit(&r, &m))
            return hd_error(HD_JIT, "kernel object: malformed line table");
        run(&m);
        if (m.no_memory)
            return hd_error(HD_NO_MEMORY, "line table");
        if (m.in.bad)
            return hd_error(HD_JIT, "kernel object: line table ends early");
    }
    return HD_OK;
}

/* Sequences come in any order, so all rows are looked at: this is for faults, of which a context
 * has one. */
uint32_t jit_lines_find(const struct jit_lines *lines, uint32_t offset)
{
    const struct jit_line *best = NULL;

    for (size_t i = 0; i < lines->rows.len; i++) {
        const struct jit_line *row = &lines->rows.at[i];

        /* Of several rows of one address the last one counts. */
        if (row->offset <= offset && (!best || row->offset >= best->offset))
            best = row;
    }
    return best ? best->number : 0;
}
