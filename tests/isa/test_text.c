/* Text: what an instruction looks like, and what is said about text that is none. */
#include "isa/isa.h"

#include "support/tap.h"

static bool find_label(void *context, const char *name, size_t length, uint64_t *out_address)
{
    (void)context;
    *out_address = 0x40;
    return length == 4 && !memcmp(name, "loop", 4);
}

/* Reads the text, and writes it as `want`. */
static void test_reads(const char *text, const char *want)
{
    struct isa_insn insn, decoded;
    struct isa_word word = {0};
    struct hd_buf out;
    size_t at = 0;
    const char *why = isa_parse(text, 0x10, find_label, NULL, &insn, &at);

    hd_buf_init(&out);
    if (!why)
        why = isa_encode(&insn, &word);
    if (!why)
        why = isa_decode(word, &decoded);
    if (!why)
        isa_print(&decoded, 0x10, &out);
    else
        diag("%s at %zu", why, at);
    eq_str(why ? why : out.ptr, want, "%s", text);
    hd_buf_fini(&out);
}

/* Refuses the text at `place` for the reason. */
static void test_refuses(const char *text, size_t place, const char *reason)
{
    struct isa_insn insn;
    size_t at = 0;
    const char *why = isa_parse(text, 0x10, find_label, NULL, &insn, &at);

    eq_str(why ? why : "(nothing)", reason, "%s", text);
    eq_u64(at, place, "the place in it");
}

static void test_right(void)
{
    test_reads("FFMA R4, R5, R6, R7", "FFMA R4, R5, R6, R7");
    test_reads("  @!P0  FFMA.FTZ R4 , -R5,c[0x0][0x160], -R7.reuse ; comment",
               "@!P0 FFMA.FTZ R4, -R5, c[0x0][0x160], -R7.reuse");
    test_reads("FFMA R4, R5, 1.5, R7", "FFMA R4, R5, 1.5, R7");
    test_reads("FFMA R4, R5, R6, -2", "FFMA R4, R5, R6, -2.0");
    test_reads("FADD R4, |R5|, -|R6|", "FADD R4, |R5|, -|R6|");
    test_reads("FADD R4, R5, 0x7fc00000", "FADD R4, R5, 0x7fc00000");
    test_reads("IADD3 R4, R5, -1, RZ", "IADD3 R4, R5, 0xffffffff, RZ");
    test_reads("IADD3 R4, P0, R5, R6, R7", "IADD3 R4, P0, R5, R6, R7");
    test_reads("IADD3.X R5, R8, R9, RZ, P0", "IADD3.X R5, R8, R9, RZ, P0");
    test_reads("IADD3.X R5, R8, R9, RZ, P0, !PT", "IADD3.X R5, R8, R9, RZ, P0");
    test_reads("ISETP.LT.AND P0, PT, R4, UR6, PT", "ISETP.LT.AND P0, R4, UR6");
    test_reads("ISETP.GE.U32.OR P1, R4, 0x20, !P0", "ISETP.GE.U32.OR P1, R4, 0x20, !P0");
    test_reads("DADD R4, R6, 0.5", "DADD R4, R6, 0.5");
    test_reads("DFMA R4, R6, c[0x3][UR4-0x10], R8", "DFMA R4, R6, c[0x3][UR4-0x10], R8");
    test_reads("HFMA2.BF16_V2 R4, R5.H0_H0, R6, -R7.H1_H1",
               "HFMA2.BF16_V2 R4, R5.H0_H0, R6, -R7.H1_H1");
    test_reads("LDG.E.128.CONSTANT R4, [R2.64+UR6+0x10]",
               "LDG.E.128.CONSTANT R4, [R2.64+UR6+0x10]");
    test_reads("LDG.E R4, [UR6]", "LDG.E R4, [UR6]");
    test_reads("LDS R4, [RZ]", "LDS R4, [0x0]");
    test_reads("LDS.U8 R4, [R5-0x4]", "LDS.U8 R4, [R5-0x4]");
    test_reads("STG.E.64.EF [R2.64], R4", "STG.E.64.EF [R2.64], R4");
    test_reads("LDC.64 R4, c[0x3][R6+8]", "LDC.64 R4, c[0x3][R6+0x8]");
    test_reads("ULDC UR4, c[0x0][0x118]", "ULDC UR4, c[0x0][0x118]");
    test_reads("@UP1 UIADD3 UR4, UR5, 0x1, URZ", "@UP1 UIADD3 UR4, UR5, 0x1, URZ");
    test_reads("ATOMG.E.CAS.U64.RELAXED.GPU R4, [R2.64], R6, R8",
               "ATOMG.E.CAS.U64.RELAXED.GPU R4, [R2.64], R6, R8");
    test_reads("S2R R4, SR_TID_X", "S2R R4, SR_TID_X");
    test_reads("BRA loop", "BRA 0x40");
    test_reads("BRA.U P3, 0x0", "BRA.U P3, 0x0");
    test_reads("BRA -0x20", "BRA -0x20"); /* words may be made to jump before the kernel */
    test_reads("BSSY B3, loop", "BSSY B3, 0x40");
    test_reads("SHFL.BFLY R4, R5, R6, 0x1f", "SHFL.BFLY R4, R5, R6, 0x1f");
    test_reads("SHFL.I.DOWN P0, R4, R5, 0x10, 0x1f", "SHFL.I.DOWN P0, R4, R5, 0x10, 0x1f");
    test_reads("HMMA.M16N8.K32B.F32.BF16 R4, R8, R2, R4, RZ",
               "HMMA.M16N8.K32B.F32.BF16 R4, R8, R2, R4, RZ");
    test_reads("GMMA.N128.F16.F32.TB R24, RZ, UR8, UR4, RZ, UPT",
               "GMMA.N128.F16.F32.TB R24, RZ, UR8, UR4, RZ");
    test_reads("MUFU.RSQ R4, -|R5|", "MUFU.RSQ R4, -|R5|");
    test_reads("EXIT", "EXIT");
    test_reads("DEPBAR 0x0, 0x1, 0x6", "DEPBAR 0x0, 0x1, 0x6");
}

