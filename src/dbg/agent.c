/*
 * Conditions of breakpoints, which GDB compiles to agent expressions: so each lane decides for
 * itself, and only those that stop cost a conversation.
 *
 * Source: GDB manual, appendix F (The GDB Agent Expression Mechanism): a stack machine, operands in
 * the code highest byte first.
 */
#include "dbg/private.h"

#include <assert.h>

#include "base/mem.h"

enum { STACK_MAX = 64, CODE_MAX = 4096, STEPS_MAX = 10000 };

/* name, number, bytes of operands, what the stack must hold, doc */
#define OP_LIST(X)                                                                                 \
    X(ADD, 0x02, 0, 2)                                                                             \
    X(SUB, 0x03, 0, 2)                                                                             \
    X(MUL, 0x04, 0, 2)                                                                             \
    X(DIV_SIGNED, 0x05, 0, 2)                                                                      \
    X(DIV_UNSIGNED, 0x06, 0, 2)                                                                    \
    X(REM_SIGNED, 0x07, 0, 2)                                                                      \
    X(REM_UNSIGNED, 0x08, 0, 2)                                                                    \
    X(LSH, 0x09, 0, 2)                                                                             \
    X(RSH_SIGNED, 0x0a, 0, 2)                                                                      \
    X(RSH_UNSIGNED, 0x0b, 0, 2)                                                                    \
    X(LOG_NOT, 0x0e, 0, 1)                                                                         \
    X(BIT_AND, 0x0f, 0, 2)                                                                         \
    X(BIT_OR, 0x10, 0, 2)                                                                          \
    X(BIT_XOR, 0x11, 0, 2)                                                                         \
    X(BIT_NOT, 0x12, 0, 1)                                                                         \
    X(EQUAL, 0x13, 0, 2)                                                                           \
    X(LESS_SIGNED, 0x14, 0, 2)                                                                     \
    X(LESS_UNSIGNED, 0x15, 0, 2)                                                                   \
    X(EXT, 0x16, 1, 1)                                                                             \
    X(REF8, 0x17, 0, 1)                                                                            \
    X(REF16, 0x18, 0, 1)                                                                           \
    X(REF32, 0x19, 0, 1)                                                                           \
    X(REF64, 0x1a, 0, 1)                                                                           \
    X(IF_GOTO, 0x20, 2, 1)                                                                         \
    X(GOTO, 0x21, 2, 0)                                                                            \
    X(CONST8, 0x22, 1, 0)                                                                          \
    X(CONST16, 0x23, 2, 0)                                                                         \
    X(CONST32, 0x24, 4, 0)                                                                         \
    X(CONST64, 0x25, 8, 0)                                                                         \
    X(REG, 0x26, 2, 0)                                                                             \
    X(END, 0x27, 0, 0)                                                                             \
    X(DUP, 0x28, 0, 1)                                                                             \
    X(POP, 0x29, 0, 1)                                                                             \
    X(ZERO_EXT, 0x2a, 1, 1)                                                                        \
    X(SWAP, 0x2b, 0, 2)                                                                            \
    X(PICK, 0x32, 1, 0)                                                                            \
    X(ROT, 0x33, 0, 3)

enum op {
#define X(name, number, operands_B, depth) OP_##name = (number),
    OP_LIST(X)
#undef X
};

struct machine {
    struct interp_thread *t;
    uint8_t code[CODE_MAX];
    size_t len, pc;
    uint64_t stack[STACK_MAX];
    unsigned depth;
};

static bool info_of(uint8_t op, unsigned *out_operands_B, unsigned *out_depth)
{
    switch (op) {
#define X(name, number, operands_B, depth)                                                         \
    case OP_##name:                                                                                \
        *out_operands_B = (operands_B);                                                            \
        *out_depth = (depth);                                                                      \
        return true;
        OP_LIST(X)
#undef X
    default:
        return false;
    }
}

static bool ref(struct machine *m, uint64_t *top, unsigned size_B)
{
    uint64_t value = 0;

    if (dbg_read(m->t, *top, &value, size_B) != size_B)
        return false;
    *top = value;
    return true;
}

static uint64_t sign_extend(uint64_t value, unsigned bits)
{
    return !bits || bits >= 64 ? value : (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits));
}

