/* The hazard checker: control fields that suffice, and the same code with one that does not. */
#include "sim/job.h"

static uint32_t data[64];

static enum hd_status run_text(const char *text)
{
    uint64_t pointer = (uintptr_t)data;
    const struct job job = {.text = text,
                            .block = 32,
                            .dynamic_B = 256,
                            .params = &pointer,
                            .params_B = 8,
                            .checks_hazards = true};

    return job_run(&job);
}

static void good(const char *name, const char *text)
{
    eq_u64(run_text(text), HD_OK, "%s", name);
}

static void bad(const char *name, const char *text, const char *message)
{
    eq_u64(run_text(text), HD_TRAP, "%s", name);
    ok(strstr(hd_error_message(), message) != NULL, "%s: the message names both", name);
}

#define POINTER                                                                                    \
    "[B------:R-:W-:-:S01] MOV R2, c[0x0][0x100] ;\n"                                              \
    "[B------:R-:W-:-:S06] MOV R3, c[0x0][0x104] ;\n"
#define END "[B------:R-:W-:-:S01] EXIT ;\n"

int main(void)
{
    hd_buf_init(&job_printed);
    good("five cycles between ALU and ALU", "[B------:R-:W-:-:S05] IADD3 R4, R5, 0x1, RZ ;\n"
                                            "[B------:R-:W-:-:S05] IADD3 R6, R4, 0x1, RZ ;\n" END);
    bad("four are too few",
        "[B------:R-:W-:-:S04] IADD3 R4, R5, 0x1, RZ ;\n"
        "[B------:R-:W-:-:S05] IADD3 R6, R4, 0x1, RZ ;\n" END,
        "IADD3 R6, R4, 0x1, RZ at 0x10 R4 is read too early after IADD3 R4, R5, 0x1, RZ at 0");
    good("others between them count", "[B------:R-:W-:-:S03] IADD3 R4, R5, 0x1, RZ ;\n"
                                      "[B------:R-:W-:-:S02] IADD3 R7, R5, 0x1, RZ ;\n"
                                      "[B------:R-:W-:-:S05] IADD3 R6, R4, 0x1, RZ ;\n" END);
    good("a load is waited for by its counter",
         POINTER "[B------:R-:W0:-:S02] LDG.E R4, [R2.64] ;\n"
                 "[B0-----:R-:W-:-:S05] IADD3 R6, R4, 0x1, RZ ;\n" END);
    bad("nobody waits for the load",
        POINTER "[B------:R-:W0:-:S15] LDG.E R4, [R2.64] ;\n"
                "[B-1----:R-:W-:-:S05] IADD3 R6, R4, 0x1, RZ ;\n" END,
        "R4 is read without a wait for LDG.E R4, [R2.64]");
    bad("the counter is not up yet",
        POINTER "[B------:R-:W0:-:S01] LDG.E R4, [R2.64] ;\n"
                "[B0-----:R-:W-:-:S05] IADD3 R6, R4, 0x1, RZ ;\n" END,
        "R4 is read without a wait for");
    good("a store's source is overwritten after it was read",
         POINTER "[B------:R1:W-:-:S02] STG.E [R2.64], R4 ;\n"
                 "[B-1----:R-:W-:-:S05] MOV R4, 0x1 ;\n" END);
    bad("a store's source is overwritten at once",
        POINTER "[B------:R1:W-:-:S02] STG.E [R2.64], R4 ;\n"
                "[B------:R-:W-:-:S05] MOV R4, 0x1 ;\n" END,
        "R4 is overwritten before it is known to be read by STG.E [R2.64], R4");
    bad("its address likewise",
        POINTER "[B------:R-:W0:-:S02] LDG.E R4, [R2.64] ;\n"
                "[B------:R-:W-:-:S05] MOV R3, 0x1 ;\n" END,
        "R3 is overwritten before it is known to be read by LDG.E R4, [R2.64]");
    good("a result says that the sources were read",
         POINTER "[B------:R1:W0:-:S02] LDG.E R4, [R2.64] ;\n"
                 "[B0-----:R-:W-:-:S05] MOV R3, 0x1 ;\n" END);
    bad("a load's register gets another value",
        POINTER "[B------:R1:W0:-:S02] LDG.E R4, [R2.64] ;\n"
                "[B-1----:R-:W-:-:S05] MOV R4, 0x1 ;\n" END,
        "R4 is overwritten without a wait for LDG.E R4, [R2.64]");
    good("a predicate that guards", "[B------:R-:W-:-:S13] ISETP.EQ.AND P0, PT, R4, RZ, PT, PT ;\n"
                                    "[B------:R-:W-:-:S05] @P0 MOV R4, 0x1 ;\n" END);
    bad("a predicate that guards too early",
        "[B------:R-:W-:-:S12] ISETP.EQ.AND P0, PT, R4, RZ, PT, PT ;\n"
        "[B------:R-:W-:-:S05] @P0 MOV R4, 0x1 ;\n" END,
        "P0 is read too early after ISETP");
    good("a predicate as a source", "[B------:R-:W-:-:S05] ISETP.EQ.AND P0, PT, R4, RZ, PT, PT ;\n"
                                    "[B------:R-:W-:-:S05] SEL R4, R4, 0x1, P0 ;\n" END);
    good("DEPBAR waits, too", POINTER "[B------:R-:W0:-:S02] LDG.E R4, [R2.64] ;\n"
                                      "[B------:R-:W-:-:S01] DEPBAR 0x0, 0x0, 0x0 ;\n"
                                      "[B------:R-:W-:-:S05] IADD3 R6, R4, 0x1, RZ ;\n" END);
    bad("a loop's next round overwrites",
        "[B------:R-:W-:-:S01] MOV R2, c[0x0][0x100] ;\n"
        "[B------:R-:W-:-:S15] MOV R3, c[0x0][0x104] ;\n"
        "again:\n"
        "[B------:R-:W0:-:S15] LDG.E R4, [R2.64] ;\n"
        "[B------:R-:W-:-:S05] IADD3 R7, R7, 0x1, RZ ;\n"
        "[B------:R-:W-:-:S13] ISETP.LT.AND P0, PT, R7, 0x3, PT, PT ;\n"
        "[B------:R-:W-:-:S01] @P0 BRA again ;\n" END,
        "R4 is overwritten without a wait for LDG.E R4, [R2.64]");
    bad("uniform registers",
        "[B------:R-:W-:-:S06] UMOV UR4, 0x1 ;\n"
        "[B------:R-:W-:-:S05] IADD3 R6, R4, UR4, RZ ;\n" END,
        "UR4 is read too early after UMOV");
    hd_buf_fini(&job_printed);
    return done();
}
