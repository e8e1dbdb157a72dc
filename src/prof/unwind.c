/* See unwind.h. */
#include "prof/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/compiler.h"

/* It reads stacks and tables as they are. */
#define READS_ANYTHING __attribute__((no_sanitize("address", "thread", "undefined")))

enum rule_how {
    SAME,      /* the caller's is in the register */
    UNDEFINED, /* nobody knows it; of the return address: there is no caller */
    AT_CFA,    /* in memory at CFA + value */
    IS_CFA,    /* CFA + value */
    IN_REG,    /* in another register; of the CFA: register + value */
    AT_EXPR,   /* in memory at what the expression computes */
    IS_EXPR,   /* what the expression computes */
};

enum { PAGE_B = 4096, NO_PAGE = 1, EXPR_STACK = 16, FRAME_MAX_B = 64 << 20 };

/* ---- memory */

READS_ANYTHING static uintptr_t unwind_word_at(uintptr_t at)
{
    uintptr_t word;

    __builtin_memcpy(&word, (const void *)at, sizeof(word));
    return word;
}

/* The kernel reads a set of signals there, and then refuses what it should do with it. */
static bool unwind_page_is_readable(uintptr_t at)
{
    int error = errno;
    bool can = syscall(SYS_rt_sigprocmask, ~0, at & ~(uintptr_t)7, NULL, 8) != 0 && errno != EFAULT;

    errno = error;
    return can;
}

static bool unwind_can_read(struct prof_unwind *u, uintptr_t at, size_t size_B)
{
    uintptr_t last = at + size_B - 1;

    if (last < at)
        return false;
    for (uintptr_t page = at & ~(uintptr_t)(PAGE_B - 1); page <= last; page += PAGE_B) {
        if (page == u->page)
            continue;
        if (page < PAGE_B || !unwind_page_is_readable(page))
            return false;
        u->page = page;
    }
    return true;
}

static bool unwind_read_word(struct prof_unwind *u, uintptr_t at, uintptr_t *out)
{
    if (!unwind_can_read(u, at, sizeof(*out)))
        return false;
    *out = unwind_word_at(at);
    return true;
}

/* ---- bytes of a table: behind its end come zeroes, and `bad` */

struct bytes {
    const uint8_t *at, *end;
    bool bad;
};

READS_ANYTHING static uint64_t unwind_take(struct bytes *b, size_t size_B)
{
    uint64_t value = 0;

    if ((size_t)(b->end - b->at) < size_B) {
        b->at = b->end;
        b->bad = true;
        return 0;
    }
    for (size_t i = 0; i < size_B; i++)
        value |= (uint64_t)b->at[i] << 8 * i;
    b->at += size_B;
    return value;
}

static int64_t unwind_take_signed(struct bytes *b, size_t size_B)
{
    unsigned shift = 64 - 8 * (unsigned)size_B;

    return (int64_t)(unwind_take(b, size_B) << shift) >> shift;
}