/* Of two operands; false: a division by zero. */
static bool binary(enum op op, uint64_t a, uint64_t b, uint64_t *out)
{
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    bool divides = op >= OP_DIV_SIGNED && op <= OP_REM_UNSIGNED;

    if (divides && (!b || (sa == INT64_MIN && sb == -1)))
        return false;
    switch (op) {
    case OP_ADD:
        *out = a + b;
        break;
    case OP_SUB:
        *out = a - b;
        break;
    case OP_MUL:
        *out = a * b;
        break;
    case OP_DIV_SIGNED:
        *out = (uint64_t)(sa / sb);
        break;
    case OP_DIV_UNSIGNED:
        *out = a / b;
        break;
    case OP_REM_SIGNED:
        *out = (uint64_t)(sa % sb);
        break;
    case OP_REM_UNSIGNED:
        *out = a % b;
        break;
    case OP_LSH:
        *out = b < 64 ? a << b : 0;
        break;
    case OP_RSH_SIGNED:
        *out = (uint64_t)(sa >> HD_MIN(b, 63u));
        break;
    case OP_RSH_UNSIGNED:
        *out = b < 64 ? a >> b : 0;
        break;
    case OP_BIT_AND:
        *out = a & b;
        break;
    case OP_BIT_OR:
        *out = a | b;
        break;
    case OP_BIT_XOR:
        *out = a ^ b;
        break;
    case OP_EQUAL:
        *out = a == b;
        break;
    case OP_LESS_SIGNED:
        *out = sa < sb;
        break;
    default:
        assert(op == OP_LESS_UNSIGNED);
        *out = a < b;
        break;
    }
    return true;
}

static bool push(struct machine *m, uint64_t value)
{
    assert(m->depth <= STACK_MAX);
    if (m->depth == STACK_MAX)
        return false;
    m->stack[m->depth++] = value;
    return true;
}

/* One that changes the topmost value, moves values, or brings one. */
static bool other(struct machine *m, enum op op, uint64_t operand)
{
    uint64_t *top = m->depth ? &m->stack[m->depth - 1] : NULL, value;

    switch (op) {
    case OP_LOG_NOT:
        *top = !*top;
        return true;
    case OP_BIT_NOT:
        *top = ~*top;
        return true;
    case OP_EXT:
        *top = sign_extend(*top, (unsigned)operand);
        return true;
    case OP_ZERO_EXT:
        *top &= operand < 64 ? ((uint64_t)1 << operand) - 1 : UINT64_MAX;
        return true;
    case OP_REF8:
    case OP_REF16:
    case OP_REF32:
    case OP_REF64:
        return ref(m, top, 1u << (op - OP_REF8));
    case OP_REG:
        return dbg_reg_get(m->t, (unsigned)operand, &value) && push(m, value);
    case OP_DUP:
        return push(m, *top);
    case OP_POP:
        m->depth--;
        return true;
    case OP_SWAP:
        value = top[0];
        top[0] = top[-1];
        top[-1] = value;
        return true;
    case OP_PICK:
        return operand < m->depth && push(m, m->stack[m->depth - 1 - operand]);
    case OP_ROT:
        value = top[0];
        top[0] = top[-1];
        top[-1] = top[-2];
        top[-2] = value;
        return true;
    default:
        assert(op >= OP_CONST8 && op <= OP_CONST64);
        return push(m, operand);
    }
}

/* One operation; false: the expression cannot be computed. */
static bool step(struct machine *m)
{
    assert(m->pc < m->len && m->len <= CODE_MAX);
    uint8_t op = m->code[m->pc++];
    unsigned operands_B, depth;
    uint64_t operand = 0;

    if (!info_of(op, &operands_B, &depth) || m->depth < depth || m->len - m->pc < operands_B)
        return false;
    for (unsigned i = 0; i < operands_B; i++)
        operand = operand << 8 | m->code[m->pc++];
    if (op == OP_GOTO || op == OP_IF_GOTO) {
        if (op == OP_GOTO || m->stack[--m->depth])
            m->pc = operand;
        return true;
    }
    if (depth != 2 || op == OP_SWAP)
        return other(m, (enum op)op, operand);
    m->depth--;
    return binary((enum op)op, m->stack[m->depth - 1], m->stack[m->depth], &m->stack[m->depth - 1]);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool dbg_condition(struct interp_thread *t, const char *hex)
{
    struct machine m = {.t = t};

    for (; digit(hex[0]) >= 0 && digit(hex[1]) >= 0 && m.len < CODE_MAX; hex += 2)
        m.code[m.len++] = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
    for (unsigned i = 0; i < STEPS_MAX && m.pc < m.len; i++) {
        if (m.code[m.pc] == OP_END)
            return !m.depth || m.stack[m.depth - 1] != 0;
        if (!step(&m))
            return true;
    }
    return true;
}

void dbg_break_fini(struct dbg_breakpoint *b)
{
    for (size_t i = 0; i < b->conditions.len; i++)
        hd_free(b->conditions.at[i]);
    hd_vec_fini(&b->conditions);
}
