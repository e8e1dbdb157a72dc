/* Line tables from .loc, and how frames unwind. */
#include "dbg/dwarf.h"

#include <assert.h>

enum {
    LNS_COPY = 1,
    LNS_ADVANCE_PC,
    LNS_ADVANCE_LINE,
    LNS_SET_FILE,
    LNS_SET_COLUMN,
    LNE_END_SEQUENCE = 1,
    LNE_SET_ADDRESS = 2,
};

struct row {
    uint64_t pc;
    uint32_t file, line, col;
};

bool dbg_unit_has_lines(const struct dbg_unit *unit)
{
    for (uint32_t i = 0; i < unit->ninsns; i++)
        if (unit->insns[i].ptx->stmt.loc)
            return true;
    return false;
}

static const struct ptx_file *file_of(const struct dbg_unit *unit, uint32_t idx)
{
    for (const struct ptx_file *f = unit->ptx->files; f; f = f->next)
        if (f->idx == idx)
            return f;
    return NULL;
}

/* File numbers of a table are dense: those that the PTX leaves out have no name to find. */
static void put_files(const struct dbg_unit *unit, const char *source, struct hd_buf *out)
{
    uint32_t last = 0;

    for (const struct ptx_file *f = unit->ptx->files; f; f = f->next)
        last = HD_MAX(last, f->idx);
    if (!dbg_unit_has_lines(unit))
        last = 0;
    for (uint32_t i = 1; i <= last && i < 100000; i++) {
        const struct ptx_file *f = file_of(unit, i);
        hd_buf_append(out, f ? f->path.ptr : "?", f ? f->path.len : 1);
        dbg_put(out, 0, 4); /* the end; folder, time, size: not known */
    }
    if (!last) {
        dbg_put_str(out, source);
        dbg_put(out, 0, 3);
    }
    dbg_put(out, 0, 1);
}

static void put_header(const struct dbg_unit *unit, const char *source, struct hd_buf *out)
{
    static const char lengths[] = {0, 1, 1, 1, 1, 0, 0, 0, 1};
    size_t header;

    dbg_put(out, 0, 4); /* the length: later */
    dbg_put(out, 4, 2);
    header = out->len;
    dbg_put(out, 0, 4);
    dbg_put(out, 1, 1); /* bytes of an instruction */
    dbg_put(out, 1, 1); /* operations of one */
    dbg_put(out, 1, 1); /* each row is a statement */
    dbg_put(out, (uint8_t)-5, 1);
    dbg_put(out, 14, 1);
    dbg_put(out, 10, 1); /* first special operation: none is used */
    hd_buf_append(out, lengths, sizeof(lengths));
    dbg_put(out, 0, 1); /* no folders */
    put_files(unit, source, out);
    dbg_patch(out, header, out->len - header - 4, 4);
}

static void put_row(struct hd_buf *out, struct row *at, struct row to)
{
    assert(to.pc >= at->pc);
    if (to.pc != at->pc) {
        dbg_put(out, LNS_ADVANCE_PC, 1);
        dbg_put_uleb(out, to.pc - at->pc);
    }
    if (to.file != at->file) {
        dbg_put(out, LNS_SET_FILE, 1);
        dbg_put_uleb(out, to.file);
    }
    if (to.line != at->line) {
        dbg_put(out, LNS_ADVANCE_LINE, 1);
        dbg_put_sleb(out, (int64_t)to.line - at->line);
    }
    dbg_put(out, LNS_SET_COLUMN, 1);
    dbg_put_uleb(out, to.col);
    dbg_put(out, LNS_COPY, 1);
    *at = to;
}

/* What .loc says of an instruction, or its own place; line 0: nothing. */
static struct row row_of(const struct dbg_unit *unit, uint32_t index, bool has_lines)
{
    const struct ptx_stmt *s = &unit->insns[index].ptx->stmt;
    struct row row = {.pc = dbg_unit_pc(unit, index)};