static uint64_t unwind_take_uleb(struct bytes *b)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;

    do {
        byte = unwind_take(b, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    return value;
}

static int64_t unwind_take_sleb(struct bytes *b)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;

    do {
        byte = unwind_take(b, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (byte & 0x40 && shift < 64)
        value |= ~UINT64_C(0) << shift;
    return (int64_t)value;
}

static void unwind_skip(struct bytes *b, uint64_t size_B)
{
    b->bad |= size_B > (size_t)(b->end - b->at);
    b->at = b->bad ? b->end : b->at + size_B;
}

/* LSB Core 5, 10.5.1 (DWARF Exception Header Encoding). */
enum {
    PE_FORM = 0x0f,
    PE_RELATIVE = 0x70,
    PE_PC = 0x10,
    PE_OMIT = 0xff,
};

static uint64_t unwind_take_form(struct bytes *b, unsigned encoding)
{
    switch (encoding & PE_FORM) {
    case 0x00:
    case 0x04:
    case 0x0c:
        return unwind_take(b, 8);
    case 0x01:
        return unwind_take_uleb(b);
    case 0x02:
        return unwind_take(b, 2);
    case 0x03:
        return unwind_take(b, 4);
    case 0x09:
        return (uint64_t)unwind_take_sleb(b);
    case 0x0a:
        return (uint64_t)unwind_take_signed(b, 2);
    case 0x0b:
        return (uint64_t)unwind_take_signed(b, 4);
    default:
        b->bad = true;
        return 0;
    }
}

static uint64_t unwind_take_pointer(struct bytes *b, unsigned encoding)
{
    uintptr_t here = (uintptr_t)b->at;
    uint64_t value = unwind_take_form(b, encoding);

    b->bad |= (encoding & PE_RELATIVE) != 0 && (encoding & PE_RELATIVE) != PE_PC;
    return (encoding & PE_RELATIVE) == PE_PC ? value + here : value;
}

/* ---- objects and their tables */

static void unwind_find_object(struct prof_unwind *u)
{
#if PROF_CAN_UNWIND
    struct dl_find_object found;

    u->map = NULL;
    u->tables = NULL;
    if (_dl_find_object((void *)u->pc, &found))
        return;
    u->map = found.dlfo_link_map;
    u->map_begin = (uintptr_t)found.dlfo_map_start;
    u->map_end = (uintptr_t)found.dlfo_map_end;
    u->tables = found.dlfo_eh_frame;
#else
    u->map = NULL;
    u->tables = NULL;
#endif
}

static bool unwind_in_object(const struct prof_unwind *u, uintptr_t at)
{
    return at >= u->map_begin && at < u->map_end;
}

/* An entry of .eh_frame, behind its length; false: it is none. */
static bool unwind_entry_at(const struct prof_unwind *u, uintptr_t at, struct bytes *out)
{
    if (!unwind_in_object(u, at) || u->map_end - at < 4)
        return false;
    *out = (struct bytes){(const uint8_t *)at, (const uint8_t *)u->map_end, false};
    uint64_t size_B = unwind_take(out, 4);
    if (size_B == 0xffffffff)
        size_B = unwind_take(out, 8);
    if (!size_B || size_B > (size_t)(out->end - out->at))
        return false;
    out->end = out->at + size_B;
    return true;
}

/* The entry of the function that may have the address, by the sorted table of .eh_frame_hdr. */
READS_ANYTHING static uintptr_t unwind_find_entry(const struct prof_unwind *u)
{
    enum { DATA_SDATA4 = 0x3b, UDATA4 = 0x03 };
    uintptr_t base = (uintptr_t)u->tables;
    struct bytes b = {u->tables, (const uint8_t *)u->map_end, false};

    if (!base || !unwind_in_object(u, base))
        return 0;
    unsigned version = (unsigned)unwind_take(&b, 1), frame = (unsigned)unwind_take(&b, 1);
    unsigned count = (unsigned)unwind_take(&b, 1), table = (unsigned)unwind_take(&b, 1);
    if (version != 1 || count != UDATA4 || table != DATA_SDATA4)
        return 0;
    if (frame != PE_OMIT)
        (void)unwind_take_form(&b, frame);
    size_t low = 0, high = (size_t)unwind_take(&b, 4);
    const uint8_t *rows = b.at;
    if (b.bad || high > (size_t)(b.end - b.at) / 8)
        return 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int32_t start;
        __builtin_memcpy(&start, rows + middle * 8, sizeof(start));
        if (base + (uintptr_t)(intptr_t)start <= u->pc)
            low = middle + 1;
        else
            high = middle;
    }
    int32_t entry;
    if (!low)
        return 0;
    __builtin_memcpy(&entry, rows + (low - 1) * 8 + 4, sizeof(entry));
    return base + (uintptr_t)(intptr_t)entry;
}

/* A function's table with the common part that it names. */
struct table {
    struct bytes common, own; /* programs */
    uint64_t start;
    uint64_t code_align;
    int64_t data_align;
    unsigned ra; /* its register */
    unsigned encoding;
    bool has_size; /* of what an augmentation adds */
    bool is_signal;
};

static bool unwind_read_common(const struct prof_unwind *u, uintptr_t at, struct table *out)
{
    struct bytes b;
    char augmentation[8];
    size_t n = 0;

    if (!unwind_entry_at(u, at, &b) || unwind_take(&b, 4) != 0)
        return false;
    unsigned version = (unsigned)unwind_take(&b, 1);
    do
        augmentation[n] = (char)unwind_take(&b, 1);
    while (augmentation[n] && ++n < sizeof(augmentation));
    if (n == sizeof(augmentation) || (version != 1 && version != 3))
        return false;
    out->code_align = unwind_take_uleb(&b);
    out->data_align = unwind_take_sleb(&b);
    out->ra = (unsigned)(version == 1 ? unwind_take(&b, 1) : unwind_take_uleb(&b));
    out->has_size = augmentation[0] == 'z';
    if (n && !out->has_size)
        return false;
    uint64_t size_B = out->has_size ? unwind_take_uleb(&b) : 0;
    struct bytes data = b;
    unwind_skip(&b, size_B);
    for (size_t i = 1; i < n; i++)
        switch (augmentation[i]) {
        case 'R':
            out->encoding = (unsigned)unwind_take(&data, 1);
            break;
        case 'P': {
            unsigned encoding = (unsigned)unwind_take(&data, 1);
            (void)unwind_take_form(&data, encoding);
            break;
        }
        case 'L':
            (void)unwind_take(&data, 1);
            break;
        case 'S':
            out->is_signal = true;
            break;
        case 'B': /* AArch64: return addresses are signed with the other key */
            break;
        default:
            return false;
        }
    out->common = b;
    return !b.bad && !data.bad && out->ra < PROF_REGS;
}

/* False: the address has none. */
static bool unwind_find_table(const struct prof_unwind *u, struct table *out)
{
    uintptr_t at = u->map ? unwind_find_entry(u) : 0;
    struct bytes b;

    *out = (struct table){0};
    if (!at || !unwind_entry_at(u, at, &b))
        return false;
    uintptr_t here = (uintptr_t)b.at;
    uint64_t back_B = unwind_take(&b, 4);
    if (!back_B || !unwind_read_common(u, here - back_B, out))
        return false;
    out->start = unwind_take_pointer(&b, out->encoding);
    uint64_t size_B = unwind_take_form(&b, out->encoding);
    if (out->has_size)
        unwind_skip(&b, unwind_take_uleb(&b));
    out->own = b;
    return !b.bad && u->pc - out->start < size_B;
}

/* ---- programs: DWARF 5, 6.4.2 */

static bool unwind_set_rule(struct prof_row *row, uint64_t reg, enum rule_how how, int64_t value)
{
    if (reg < PROF_REGS) /* vector registers are nobody's business */
        row->reg[reg] = (struct prof_rule){(uint8_t)how, 0, value};
    return true;
}

static bool unwind_set_expr(struct prof_row *row, uint64_t reg, enum rule_how how, struct bytes *b)
{
    const uint8_t *at = b->at; /* its length comes first */

    unwind_skip(b, unwind_take_uleb(b));
    return unwind_set_rule(row, reg, how, (int64_t)(intptr_t)at);
}

/* Up to the row of u->pc; false: it is not understood. */
static bool unwind_run(struct prof_unwind *u, const struct table *t, struct bytes b)
{
    struct prof_row *row = &u->row;
    uint64_t loc = t->start, reg;
    unsigned kept = 0;

    while (b.at < b.end && !b.bad && loc <= u->pc) {
        unsigned op = (unsigned)unwind_take(&b, 1), low = op & 0x3f;

        switch (op & 0xc0) {
        case 0x40: /* advance_loc */
            loc += low * t->code_align;
            continue;
        case 0x80: /* offset */
            (void)unwind_set_rule(row, low, AT_CFA, (int64_t)unwind_take_uleb(&b) * t->data_align);
            continue;
        case 0xc0: /* restore */
            if (low < PROF_REGS)
                row->reg[low] = u->first.reg[low];
            continue;
        default:
            break;
        }
        switch (op) {
        case 0x00: /* nop */
        case 0x2d: /* AArch64: negate_ra_state */
            break;
        case 0x01: /* set_loc */
            loc = unwind_take_pointer(&b, t->encoding);
            break;
        case 0x02: /* advance_loc1, 2, 4 */
            loc += unwind_take(&b, 1) * t->code_align;
            break;
        case 0x03:
            loc += unwind_take(&b, 2) * t->code_align;
            break;
        case 0x04:
            loc += unwind_take(&b, 4) * t->code_align;
            break;
        case 0x05: /* offset_extended */
            reg = unwind_take_uleb(&b);
            (void)unwind_set_rule(row, reg, AT_CFA, (int64_t)unwind_take_uleb(&b) * t->data_align);
            break;
        case 0x06: /* restore_extended */
            reg = unwind_take_uleb(&b);
            if (reg < PROF_REGS)
                row->reg[reg] = u->first.reg[reg];
            break;
        case 0x07: /* undefined */
            (void)unwind_set_rule(row, unwind_take_uleb(&b), UNDEFINED, 0);
            break;
        case 0x08: /* same_value */
            (void)unwind_set_rule(row, unwind_take_uleb(&b), SAME, 0);
            break;
        case 0x09: /* register */
            reg = unwind_take_uleb(&b);
            (void)unwind_set_rule(row, reg, IN_REG, 0);
            if (reg < PROF_REGS)
                row->reg[reg].reg = (uint16_t)unwind_take_uleb(&b);
            break;
        case 0x0a: /* remember_state */
            if (kept == PROF_UNWIND_STATES)
                return false;
            u->kept[kept++] = *row;
            break;
        case 0x0b: /* restore_state */
            if (!kept)
                return false;
            *row = u->kept[--kept];
            break;
        case 0x0c: /* def_cfa */
            reg = unwind_take_uleb(&b);
            row->cfa = (struct prof_rule){IN_REG, (uint16_t)reg, (int64_t)unwind_take_uleb(&b)};
            break;
        case 0x0d: /* def_cfa_register */
            row->cfa.reg = (uint16_t)unwind_take_uleb(&b);
            break;
        case 0x0e: /* def_cfa_offset */
            row->cfa.value = (int64_t)unwind_take_uleb(&b);
            break;
        case 0x0f: /* def_cfa_expression */
            row->cfa = (struct prof_rule){IS_EXPR, 0, (int64_t)(intptr_t)b.at};
            unwind_skip(&b, unwind_take_uleb(&b));
            break;
        case 0x10: /* expression */
            reg = unwind_take_uleb(&b);
            (void)unwind_set_expr(row, reg, AT_EXPR, &b);
            break;
        case 0x11: /* offset_extended_sf */
            reg = unwind_take_uleb(&b);
            (void)unwind_set_rule(row, reg, AT_CFA, unwind_take_sleb(&b) * t->data_align);
            break;
        case 0x12: /* def_cfa_sf */
            reg = unwind_take_uleb(&b);
            row->cfa =
                (struct prof_rule){IN_REG, (uint16_t)reg, unwind_take_sleb(&b) * t->data_align};
            break;
        case 0x13: /* def_cfa_offset_sf */
            row->cfa.value = unwind_take_sleb(&b) * t->data_align;
            break;
        case 0x14: /* val_offset */
            reg = unwind_take_uleb(&b);
            (void)unwind_set_rule(row, reg, IS_CFA, (int64_t)unwind_take_uleb(&b) * t->data_align);
            break;
        case 0x15: /* val_offset_sf */
            reg = unwind_take_uleb(&b);
            (void)unwind_set_rule(row, reg, IS_CFA, unwind_take_sleb(&b) * t->data_align);
            break;
        case 0x16: /* val_expression */
            reg = unwind_take_uleb(&b);
            (void)unwind_set_expr(row, reg, IS_EXPR, &b);
            break;
        case 0x2e: /* GNU_args_size */
            (void)unwind_take_uleb(&b);
            break;
        default:
            return false;
        }
    }
    return !b.bad;
}

/* ---- expressions: DWARF 5, 2.5; those that compilers and C libraries write here */

static bool unwind_evaluate(struct prof_unwind *u, int64_t at, uintptr_t cfa, bool has_cfa,
                            uintptr_t *out)
{
    struct bytes b = {(const uint8_t *)(intptr_t)at, (const uint8_t *)u->map_end, false};
    uint64_t stack[EXPR_STACK] = {cfa}, reg, value;
    size_t n = has_cfa;

    uint64_t size_B = unwind_take_uleb(&b);
    if (size_B > (size_t)(b.end - b.at))
        return false;
    b.end = b.at + size_B;
    while (b.at < b.end && !b.bad) {
        unsigned op = (unsigned)unwind_take(&b, 1);

        if (op >= 0x08 && op <= 0x0f) { /* const1u, 1s, 2u ... 8s */
            size_t width_B = (size_t)1 << (op - 0x08) / 2;
            value = op & 1 ? (uint64_t)unwind_take_signed(&b, width_B) : unwind_take(&b, width_B);
        } else if (op >= 0x30 && op <= 0x4f) { /* lit0 ... */
            value = op - 0x30;
        } else if ((op >= 0x70 && op <= 0x8f) || op == 0x92) { /* breg0 ..., bregx */
            reg = op == 0x92 ? unwind_take_uleb(&b) : op - 0x70;
            if (reg >= PROF_REGS)
                return false;
            value = u->reg[reg] + (uint64_t)unwind_take_sleb(&b);
        } else {
            switch (op) {
            case 0x10: /* constu, consts */
                value = unwind_take_uleb(&b);
                break;
            case 0x11:
                value = (uint64_t)unwind_take_sleb(&b);
                break;
            case 0x12: /* dup */
                if (!n)
                    return false;
                value = stack[n - 1];
                break;
            case 0x06: /* deref, neg, not, plus_uconst: of the topmost */
            case 0x1f:
            case 0x20:
            case 0x23: {
                uintptr_t word = 0;
                if (!n)
                    return false;
                value = stack[--n];
                if (op == 0x06 && !unwind_read_word(u, (uintptr_t)value, &word))
                    return false;
                value = op == 0x06   ? word
                        : op == 0x1f ? -value
                        : op == 0x20 ? ~value
                                     : value + unwind_take_uleb(&b);
                break;
            }
            default: { /* two operands */
                if (n < 2)
                    return false;
                uint64_t y = stack[--n], x = stack[--n];
                switch (op) {
                case 0x1a:
                    value = x & y;
                    break;
                case 0x1c:
                    value = x - y;
                    break;
                case 0x1e:
                    value = x * y;
                    break;
                case 0x21:
                    value = x | y;
                    break;
                case 0x22:
                    value = x + y;
                    break;
                case 0x24:
                    value = y < 64 ? x << y : 0;
                    break;
                case 0x25:
                    value = y < 64 ? x >> y : 0;
                    break;
                case 0x26:
                    value = (uint64_t)((int64_t)x >> (y < 64 ? y : 63));
                    break;
                case 0x29:
                    value = x == y;
                    break;
                case 0x2a:
                    value = (int64_t)x >= (int64_t)y;
                    break;
                case 0x2b:
                    value = (int64_t)x > (int64_t)y;
                    break;
                case 0x2c:
                    value = (int64_t)x <= (int64_t)y;
                    break;
                case 0x2d:
                    value = (int64_t)x < (int64_t)y;
                    break;
                case 0x2e:
                    value = x != y;
                    break;
                default:
                    return false;
                }
            }
            }
        }
        if (n == EXPR_STACK)
            return false;
        stack[n++] = value;
    }
    if (!n || b.bad)
        return false;
    *out = (uintptr_t)stack[n - 1];
    return true;
}

/* ---- frames */

static bool unwind_cfa_of(struct prof_unwind *u, uintptr_t *out)
{
    const struct prof_rule *rule = &u->row.cfa;

    if (rule->how == IS_EXPR)
        return unwind_evaluate(u, rule->value, 0, false, out);
    if (rule->how != IN_REG || rule->reg >= PROF_REGS)
        return false;
    *out = u->reg[rule->reg] + (uintptr_t)rule->value;
    return true;
}

/* The caller's value; what cannot be read is 0. */
static uintptr_t unwind_caller_value(struct prof_unwind *u, unsigned reg, uintptr_t cfa)
{
    const struct prof_rule *rule = &u->row.reg[reg];
    uintptr_t value = 0, at;

    switch (rule->how) {
    case SAME:
        return u->reg[reg];
    case AT_CFA:
        return unwind_read_word(u, cfa + (uintptr_t)rule->value, &value) ? value : 0;
    case IS_CFA:
        return cfa + (uintptr_t)rule->value;
    case IN_REG:
        return rule->reg < PROF_REGS ? u->reg[rule->reg] : 0;
    case AT_EXPR:
        return unwind_evaluate(u, rule->value, cfa, true, &at) && unwind_read_word(u, at, &value)
                   ? value
                   : 0;
    case IS_EXPR:
        return unwind_evaluate(u, rule->value, cfa, true, &value) ? value : 0;
    default:
        return 0;
    }
}

/* Bits of a return address's signature are none of the address. */
static uintptr_t unwind_plain_address(uintptr_t pc)
{
#if defined(__aarch64__)
    return pc & ((UINT64_C(1) << 48) - 1);
#else
    return pc;
#endif
}

static void unwind_go_to(struct prof_unwind *u, uintptr_t pc, bool is_call)
{
    /* A call that does not return may be a function's last instruction: look at the call itself. */
    u->pc = pc - is_call;
    unwind_find_object(u);
}

static enum prof_unwind_end unwind_next_by_table(struct prof_unwind *u, const struct table *t)
{
    uintptr_t values[PROF_REGS], cfa, before = u->reg[PROF_REG_SP];
    struct table from_start = *t;

    u->row.cfa = (struct prof_rule){SAME, 0, 0};
    for (unsigned i = 0; i < PROF_REGS; i++)
        u->row.reg[i] = (struct prof_rule){SAME, 0, 0};
    from_start.start = 0; /* the common part holds everywhere */
    if (!unwind_run(u, &from_start, t->common))
        return PROF_UNWIND_BROKEN;
    u->first = u->row;
    if (!unwind_run(u, t, t->own) || !unwind_cfa_of(u, &cfa))
        return PROF_UNWIND_BROKEN;
    if (u->row.reg[t->ra].how == UNDEFINED)
        return PROF_UNWIND_DONE;
    for (unsigned i = 0; i < PROF_REGS; i++)
        values[i] = unwind_caller_value(u, i, cfa);
    if (u->row.reg[PROF_REG_SP].how == SAME)
        values[PROF_REG_SP] = cfa;
    uintptr_t pc = unwind_plain_address(values[t->ra]);
    bool moves = values[PROF_REG_SP] > before || (values[PROF_REG_SP] == before && pc != u->pc + 1);
    if (!t->is_signal && !moves)
        return PROF_UNWIND_BROKEN;
    for (unsigned i = 0; i < PROF_REGS; i++)
        u->reg[i] = values[i];
    if (!pc)
        return PROF_UNWIND_DONE;
    unwind_go_to(u, pc, !t->is_signal);
    return PROF_UNWIND_MORE;
}

/* Without a table: a frame begins with the caller's frame pointer and the return address. */
static enum prof_unwind_end unwind_next_by_frame(struct prof_unwind *u)
{
    uintptr_t fp = u->reg[PROF_REG_FP], sp = u->reg[PROF_REG_SP], pc, next;

    if (fp % 8 || fp < sp || fp - sp > FRAME_MAX_B || !unwind_read_word(u, fp, &next) ||
        !unwind_read_word(u, fp + 8, &pc))
        return PROF_UNWIND_BROKEN;
    pc = unwind_plain_address(pc);
    if (!pc)
        return PROF_UNWIND_DONE;
    const struct link_map *from = u->map;
    u->reg[PROF_REG_FP] = next;
    u->reg[PROF_REG_SP] = fp + 16;
    unwind_go_to(u, pc, true);
    /* Only code in no object, such as a compiler's in memory, calls code in none. */
    return u->map || !from ? PROF_UNWIND_MORE : PROF_UNWIND_BROKEN;
}

enum prof_unwind_end prof_unwind_next(struct prof_unwind *u)
{
    struct table table;

    return unwind_find_table(u, &table) ? unwind_next_by_table(u, &table) : unwind_next_by_frame(u);
}

void prof_unwind_continue(struct prof_unwind *u, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    u->page = NO_PAGE;
    for (unsigned i = 0; i < PROF_REGS; i++)
        u->reg[i] = 0;
    u->reg[PROF_REG_SP] = sp;
    u->reg[PROF_REG_FP] = fp;
    unwind_go_to(u, unwind_plain_address(pc), true);
}

void prof_unwind_init(struct prof_unwind *u, const void *ucontext)
{
    const mcontext_t *m = &((const ucontext_t *)ucontext)->uc_mcontext;

    u->page = NO_PAGE;
#if defined(__x86_64__)
    static const int order[PROF_REGS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                         REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                         REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (unsigned i = 0; i < PROF_REGS; i++)
        u->reg[i] = (uintptr_t)m->gregs[order[i]];
    unwind_go_to(u, (uintptr_t)m->gregs[REG_RIP], false);
#elif defined(__aarch64__)
    for (unsigned i = 0; i < 31; i++)
        u->reg[i] = m->regs[i];
    u->reg[31] = m->sp;
    unwind_go_to(u, m->pc, false);
#endif
}
