/* What GDB is told of PTX: addresses, variables, registers, files; conditions; odd packets. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dbg/dwarf.h"
#include "dbg/private.h"
#include "tap.h"

static const char ptx[] = ".version 8.0\n"
                          ".target sm_80, debug\n"
                          ".address_size 64\n"
                          ".global .align 4 .u32 counter;\n"
                          ".func (.param .b32 result) helper(.param .b32 x)\n"
                          "{\n"
                          "    .reg .b32 %r<3>;\n"
                          "begin0:\n"
                          "    ld.param.b32 %r1, [x];\n"
                          "    st.param.b32 [result], %r1;\n"
                          "    ret;\n"
                          "end0:\n"
                          "}\n"
                          ".visible .entry kern(.param .u64 out)\n"
                          "{\n"
                          "    .local .align 8 .b8 depot[24];\n"
                          "    .shared .align 4 .b8 tile[128];\n"
                          "    .reg .b32 %r<4>;\n"
                          "    .reg .b64 %rd<12>;\n"
                          "    .loc 1 7 3\n"
                          "begin1:\n"
                          "    ld.param.u64 %rd1, [out];\n"
                          "    mov.u32 %r1, 5; mov.u32 %r2, 6;\n"
                          "    ret;\n"
                          "}\n"
                          ".file 1 \"/nowhere/kern.cu\"\n"
                          ".section .debug_info\n"
                          "{\n"
                          ".b64 begin1\n"             /* 0: whose code it is */
                          ".b8 9,3\n.b64 depot\n"     /* 8: an expression, DW_OP_addr */
                          ".b8 5,144,177,228,149,1\n" /* 18: DW_OP_regx %r1 */
                          ".b8 9,3\n.b64 counter\n"   /* 24 */
                          ".b8 6,144,177,228,149,1\n" /* 34: of a wrong length: no expression */
                          ".b8 5,144,177,228,149,1\n" /* 40 */
                          ".b32 .debug_abbrev\n"      /* 46 */
                          "}\n"
                          ".section .debug_abbrev\n{\n.b8 0\n}\n";

static struct dbg_unit *make(uint32_t number)
{
    struct dbg_text text = {"kern.ptx", ptx, strlen(ptx)};
    struct dbg_unit *unit = NULL;

    if (dbg_unit_create(&text, number, &unit) != HD_OK)
        diag("%s", hd_error_message());
    return unit;
}

static void test_addresses(const struct dbg_unit *unit)
{
    const struct dbg_func *func;
    uint64_t pc;

    eq_u64(unit->ninsns, 7, "instructions");
    eq_u64(unit->base, DBG_TEXT + ((uint64_t)3 << DBG_UNIT_SHIFT), "the unit's place");
    eq_u64(dbg_unit_find(unit, "kern", 23, 5), dbg_unit_pc(unit, 4), "the first of a line");
    eq_u64(dbg_unit_find(unit, "kern", 23, 21), dbg_unit_pc(unit, 5), "the second one");
    eq_u64(dbg_unit_find(unit, "helper", 23, 5), 0, "none of another function");
    ok(!dbg_unit_insn(unit, dbg_unit_pc(unit, 0) + 1), "none between two");
    ok(!dbg_unit_insn(unit, dbg_unit_pc(unit, 7)), "none behind the last");
    ok(dbg_unit_label(unit, hd_str_from("end0"), &pc, &func) && pc == dbg_unit_pc(unit, 3) &&
           strcmp(func->name, "helper") == 0,
       "a label at a function's end is that function's");
    ok(dbg_unit_label(unit, hd_str_from("begin1"), &pc, &func) && pc == dbg_unit_pc(unit, 3) &&
           strcmp(func->name, "kern") == 0,
       "one at the next one's beginning is that one's");
    ok(!dbg_unit_label(unit, hd_str_from("nothing"), &pc, &func), "no such label");
}

