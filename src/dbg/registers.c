/*
 * Registers as GDB sees them: those of an x86-64, of which rip and rsp mean something, and what
 * names a CUDA thread. Registers of PTX are memory of the frame (layout.h), because every function
 * has its own.
 */
#include <assert.h>
#include <stdio.h>

#include "dbg/private.h"

/* name, special register */
#define REG_LIST(X)                                                                                \
    X(threadIdx_x, TID_X)                                                                          \
    X(threadIdx_y, TID_Y)                                                                          \
    X(threadIdx_z, TID_Z)                                                                          \
    X(blockIdx_x, CTAID_X)                                                                         \
    X(blockIdx_y, CTAID_Y)                                                                         \
    X(blockIdx_z, CTAID_Z)                                                                         \
    X(blockDim_x, NTID_X)                                                                          \
    X(blockDim_y, NTID_Y)                                                                          \
    X(blockDim_z, NTID_Z)                                                                          \
    X(gridDim_x, NCTAID_X)                                                                         \
    X(gridDim_y, NCTAID_Y)                                                                         \
    X(gridDim_z, NCTAID_Z)                                                                         \
    X(laneid, LANEID)                                                                              \
    X(warpid, WARPID)                                                                              \
    X(smid, SMID)

static const enum ir_sreg sregs[] = {
#define X(name, sreg) IR_SREG_##sreg,
    REG_LIST(X)
#undef X
};

enum {
    NGENERAL = 16,
    REG_RAX = 0,
    REG_RSP = 7,
    REG_RIP = 16,
    REG_EFLAGS = 17,
    NX87_B = 6 * 4 + 8 * 10 + 8 * 4, /* segments, too */
    NX87 = 6 + 8 + 8,
    NXMM = 16,
    XMM_B = 16,
    REG_FIRST_OWN = REG_EFLAGS + 1 + NX87 + NXMM + 1,
};

/*
 * What a function returned, where GDB looks for it: rax or xmm0, or, of more than 16 bytes, at the
 * address in rax. Which parts of 9 to 16 bytes go to which registers depends on their types.
 */
static bool returned_is_known(const struct interp_thread *t)
{
    uint32_t size_B;

    (void)interp_debug_returned(t, &size_B);
    return size_B <= 8 || size_B > 16;
}

static uint64_t returned_rax(const struct interp_thread *t, bool in_memory)
{
    uint32_t size_B;
    const uint8_t *bytes = interp_debug_returned(t, &size_B);
    uint64_t value = DBG_RETURNED;

    if (size_B <= 8 || !in_memory) {
        value = 0;
        memcpy(&value, bytes, HD_MIN(size_B, 8u));
    }
    return value;
}

void dbg_regs_xml(struct hd_buf *out)
{
    static const char *const general[NGENERAL] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi",
                                                  "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                                  "r12", "r13", "r14", "r15"};
    static const char *const segments[] = {"cs", "ss", "ds", "es", "fs", "gs"};
    static const char *const x87[] = {"fctrl", "fstat", "ftag",  "fiseg",
                                      "fioff", "foseg", "fooff", "fop"};

    hd_buf_puts(out, "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target>"
                     "<architecture>i386:x86-64</architecture><osabi>none</osabi>"
                     "<feature name=\"org.gnu.gdb.i386.core\">");
    for (int i = 0; i < NGENERAL; i++)
        hd_buf_printf(out, "<reg name=\"%s\" bitsize=\"64\" type=\"%s\"/>", general[i],
                      i == REG_RSP ? "data_ptr" : "int64");
    hd_buf_puts(out, "<reg name=\"rip\" bitsize=\"64\" type=\"code_ptr\"/>"
                     "<reg name=\"eflags\" bitsize=\"32\" type=\"int32\"/>");
    for (size_t i = 0; i < HD_COUNT_OF(segments); i++)
        hd_buf_printf(out, "<reg name=\"%s\" bitsize=\"32\" type=\"int32\"/>", segments[i]);
    for (int i = 0; i < 8; i++)
        hd_buf_printf(out, "<reg name=\"st%d\" bitsize=\"80\" type=\"i387_ext\"/>", i);
    for (size_t i = 0; i < HD_COUNT_OF(x87); i++)
        hd_buf_printf(out, "<reg name=\"%s\" bitsize=\"32\" type=\"int\" group=\"float\"/>",
                      x87[i]);
    hd_buf_puts(out, "</feature><feature name=\"org.gnu.gdb.i386.sse\">");
    for (int i = 0; i < NXMM; i++)
        hd_buf_printf(out, "<reg name=\"xmm%d\" bitsize=\"128\" type=\"uint128\"/>", i);
    hd_buf_puts(out, "<reg name=\"mxcsr\" bitsize=\"32\" type=\"int\"/>"
                     "</feature><feature name=\"org.heddle.cuda\">");
#define X(name, sreg)                                                                              \
    hd_buf_printf(out, "<reg name=\"%s\" bitsize=\"32\" type=\"uint32\" group=\"general\"/>",      \
                  #name);
    REG_LIST(X)
#undef X
    hd_buf_puts(out, "</feature></target>");
}

static void put_hex(struct hd_buf *out, uint64_t value, unsigned size_B)
{
    for (unsigned i = 0; i < size_B; i++)
        hd_buf_printf(out, "%02x", (unsigned)(i < 8 ? value >> (8 * i) & 0xff : 0));
}

static bool is_aside(const struct interp_thread *t)
{
    return (dbg.stepped && dbg.stepped == dbg_tid(t)) ||
           (dbg.aside && (!dbg.not_aside || dbg.not_aside != dbg_tid(t)));
}

bool dbg_reg_get(const struct interp_thread *t, unsigned number, uint64_t *out_value)
{
    *out_value = 0;
    if (number == REG_RIP)
        *out_value = t ? dbg_pc(t, 0) + is_aside(t) : DBG_HOST_PC;
    else if (number == REG_RSP)
        *out_value = t ? dbg_sp(t) : 0;
    else if (number == REG_RAX) /* GDB looks for what a function returns there */
        *out_value = t ? returned_rax(t, true) : 0;
    else if (number >= REG_FIRST_OWN + HD_COUNT_OF(sregs))
        return false;
    else if (number >= REG_FIRST_OWN && t)
        *out_value = interp_debug_sreg(t, sregs[number - REG_FIRST_OWN]);
    return true;
}

static void put_unknown(struct hd_buf *out, unsigned size_B)
{
    for (unsigned i = 0; i < size_B; i++)
        hd_buf_puts(out, "xx");
}

void dbg_regs_put(const struct interp_thread *t, struct hd_buf *out)
{
    bool known = !t || returned_is_known(t);
    uint64_t value;

    assert(dbg_is_locked());
    for (unsigned i = 0; i <= REG_RIP; i++) {
        (void)dbg_reg_get(t, i, &value);
        if (i == REG_RAX && !known)
            put_unknown(out, 8);
        else
            put_hex(out, value, 8);
    }
    put_hex(out, 0, 4);
    put_hex(out, 0, NX87_B);
    if (known)
        put_hex(out, t ? returned_rax(t, false) : 0, XMM_B);
    else
        put_unknown(out, XMM_B);
    put_hex(out, 0, (NXMM - 1) * XMM_B + 4);
    for (unsigned i = 0; i < HD_COUNT_OF(sregs); i++) {
        (void)dbg_reg_get(t, REG_FIRST_OWN + i, &value);
        put_hex(out, value, 4);
    }
}