    if (!has_lines) {
        row.file = 1;
        row.line = s->srcloc.line;
    } else if (s->loc) {
        row.file = s->loc->file;
        row.line = s->loc->line;
        row.col = s->loc->col;
    }
    return row;
}

static void put_func(const struct dbg_unit *unit, const struct dbg_func *f, bool has_lines,
                     struct hd_buf *out)
{
    struct row at = {.pc = dbg_unit_pc(unit, f->first), .file = 1, .line = 1};
    uint64_t end = dbg_unit_pc(unit, f->first + f->count);
    const struct ptx_loc *loc = NULL;

    dbg_put(out, 0, 1);
    dbg_put_uleb(out, 9);
    dbg_put(out, LNE_SET_ADDRESS, 1);
    dbg_put(out, at.pc, 8);
    for (uint32_t i = f->first; i < f->first + f->count; i++) {
        struct row row = row_of(unit, i, has_lines);
        if (!row.line || (has_lines && unit->insns[i].ptx->stmt.loc == loc))
            continue;
        loc = unit->insns[i].ptx->stmt.loc;
        put_row(out, &at, row);
    }
    dbg_put(out, LNS_ADVANCE_PC, 1);
    dbg_put_uleb(out, end - at.pc);
    dbg_put(out, 0, 1);
    dbg_put_uleb(out, 1);
    dbg_put(out, LNE_END_SEQUENCE, 1);
}

void dbg_dwarf_lines(const struct dbg_unit *unit, const char *source, struct dbg_dwarf *out)
{
    bool has_lines = dbg_unit_has_lines(unit);

    put_header(unit, source, &out->line);
    for (uint32_t i = 0; i < unit->nfuncs; i++)
        if (unit->funcs[i].count)
            put_func(unit, &unit->funcs[i], has_lines, &out->line);
    dbg_patch(&out->line, 0, out->line.len - 4, 4);
}

/* ---- frames (layout.h) */

enum {
    CFA_DEF_CFA = 0x0c,
    CFA_OFFSET = 0x80,
    CFA_UNDEFINED = 0x07,
    REG_RSP = 7,
    REG_RIP = 16,
};

static void entry_end(struct hd_buf *out, size_t start)
{
    while ((out->len - start) % 8)
        hd_buf_putc(out, 0);
    dbg_patch(out, start, out->len - start - 4, 4);
}

static void put_cie(struct hd_buf *out)
{
    dbg_put(out, 0, 4);
    dbg_put(out, UINT32_MAX, 4);
    dbg_put(out, 1, 1);
    dbg_put(out, 0, 1);
    dbg_put_uleb(out, 1);
    dbg_put_sleb(out, -8);
    dbg_put(out, REG_RIP, 1);
    dbg_put(out, CFA_DEF_CFA, 1);
    dbg_put_uleb(out, REG_RSP);
    dbg_put_uleb(out, DBG_FRAME_B);
    dbg_put(out, CFA_OFFSET | REG_RIP, 1);
    dbg_put_uleb(out, 1); /* 8 bytes below the CFA */
    entry_end(out, 0);
}

void dbg_dwarf_frames(const struct dbg_unit *unit, struct dbg_dwarf *out)
{
    struct hd_buf *frame = &out->frame;

    put_cie(frame);
    for (uint32_t i = 0; i < unit->nfuncs; i++) {
        const struct dbg_func *f = &unit->funcs[i];
        size_t start = frame->len;
        dbg_put(frame, 0, 4);
        dbg_put(frame, 0, 4);
        dbg_put(frame, dbg_unit_pc(unit, f->first), 8);
        dbg_put(frame, (uint64_t)f->count * DBG_INSN_B, 8);
        if (f->ptx->is_entry) { /* nobody called it */
            dbg_put(frame, CFA_UNDEFINED, 1);
            dbg_put_uleb(frame, REG_RIP);
        }
        entry_end(frame, start);
    }
}