static void test_names(const struct dbg_unit *unit)
{
    const struct dbg_func *kern = &unit->funcs[1];
    const struct ptx_reg_decl *decl;
    const struct dbg_var *v;
    uint32_t reg;

    ok(dbg_func_reg(kern, hd_str_from("%rd11"), &reg, &decl) && reg == 4 + 11, "a register");
    ok(!dbg_func_reg(kern, hd_str_from("%rd12"), &reg, &decl), "too large a number");
    ok(!dbg_func_reg(kern, hd_str_from("%rd"), &reg, &decl), "no number");
    ok(!dbg_func_reg(kern, hd_str_from("%rx1"), &reg, &decl), "no such name");
    v = dbg_unit_var(unit, kern, hd_str_from("depot"));
    ok(v && v->kind == DBG_VAR_LOCAL && v->func == kern && v->size_B == 24, "a local variable");
    v = dbg_unit_var(unit, kern, hd_str_from("tile"));
    ok(v && v->kind == DBG_VAR_SHARED && dbg_unit_var_at(unit, v->at + 100) == v, "a shared one");
    v = dbg_unit_var(unit, kern, hd_str_from("counter"));
    ok(v && v->kind == DBG_VAR_GLOBAL && dbg_unit_var_at(unit, v->at) == v, "a global one");
    v = dbg_unit_var(unit, kern, hd_str_from("out"));
    ok(v && v->kind == DBG_VAR_LOCAL && v->ptx->is_param, "a parameter");
}

/* The number behind DW_OP_breg7. */
static uint64_t sleb(const uint8_t *at)
{
    uint64_t value = 0;

    for (unsigned i = 0;; i++) {
        value |= (uint64_t)(at[i] & 0x7f) << (7 * i);
        if (!(at[i] & 0x80))
            return value;
    }
}

static void test_dwarf(const struct dbg_unit *unit)
{
    const struct dbg_var *depot = dbg_unit_var(unit, &unit->funcs[1], hd_str_from("depot"));
    const struct dbg_var *counter = dbg_unit_var(unit, NULL, hd_str_from("counter"));
    struct dbg_dwarf dwarf;
    uint64_t address;

    dbg_dwarf_init(&dwarf);
    ok(dbg_dwarf_copy(unit, &dwarf), "the DWARF of the PTX is copied");
    const uint8_t *info = (const uint8_t *)dwarf.info.ptr;
    eq_u64(dwarf.info.len, 50, "nothing changes its size");
    memcpy(&address, info, 8);
    eq_u64(address, dbg_unit_pc(unit, 3), "a label is an address");
    ok(info[9] == 0x77 && sleb(info + 10) == DBG_LOCALS + depot->at, "a local variable: rsp + ..");
    ok(info[19] == 0x77 && sleb(info + 20) == 1 * DBG_REG_B, "a register: rsp + ..");
    memcpy(&address, info + 26, 8);
    ok(info[25] == 0x03 && address == counter->at, "a global variable: its address");
    ok(info[35] == 144, "what is no expression stays");
    ok(info[41] == 0x77, "another register");
    dbg_dwarf_lines(unit, unit->name, &dwarf);
    dbg_dwarf_frames(unit, &dwarf);
    ok(dwarf.line.len && dwarf.frame.len && !dwarf.line.failed && !dwarf.frame.failed,
       "lines and frames");
    dbg_dwarf_fini(&dwarf);
}

static void test_file(struct dbg_unit *unit)
{
    char folder[] = "/tmp/heddle-test-dbg-XXXXXX";
    struct hd_buf file;
    struct stat st;

    hd_buf_init(&file);
    if (!ok(mkdtemp(folder) != NULL, "a folder"))
        return;
    ok(dbg_elf_write(unit, folder) == HD_OK && unit->path, "a file for GDB");
    ok(hd_file_read(unit->path, 1 << 20, &file) == HD_OK && file.len > 64 &&
           memcmp(file.ptr, "\177ELF", 4) == 0,
       "which is ELF");
    ok(memmem(file.ptr, file.len, "kern", 5) != NULL, "and names the kernel");
    hd_buf_fini(&file);
    dbg_unit_forget_files(unit);
    ok(rmdir(folder) == 0 && stat(folder, &st) != 0, "nothing is left");
}