static void test_wrong(void)
{
    test_refuses("FFMAX R4, R5, R6, R7", 0, "there is no such instruction");
    test_refuses("FFMA.SAT.FTZ R4, R5, R6, R7", 8, "FFMA has no such modifier");
    test_refuses("FFMA R4, R5, R6", 15, "a register, a constant or a number is expected here");
    test_refuses("FFMA R4, R5, R6, R7, R8", 19, "FFMA has no further operand");
    test_refuses("FFMA R4, R5, 1.0, 2.0", 18,
                 "only one source can be something else than a register");
    test_refuses("FFMA R4, R256, R6, R7", 9, "a register is expected here");
    test_refuses(
        "DADD R5, R6, R8", 15,
        "a pair of registers begins at a multiple of 2, more at one of 4, and none is behind R254");
    test_refuses("DADD R4, R6, 0.1", 13,
                 "of a double only the upper 32 bits can be given, and this one needs the others");
    test_refuses("IADD3 R4, R5, 0x100000000, RZ", 14,
                 "the number is not in -2147483648 to 4294967295");
    test_refuses("ISETP P0, R4, R5", 5, "the modifier `cmp` is missing, as in `.F`");
    test_refuses("@UP0 FADD R4, R5, R6", 9, "the guard of FADD is no uniform predicate");
    test_refuses("@P0 UMOV UR4, UR5", 8, "the guard of UMOV is a uniform predicate");
    test_refuses("LDG R4, [R2.64]", 11, "`]` is expected here");
    test_refuses("LDG.E R4, [R2]", 13, "`.64` is expected here");
    test_refuses("LDG.E R4, []", 11, "an address is expected here");
    test_refuses("BRA nowhere", 4, "there is no label `nowhere`");
    test_refuses("BRA 0x18", 8, "a target lies at a multiple of 16 bytes");
    test_refuses("S2R R4, SR_NONE", 8, "a special register is expected here");
    test_refuses("MOV R4, c[0x20][0x0]", 10, "the number is not in 0 to 31");
    test_refuses("MOV R4, c[0x0][0x2]", 19, "a constant lies at a multiple of its size");
    test_refuses("HMMA.M8N8.K32B.F32.F16 R4, R8, R2, R4, RZ", 41,
                 "these modifiers do not go together");
    test_refuses("[B------:R-:W6:-:S01] NOP", 13, "a dependence counter is 0 to 5, or - for none");
    test_refuses("[B------:R-:W-:-:S16] NOP", 25, "a stall is of 0 to 15 cycles");
    test_refuses("MOV R4, R5.H0_H0", 10, "MOV has no further operand");
}

static void test_control(void)
{
    const char *text = "[B01---5:R2:W3:Y:S14] MOV R4, R5";
    struct isa_insn insn;
    struct hd_buf out;
    size_t at;

    hd_buf_init(&out);
    ok(!isa_parse(text, 0, NULL, NULL, &insn, &at), "%s", text);
    isa_print_control(&insn.control, &out);
    eq_str(out.ptr, "[B01---5:R2:W3:Y:S14]", "its control field");
    eq_u64(insn.control.wait, 0x23, "counters 0, 1 and 5 are waited for");
    hd_buf_fini(&out);
}

int main(void)
{
    test_right();
    test_wrong();
    test_control();
    return done();
}