/* Agent expressions, in hex as GDB sends them. */
static void test_conditions(void)
{
    ok(dbg_condition(NULL, "220127"), "1");
    ok(!dbg_condition(NULL, "220027"), "0");
    ok(dbg_condition(NULL, "22052205132 7"), "what is no hex ends it: true, GDB decides");
    ok(!dbg_condition(NULL, "2205220613"
                            "27"),
       "5 == 6");
    ok(dbg_condition(NULL, "2205220602"
                           "220b13"
                           "27"),
       "5 + 6 == 11");
    ok(dbg_condition(NULL, "2203"
                           "2200"
                           "04"
                           "27") == false,
       "3 * 0");
    ok(dbg_condition(NULL, "2203"
                           "2200"
                           "05"
                           "27"),
       "a division by 0 cannot be computed");
    ok(!dbg_condition(NULL, "22ff"
                            "1608"
                            "2201"
                            "14"
                            "0e"
                            "27"),
       "!(-1 < 1): signs are extended");
    ok(!dbg_condition(NULL, "210006"
                            "220127"
                            "220027"),
       "goto");
    ok(dbg_condition(NULL, "2100002100"), "a loop is given up");
    ok(dbg_condition(NULL, "020202"), "too little on the stack");
    ok(dbg_condition(NULL, "25ffff"), "an operand that is cut off");
}

static uint64_t state;
static unsigned below(unsigned n)
{
    return (unsigned)(tap_random(&state) % n);
}

/* Any bytes behind the beginning of a packet: an answer or none, and no harm. */
static void test_packets(void)
{
    static const char *const heads[] = {"q",
                                        "qXfer:threads:read::",
                                        "qXfer:libraries:read::",
                                        "m",
                                        "M",
                                        "Z0,",
                                        "z0,",
                                        "Z2,",
                                        "vCont;",
                                        "H",
                                        "T",
                                        "?",
                                        "qRcmd,",
                                        "qXfer:features:read:target.xml:",
                                        "g",
                                        "p",
                                        "bs"};
    static const char letters[] = "0123456789abcdef,;:-X*cCsrgGq";
    unsigned answered = 0;

    state = tap_seed();
    dbg_lock();
    dbg.stopped = true;
    dbg.attached = true;
    for (int i = 0; i < 20000; i++) {
        char packet[80];
        int n = snprintf(packet, 40, "%s", heads[below(HD_COUNT_OF(heads))]);
        for (unsigned k = below(30); k; k--)
            packet[n++] = below(20) ? letters[below(sizeof(letters) - 1)] : (char)below(256);
        struct hd_buf reply;
        hd_buf_init(&reply);
        answered += dbg_packet(packet, (size_t)n, &reply);
        hd_buf_fini(&reply);
        dbg.stopped = true;
    }
    ok(answered > 10000, "20000 packets");
    dbg_forget_locked();
    dbg_unlock();
}

static bool make_and_copy(void *unused)
{
    struct dbg_unit *unit = make(1);
    struct dbg_dwarf dwarf;
    bool worked;

    (void)unused;
    if (!unit)
        return false;
    dbg_dwarf_init(&dwarf);
    worked = dbg_dwarf_copy(unit, &dwarf) && !dwarf.info.failed;
    dbg_dwarf_fini(&dwarf);
    dbg_unit_destroy(unit);
    return worked;
}

int main(void)
{
    struct dbg_unit *unit = make(3);

    hd_buf_init(&dbg.said);
    if (ok(unit != NULL, "a unit")) {
        test_addresses(unit);
        test_names(unit);
        test_dwarf(unit);
        test_file(unit);
        dbg_unit_destroy(unit);
    }
    (void)tap_oom_loop(make_and_copy, NULL, "a unit");
    test_conditions();
    test_packets();
    return done();
}
