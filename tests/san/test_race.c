/* racecheck: what is ordered and what is not, rule by rule, each racy pattern beside its right
 * twin. */
#include "events.h"

static struct world w;
static struct {
    struct ir_instr *read, *write, *read2, *write2;
    struct ir_instr *sread, *swrite;
    struct ir_instr *vread, *vwrite;
    struct ir_instr *exch, *exch_cta, *cas, *cas_cta, *add, *add_cta;
    struct ir_instr *acquire, *release, *release_cta, *acquire_cta;
    struct ir_instr *fence, *fence_cta;
    struct ir_instr *bar, *arrive, *cluster_arrive, *cluster_wait, *warpsync, *shfl, *exit;
    struct ir_instr *init, *marrive, *test_parity, *expect, *complete;
} p;

static void make_probes(void)
{
    world_module(&w);
    p.read = world_mem(&w, IR_OP_LD, IR_SPACE_GLOBAL, 0, 0, 0);
    p.write = world_mem(&w, IR_OP_ST, IR_SPACE_GLOBAL, 0, 0, 0);
    p.read2 = world_mem(&w, IR_OP_LD, IR_SPACE_GLOBAL, 0, 0, 0);
    p.write2 = world_mem(&w, IR_OP_ST, IR_SPACE_GLOBAL, 0, 0, 0);
    p.sread = world_mem(&w, IR_OP_LD, IR_SPACE_SHARED, 0, 0, 0);
    p.swrite = world_mem(&w, IR_OP_ST, IR_SPACE_SHARED, 0, 0, 0);
    p.vread = world_mem(&w, IR_OP_LD, IR_SPACE_GLOBAL, IR_SEM_VOLATILE, 0, 0);
    p.vwrite = world_mem(&w, IR_OP_ST, IR_SPACE_GLOBAL, IR_SEM_VOLATILE, 0, 0);
#define ATOM(name, scope, atom)                                                                    \
    p.name = world_mem(&w, IR_OP_ATOM, IR_SPACE_GLOBAL, IR_SEM_RELAXED, IR_SCOPE_##scope,          \
                       IR_ATOM_##atom)
    ATOM(exch, GPU, EXCH);
    ATOM(exch_cta, CTA, EXCH);
    ATOM(cas, GPU, CAS);
    ATOM(cas_cta, CTA, CAS);
    ATOM(add, GPU, ADD);
    ATOM(add_cta, CTA, ADD);
#undef ATOM
    p.acquire = world_mem(&w, IR_OP_LD, IR_SPACE_GLOBAL, IR_SEM_ACQUIRE, IR_SCOPE_GPU, 0);
    p.release = world_mem(&w, IR_OP_ST, IR_SPACE_GLOBAL, IR_SEM_RELEASE, IR_SCOPE_GPU, 0);
    p.acquire_cta = world_mem(&w, IR_OP_LD, IR_SPACE_GLOBAL, IR_SEM_ACQUIRE, IR_SCOPE_CTA, 0);
    p.release_cta = world_mem(&w, IR_OP_ST, IR_SPACE_GLOBAL, IR_SEM_RELEASE, IR_SCOPE_CTA, 0);
    p.fence = world_fence(&w, IR_SCOPE_GPU);
    p.fence_cta = world_fence(&w, IR_SCOPE_CTA);
    p.bar = world_bar(&w, IR_BAR_SYNC);
    p.arrive = world_bar(&w, IR_BAR_ARRIVE);
    p.cluster_arrive = world_bar(&w, IR_BAR_CLUSTER_ARRIVE);
    p.cluster_wait = world_bar(&w, IR_BAR_CLUSTER_WAIT);
    p.warpsync = world_probe(&w, IR_OP_WARPSYNC, 0, false, 1);
    p.shfl = world_probe(&w, IR_OP_SHFL, 0, false, 1);
    p.exit = world_probe(&w, IR_OP_EXIT, 0, false, 0);
    p.init = world_mbarrier(&w, IR_MBARRIER_INIT);
    p.marrive = world_mbarrier(&w, IR_MBARRIER_ARRIVE);
    p.test_parity = world_mbarrier(&w, IR_MBARRIER_TEST_PARITY);
    p.expect = world_mbarrier(&w, IR_MBARRIER_EXPECT_TX);
    p.complete = world_mbarrier(&w, IR_MBARRIER_COMPLETE_TX);
}

static void begin(uint32_t ctas, uint32_t threads)
{
    world_begin(&w, &san_racecheck, (struct world_shape){.ctas = ctas, .threads = threads});
}

/* Hazards that were found, of at least this severity. */
static unsigned hazards(enum san_severity severity)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < world_nfound; i++)
        n += strncmp(world_found[i].kind, "hazard", 6) == 0 && world_found[i].severity >= severity;
    return n;
}

static void end(bool races, const char *what)
{
    world_end(&w);
    unsigned n = hazards(SAN_WARNING);
    if (!ok((n > 0) == races, "%s: %s", what, races ? "a race" : "none"))
        for (uint32_t i = 0; i < world_nfound; i++)
            diag("%s %s lines %u %u", world_found[i].kind, world_found[i].title,
                 world_found[i].lines[0], world_found[i].lines[1]);
}

enum { DATA = 0x10000, FLAG = 0x20000, LOCK = 0x30000 };

/* ---- plain accesses, and what is said of them */

static void test_report(void)
{
    begin(2, 64);
    world_access(&w, 0, 33, 1, p.write, DATA);
    world_access(&w, 1, 5, 1, p.read, DATA);
    world_end(&w);
    eq_u64(world_nfound, 2, "a hazard, and the pair");
    eq_str(world_found[0].kind, "hazard-raw", "read after write");
    eq_str(world_found[0].title,
           "Potential RAW hazard detected at __global__ 0x10000 in block "
           "(1,0,0) :",
           "its title");
    ok(world_found[0].lines[0] == p.write->srcloc.line &&
           world_found[0].lines[1] == p.read->srcloc.line,
       "both places");
    ok(world_found[0].blocks[0] == 0 && world_found[0].threads[0] == 33 &&
           world_found[0].blocks[1] == 1 && world_found[0].threads[1] == 5,
       "both threads");
    eq_str(world_found[0].verbs[0], "Write Thread", "the first's verb");
    eq_str(world_found[0].verbs[1], "Read Thread", "the second's verb");
    eq_u64(world_found[0].severity, SAN_ERROR, "an error");
    eq_str(world_found[1].title, "Race reported between", "the pair's title");
    ok(!strcmp(world_found[1].verbs[0], "Read access") &&
           !strcmp(world_found[1].verbs[1], "Write access"),
       "in order of the code");
    eq_u64(world_found[1].count, 4, "a hazard of four bytes");
}

static void test_counts(void)
{
    begin(1, 64);
    for (uint32_t t = 0; t < 64; t += 32)
        world_access(&w, 0, t, 32, p.swrite, 4 * t);
    for (uint32_t t = 0; t < 64; t += 32)
        world_access(&w, 0, t, 32, p.sread, 4 * (32 - t));
    world_end(&w);
    eq_u64(hazards(SAN_ERROR), 64, "each word is a hazard");
    eq_u64(world_found[world_nfound - 1].count, 256, "one pair counts them by bytes");
    eq_str(world_found[world_nfound - 1].kind, "race", "which comes at the end");
}

static void test_kinds(void)
{
    begin(2, 32);
    world_access(&w, 0, 0, 1, p.read, DATA);
    world_access(&w, 1, 0, 1, p.write, DATA);
    world_end(&w);
    eq_str(world_found[0].kind, "hazard-war", "write after read");
    begin(2, 32);
    world_access(&w, 0, 0, 1, p.write, DATA);
    world_access(&w, 1, 0, 1, p.write, DATA);
    world_end(&w);
    eq_str(world_found[0].kind, "hazard-waw", "write after write");
    begin(2, 32);
    world_access(&w, 0, 0, 1, p.read, DATA);
    world_access(&w, 1, 0, 1, p.read, DATA);
    end(false, "two reads");
    begin(1, 32);
    world_access(&w, 0, 3, 1, p.write, DATA);
    world_access(&w, 0, 3, 1, p.read, DATA);
    world_access(&w, 0, 3, 1, p.write, DATA);
    end(false, "one thread");
}

static void test_readers(void)
{
    begin(1, 96);
    world_access(&w, 0, 0, 1, p.read, DATA);
    world_access(&w, 0, 32, 1, p.read, DATA);
    world_access(&w, 0, 0, 1, p.write, DATA);
    end(true, "the first of two readers writes");
    begin(1, 96);
    world_access(&w, 0, 0, 1, p.read, DATA);
    world_access(&w, 0, 32, 1, p.read, DATA);
    world_access(&w, 0, 32, 1, p.write, DATA);
    end(true, "the second of two readers writes");
    begin(1, 96);
    world_access(&w, 0, 0, 1, p.read, DATA);
    world_access(&w, 0, 64, 1, p.read, DATA);
    world_access(&w, 0, 1, 1, p.read, DATA);
    world_sync(&w, 0, 0, 32, p.warpsync, UINT32_MAX, 0);
    world_access(&w, 0, 2, 1, p.write, DATA);
    end(true, "a reader of another warp is not forgotten for one of the same");
}

static void test_bytes(void)
{
    begin(1, 64);
    world_strided(&w, 0, 0, 32, p.write, DATA, 1, 1);
    world_strided(&w, 0, 32, 32, p.write, DATA + 32, 1, 1);
    world_strided(&w, 0, 32, 16, p.write, DATA + 64, 2, 2);
    end(false, "neighbours in a word");
    begin(1, 64);
    world_access(&w, 0, 0, 1, p.write, DATA);
    world_strided(&w, 0, 32, 1, p.write, DATA + 3, 1, 1);
    end(true, "a byte of a word");
    begin(1, 64);
    world_strided(&w, 0, 0, 1, p.write, DATA + 3, 1, 1);
    world_strided(&w, 0, 32, 1, p.read, DATA, 16, 16);
    end(true, "a word of a byte");
    begin(1, 64);
    world_strided(&w, 0, 0, 1, p.write, DATA + 4094, 4, 4);
    world_access(&w, 0, 32, 1, p.read, DATA + 4096);
    end(true, "across two pages");
    begin(1, 64);
    world_strided(&w, 0, 0, 8, p.write, DATA, 16, 16);
    world_strided(&w, 0, 32, 1, p.read, DATA + 124, 4, 4);
    end(true, "the last word of eight vectors");
}

/* ---- barriers */

static void all_bar(uint32_t cta, uint32_t threads)
{
    for (uint32_t t = 0; t < threads; t += 32)
        world_sync(&w, cta, t, 32, p.bar, 0, 0);
}

static void test_bar(void)
{
    begin(1, 64);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    all_bar(0, 64);
    world_access(&w, 0, 32, 32, p.sread, 0);
    end(false, "a barrier between");
    begin(1, 64);
    all_bar(0, 64);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_access(&w, 0, 32, 32, p.sread, 0);
    all_bar(0, 64);
    end(true, "barriers around");
    begin(1, 64);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_sync(&w, 0, 0, 32, p.bar, 0, 0);
    world_access(&w, 0, 32, 32, p.sread, 0);
    world_sync(&w, 0, 32, 32, p.bar, 0, 0);
    end(true, "read before the second warp comes");
    begin(2, 64);
    world_access(&w, 0, 0, 1, p.write, DATA);
    all_bar(0, 64);
    all_bar(1, 64);
    world_access(&w, 1, 0, 1, p.read, DATA);
    end(true, "barriers of two CTAs");
    begin(1, 64);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    for (uint32_t t = 0; t < 64; t++)
        world_sync(&w, 0, t, 1, p.bar, 0, 0);
    world_access(&w, 0, 32, 32, p.sread, 0);
    end(false, "lane by lane");
    begin(1, 64);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_sync(&w, 0, 0, 32, p.bar, 0, 0);
    world_access(&w, 0, 32, 1, p.swrite, 1024);
    world_sync(&w, 0, 32, 32, p.exit, 0, 0);
    world_access(&w, 0, 0, 32, p.sread, 1000);
    end(false, "who has ended has come");
}

static void test_named_bar(void)
{
    begin(1, 96);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_sync(&w, 0, 0, 32, p.bar, 1, 64);
    world_sync(&w, 0, 32, 32, p.bar, 1, 64);
    world_access(&w, 0, 32, 32, p.sread, 0);
    end(false, "two warps meet");
    begin(1, 96);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_sync(&w, 0, 0, 32, p.bar, 1, 64);
    world_sync(&w, 0, 32, 32, p.bar, 1, 64);
    world_access(&w, 0, 64, 32, p.sread, 0);
    end(true, "the third was not there");
    begin(1, 96);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_sync(&w, 0, 0, 32, p.bar, 1, 64);
    world_sync(&w, 0, 32, 32, p.bar, 1, 64);
    world_sync(&w, 0, 32, 32, p.bar, 2, 64);
    world_sync(&w, 0, 64, 32, p.bar, 2, 64);
    world_access(&w, 0, 64, 32, p.sread, 0);
    end(false, "it heard of it from the second");
    begin(1, 64);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_sync(&w, 0, 0, 32, p.arrive, 1, 64);
    world_sync(&w, 0, 32, 32, p.bar, 1, 64);
    world_access(&w, 0, 32, 32, p.sread, 0);
    end(false, "one arrives, one waits");
    begin(1, 64);
    world_sync(&w, 0, 0, 32, p.arrive, 1, 64);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_sync(&w, 0, 32, 32, p.bar, 1, 64);
    world_access(&w, 0, 32, 32, p.sread, 0);
    end(true, "written after arriving");
    begin(1, 64);
    world_access(&w, 0, 32, 32, p.swrite, 0);
    world_sync(&w, 0, 0, 32, p.arrive, 1, 64);
    world_sync(&w, 0, 32, 32, p.bar, 1, 64);
    world_access(&w, 0, 0, 32, p.sread, 0);
    end(true, "who only arrives hears nothing");
}

/* ---- warps */

static void test_warp(void)
{
    begin(1, 32);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_access(&w, 0, 0, 16, p.sread, 64);
    world_end(&w);
    eq_u64(hazards(SAN_ERROR), 0, "lanes of one warp: no error");
    ok(hazards(SAN_WARNING) == 16 && strstr(world_found[0].title, "(Warp Level Programming) "),
       "but warnings of their own kind");
    begin(1, 32);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_sync(&w, 0, 0, 32, p.warpsync, UINT32_MAX, 0);
    world_access(&w, 0, 0, 16, p.sread, 64);
    end(false, "__syncwarp() between");
    begin(1, 32);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_sync(&w, 0, 0, 32, p.shfl, UINT32_MAX, 0);
    world_access(&w, 0, 0, 16, p.sread, 64);
    end(true, "a shuffle orders no memory");
    begin(1, 32);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_sync(&w, 0, 0, 16, p.warpsync, 0xffff, 0);
    world_access(&w, 0, 0, 1, p.sread, 60);
    end(false, "half of the warp, among itself");
    begin(1, 32);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_sync(&w, 0, 0, 16, p.warpsync, 0xffff, 0);
    world_access(&w, 0, 0, 1, p.sread, 64);
    end(true, "half of the warp, and the other half");
    begin(1, 32);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    for (uint32_t t = 0; t < 32; t++)
        world_sync(&w, 0, t, 1, p.warpsync, UINT32_MAX, 0);
    world_access(&w, 0, 0, 16, p.sread, 64);
    end(false, "lane by lane");
    begin(1, 64);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_sync(&w, 0, 0, 32, p.warpsync, UINT32_MAX, 0);
    world_sync(&w, 0, 32, 32, p.warpsync, UINT32_MAX, 0);
    world_access(&w, 0, 32, 32, p.sread, 0);
    end(true, "two warps by themselves");
    begin(1, 32);
    world_strided(&w, 0, 0, 32, p.swrite, 0, 0, 4);
    world_end(&w);
    ok(hazards(SAN_WARNING) == 31 && !hazards(SAN_ERROR), "one instruction, one word, many lanes");
}

/* ---- values */

static void test_values(void)
{
    uint64_t ones[32], counts[32];

    for (uint32_t i = 0; i < 32; i++) {
        ones[i] = 1;
        counts[i] = i;
    }
    begin(1, 64);
    world_store(&w, 0, 0, 32, p.swrite, 0, 0, 4, ones);
    world_end(&w);
    ok(hazards(SAN_INFO) == 31 && !hazards(SAN_WARNING), "lanes that store the same");
    begin(1, 64);
    world_store(&w, 0, 0, 32, p.swrite, 0, 0, 4, counts);
    world_end(&w);
    ok(hazards(SAN_WARNING) == 31 && !hazards(SAN_ERROR), "lanes that do not");
    begin(1, 64);
    world_store(&w, 0, 0, 1, p.swrite, 0, 0, 4, ones);
    *(uint32_t *)world_word(&w, 0, 0) = 1;
    world_store(&w, 0, 32, 1, p.swrite, 0, 0, 4, ones);
    world_end(&w);
    ok(hazards(SAN_INFO) == 1 && !hazards(SAN_WARNING), "what is there is stored again");
    begin(1, 64);
    world_store(&w, 0, 0, 1, p.swrite, 0, 0, 4, ones);
    *(uint32_t *)world_word(&w, 0, 0) = 1;
    world_store(&w, 0, 33, 1, p.swrite, 0, 0, 4, counts);
    world_end(&w);
    ok(hazards(SAN_INFO) == 1 && hazards(SAN_ERROR) == 0, "1 and 1 by another lane");
    begin(1, 64);
    world_store(&w, 0, 0, 1, p.swrite, 0, 0, 4, ones);
    *(uint32_t *)world_word(&w, 0, 0) = 1;
    world_store(&w, 0, 34, 1, p.swrite, 0, 0, 4, counts);
    world_end(&w);
    eq_u64(hazards(SAN_ERROR), 1, "1 and 2");
    eq_str(world_found[0].detail, "Current Value : 1, Incoming Value : 2", "both values");
}

/* ---- fences, flags and locks: the patterns of ScoR */

static void flag(bool cta_fence, bool fence, bool cta_flag, uint32_t reader_cta, bool races,
                 const char *what)
{
    begin(2, 64);
    world_access(&w, 0, 0, 1, p.write, DATA);
    if (fence)
        world_sync(&w, 0, 0, 1, cta_fence ? p.fence_cta : p.fence, 0, 0);
    world_access(&w, 0, 0, 1, cta_flag ? p.exch_cta : p.exch, FLAG);
    uint32_t reader = reader_cta ? 0 : 32;
    world_access(&w, reader_cta, reader, 1, cta_flag ? p.exch_cta : p.exch, FLAG);
    world_access(&w, reader_cta, reader, 1, p.read, DATA);
    end(races, what);
}

static void test_flags(void)
{
    flag(false, true, false, 1, false, "a fence and a flag, between CTAs");
    flag(false, false, false, 1, true, "a flag without a fence");
    flag(true, true, false, 1, true, "a fence for the CTA, between CTAs");
    flag(true, true, false, 0, false, "a fence for the CTA, within it");
    flag(false, true, true, 1, true, "a flag for the CTA, between CTAs");
    flag(false, true, true, 0, false, "a flag for the CTA, within it");
    flag(false, false, false, 0, true, "a flag without a fence, within a CTA");

    begin(2, 32);
    world_access(&w, 0, 0, 1, p.write, DATA);
    world_access(&w, 0, 0, 1, p.release, FLAG);
    world_access(&w, 1, 0, 1, p.acquire, FLAG);
    world_access(&w, 1, 0, 1, p.read, DATA);
    end(false, "release and acquire");
    begin(2, 32);
    world_access(&w, 0, 0, 1, p.write, DATA);
    world_access(&w, 0, 0, 1, p.release_cta, FLAG);
    world_access(&w, 1, 0, 1, p.acquire, FLAG);
    world_access(&w, 1, 0, 1, p.read, DATA);
    end(true, "release for the CTA");
    begin(2, 32);
    world_access(&w, 0, 0, 1, p.release, FLAG);
    world_access(&w, 0, 0, 1, p.write, DATA);
    world_access(&w, 1, 0, 1, p.acquire, FLAG);
    world_access(&w, 1, 0, 1, p.read, DATA);
    end(true, "written after the release");
    begin(2, 32);
    world_access(&w, 0, 0, 1, p.write, DATA);
    world_access(&w, 0, 0, 1, p.release, FLAG);
    world_access(&w, 1, 0, 1, p.read, DATA);
    world_access(&w, 1, 0, 1, p.acquire, FLAG);
    end(true, "read before the acquire");
    begin(2, 32);
    world_access(&w, 0, 0, 1, p.write, DATA);
    world_access(&w, 0, 0, 1, p.release, FLAG);
    world_access(&w, 1, 0, 1, p.acquire, FLAG + 4);
    world_access(&w, 1, 0, 1, p.read, DATA);
    end(true, "another flag");
    begin(2, 32);
    world_access(&w, 1, 0, 1, p.acquire, FLAG); /* told first; it reads what is stored then */
    world_access(&w, 0, 0, 1, p.write, DATA);
    world_access(&w, 0, 0, 1, p.release, FLAG);
    world_access(&w, 1, 0, 1, p.read, DATA);
    end(false, "a read is told before it happens");
}

/* A thread passes on what it heard, at a wider scope (ScoR: hrf-indirect). */
static void test_indirect(bool first_fence, bool races)
{
    begin(2, 64);
    world_access(&w, 0, 0, 1, p.write, DATA);
    if (first_fence)
        world_sync(&w, 0, 0, 1, p.fence_cta, 0, 0);
    world_access(&w, 0, 0, 1, p.exch, FLAG);
    world_access(&w, 0, 32, 1, p.exch, FLAG);
    world_sync(&w, 0, 32, 1, p.fence, 0, 0);
    world_access(&w, 0, 32, 1, p.exch, FLAG);
    world_access(&w, 1, 0, 1, p.exch, FLAG);
    world_sync(&w, 1, 0, 1, p.fence_cta, 0, 0);
    world_access(&w, 1, 0, 1, p.exch, FLAG);
    world_access(&w, 1, 32, 1, p.exch, FLAG);
    world_access(&w, 1, 32, 1, p.write, DATA);
    end(races, first_fence ? "told from one to the next" : "told on without a fence");
}

struct lock {
    bool start_fence, end_fence, narrow, narrow_fence;
    bool none; /* does not take it */
};

static void locked_write(uint32_t cta, uint32_t thread, struct lock l)
{
    const struct ir_instr *fence = l.narrow || l.narrow_fence ? p.fence_cta : p.fence;

    if (!l.none)
        world_access(&w, cta, thread, 1, l.narrow ? p.cas_cta : p.cas, LOCK);
    if (l.start_fence)
        world_sync(&w, cta, thread, 1, fence, 0, 0);
    world_access(&w, cta, thread, 1, p.vwrite, DATA);
    if (l.end_fence)
        world_sync(&w, cta, thread, 1, l.narrow ? p.fence_cta : p.fence, 0, 0);
    if (!l.none)
        world_access(&w, cta, thread, 1, l.narrow ? p.exch_cta : p.exch, LOCK);
}

static void locks(uint32_t cta, uint32_t thread, struct lock a, struct lock b, bool races,
                  const char *what)
{
    begin(2, 64);
    locked_write(0, 0, a);
    locked_write(cta, thread, b);
    end(races, what);
}

static void test_locks(void)
{
    const struct lock good = {true, true, false, false, false},
                      block = {true, true, true, false, false};
    const struct lock no_start = {false, true, false, false, false},
                      no_end = {true, false, false, false, false};
    const struct lock block_fence = {true, true, false, true, false}, none = {.none = true};
    const struct lock block_no_start = {false, true, true, false, false},
                      block_no_end = {true, false, true, false, false};

    locks(1, 0, good, good, false, "a lock");
    locks(0, 32, good, good, false, "a lock, within a CTA");
    locks(0, 32, block, block, false, "a lock for the CTA, within it");
    locks(1, 0, block, block, true, "a lock for the CTA, between CTAs");
    locks(1, 0, good, no_start, true, "no fence behind taking it");
    locks(1, 0, no_end, good, true, "no fence before giving it back");
    locks(1, 0, good, none, true, "one side without the lock");
    locks(0, 32, good, none, true, "one side without the lock, within a CTA");
    locks(1, 0, good, block_fence, true, "a fence for the CTA behind taking it");
    locks(0, 32, block, block_no_start, true, "for the CTA: no fence behind taking it");
    locks(0, 32, block_no_end, block, true, "for the CTA: no fence before giving it back");
}

static void test_atomics(void)
{
    begin(2, 32);
    world_access(&w, 0, 0, 1, p.add, DATA);
    world_access(&w, 1, 0, 1, p.add, DATA);
    end(false, "atomics of two CTAs");
    begin(2, 64);
    world_access(&w, 0, 0, 1, p.add_cta, DATA);
    world_access(&w, 0, 32, 1, p.add_cta, DATA);
    end(false, "atomics for the CTA, within it");
    begin(2, 64);
    world_access(&w, 0, 0, 1, p.add_cta, DATA);
    world_access(&w, 1, 0, 1, p.add, DATA);
    world_end(&w);
    ok(hazards(SAN_ERROR) && strstr(world_found[0].detail, "scope is its block"),
       "an atomic for the CTA, between CTAs: a race, and why");
    begin(2, 64);
    world_access(&w, 0, 0, 1, p.add, DATA);
    world_access(&w, 1, 0, 1, p.write, DATA);
    world_end(&w);
    ok(hazards(SAN_ERROR) && strstr(world_found[0].detail, "the other is not"),
       "an atomic and a plain write: a race, and why");
    begin(2, 64);
    world_access(&w, 0, 0, 1, p.add, DATA);
    world_access(&w, 0, 32, 1, p.vwrite, DATA);
    world_end(&w);
    ok(hazards(SAN_WARNING) && !hazards(SAN_ERROR), "an atomic and a volatile write: a warning");
    begin(2, 64);
    world_access(&w, 0, 0, 1, p.add, DATA);
    world_access(&w, 1, 0, 1, p.vread, DATA);
    end(false, "an atomic and a volatile read");
    begin(2, 64);
    world_access(&w, 0, 0, 1, p.vwrite, DATA);
    world_access(&w, 1, 0, 1, p.vread, DATA);
    world_end(&w);
    ok(hazards(SAN_WARNING) && !hazards(SAN_ERROR), "a volatile write and read: a warning");
    begin(1, 32);
    world_strided(&w, 0, 0, 32, p.add, DATA, 0, 4);
    end(false, "atomics of one warp at one word");
}

/* ---- loops that wait: only the program's code tells them */

static const char loops_text[] =
    "module \"t\" sm 75\n"
    "file \"t.cu\"\n"
    "kernel @k visible {\n  params 8\n  param \"p\" offset 0 size 8 align 8\n"
    "bb0:\n  %0:b64 = const.b64 0x0\n  %1:b64 = ld.b64.param [%0]\n"
    "  %2:b32 = const.b32 0x0\n  %3:b32 = const.b32 0x1\n  br bb1\n"
    "bb1:\n  %4:b32 = atom.b32.global.cas.relaxed.gpu [%1], %2, %3 !1:1\n"
    "  %5:pred = setp.s32.ne %4, %2\n  cbr %5, bb1, bb2\n"
    "bb2:\n  %6:b32 = ld.b32.global.volatile [%1+4] !1:2\n"
    "  %7:pred = setp.s32.eq %6, %2\n  cbr %7, bb2, bb3\n"
    "bb3:\n  %8:b32 = ld.b32.global [%1+8] !1:3\n  br bb4\n"
    "bb4:\n  %9:b32 = phi.b32 [bb3: %8], [bb4: %11]\n  %10:b32 = add.u32 %9, %3\n"
    "  %11:b32 = atom.b32.global.cas.relaxed.gpu [%1+8], %9, %10 !1:4\n"
    "  %12:pred = setp.s32.ne %11, %9\n  cbr %12, bb4, bb5\n"
    "bb5:\n  st.b32.global.volatile [%1+4], %3 !1:5\n"
    "  st.b32.global [%1+16], %3 !1:6\n  fence.acq_rel.gpu !1:7\n  fence.acq_rel.cta !1:8\n"
    "  %13:b32 = atom.b32.global.exch.relaxed.gpu [%1], %2 !1:9\n"
    "  %14:b32 = ld.b32.global [%1+16] !1:10\n  ret\n}\n";

enum { CAS = 1, POLL, GUESS, RETRY, VSTORE, STORE, FENCE, FENCE_CTA, EXCH, LOAD };

static void at_line(uint32_t cta, uint32_t line, uint64_t address)
{
    const struct ir_instr *probe = world_at(&w, line);

    if (probe->op == IR_OP_PROBE)
        world_sync(&w, cta, 0, 1, probe, 0, 0);
    else
        world_access(&w, cta, 0, 1, probe, address);
}

static void lock_loop(uint32_t cta, uint32_t start_fence)
{
    at_line(cta, CAS, LOCK);
    if (start_fence)
        at_line(cta, start_fence, 0);
    at_line(cta, STORE, DATA);
    at_line(cta, FENCE, 0);
    at_line(cta, EXCH, LOCK);
}

static void test_loops(void)
{
    world_fini(&w);
    world_text(&w, loops_text);

    begin(2, 32);
    lock_loop(0, FENCE);
    lock_loop(1, FENCE);
    end(false, "a lock by a loop");
    begin(2, 32);
    lock_loop(0, 0);
    lock_loop(1, FENCE);
    end(true, "the first had no fence behind taking it");
    begin(2, 32);
    lock_loop(0, FENCE_CTA);
    lock_loop(1, FENCE);
    end(true, "the first had one for its CTA");

    begin(2, 32);
    at_line(0, STORE, DATA);
    at_line(0, FENCE, 0);
    at_line(0, VSTORE, FLAG);
    at_line(1, POLL, FLAG);
    at_line(1, LOAD, DATA);
    end(false, "a volatile flag that a loop waits for");
    begin(2, 32);
    at_line(0, STORE, DATA);
    at_line(0, VSTORE, FLAG);
    at_line(1, POLL, FLAG);
    at_line(1, LOAD, DATA);
    end(true, "without a fence in front of it");
    begin(2, 32);
    at_line(0, CAS, LOCK);
    at_line(0, VSTORE, LOCK);
    at_line(1, CAS, LOCK);
    end(false, "a lock that is given back by a volatile store");

    begin(2, 32);
    at_line(0, RETRY, DATA);
    at_line(1, GUESS, DATA);
    at_line(0, RETRY, DATA);
    end(false, "a plain read in front of a compare-and-swap");
    begin(2, 32);
    at_line(0, RETRY, DATA);
    at_line(1, LOAD, DATA);
    end(true, "a plain read of what others swap");
}

/* ---- grids and clusters */

/* Every CTA arrives at a counter and waits for the others. */
static void grid_barrier(bool fence, bool first_bar)
{
    for (uint32_t c = 0; c < 4; c++) {
        if (first_bar)
            all_bar(c, 64);
        if (fence)
            world_sync(&w, c, 0, 1, p.fence, 0, 0);
        world_access(&w, c, 0, 1, p.add, FLAG);
    }
    for (uint32_t c = 0; c < 4; c++) {
        world_access(&w, c, 0, 1, p.acquire, FLAG);
        all_bar(c, 64);
    }
}

static void test_grid(bool fence, bool first_bar, bool races, const char *what)
{
    begin(4, 64);
    for (uint32_t turn = 0; turn < 3; turn++) {
        for (uint32_t c = 0; c < 4; c++)
            for (uint32_t t = 0; t < 64; t += 32)
                world_access(&w, c, t, 32, p.write, DATA + 256 * ((c + turn) % 4) + 4 * t);
        grid_barrier(fence, first_bar);
        for (uint32_t c = 0; c < 4; c++)
            for (uint32_t t = 0; t < 64; t += 32)
                world_access(&w, c, t, 32, p.read, DATA + 256 * ((c + turn + 1) % 4) + 4 * t);
        grid_barrier(fence, first_bar);
    }
    end(races, what);
}

/* All threads have their fence before the barrier, and one of them counts behind it. */
static void test_last_block(bool fence)
{
    begin(2, 64);
    for (uint32_t c = 0; c < 2; c++) {
        world_access(&w, c, 0, 32, p.write, DATA + 256 * c);
        world_access(&w, c, 32, 32, p.write, DATA + 256 * c + 128);
        for (uint32_t t = 0; fence && t < 64; t += 32)
            world_sync(&w, c, t, 32, p.fence, 0, 0);
        all_bar(c, 64);
        world_access(&w, c, 0, 1, p.add, FLAG);
        all_bar(c, 64);
    }
    world_access(&w, 1, 0, 32, p.read, DATA);
    world_access(&w, 1, 32, 32, p.read, DATA + 128);
    end(!fence, fence ? "the last CTA reads all" : "the last CTA, without fences");
}

/* The last one sets the counter back. It was not the last that was told of. */
static void test_reset(bool fence)
{
    begin(2, 32);
    for (uint32_t c = 0; fence && c < 2; c++)
        world_sync(&w, c, 0, 32, p.fence, 0, 0);
    world_access(&w, 1, 0, 1, p.add, FLAG);
    world_access(&w, 0, 0, 1, p.add, FLAG);
    all_bar(1, 32);
    world_access(&w, 1, 1, 1, p.write, FLAG);
    end(!fence, fence ? "a counter is set back by the last" : "a counter is, without fences");

    begin(2, 32);
    world_sync(&w, 0, 0, 32, p.fence, 0, 0);
    world_access(&w, 0, 0, 1, p.add, FLAG);
    world_access(&w, 1, 0, 1, p.write, FLAG);
    end(true, "a counter is set back by somebody");
    begin(2, 32);
    world_sync(&w, 0, 0, 32, p.fence, 0, 0);
    world_access(&w, 0, 0, 1, p.write, DATA);
    world_access(&w, 0, 0, 1, p.add, FLAG);
    world_access(&w, 1, 0, 1, p.add, FLAG);
    world_access(&w, 1, 0, 1, p.write, DATA);
    end(true, "what is behind the fence is not released");
}

static void test_cluster(bool waits, bool same, bool races, const char *what)
{
    world_begin(&w, &san_racecheck, (struct world_shape){.ctas = 4, .threads = 32, .cluster = 2});
    world_access(&w, 0, 0, 32, p.write, DATA);
    uint32_t other = same ? 1 : 2;
    for (uint32_t c = 0; c < 4; c++)
        world_sync(&w, c, 0, 32, p.cluster_arrive, 0, 0);
    for (uint32_t c = 0; waits && c < 4; c++)
        world_sync(&w, c, 0, 32, p.cluster_wait, 0, 0);
    world_access(&w, other, 0, 32, p.read, DATA);
    end(races, what);
}

/* ---- mbarriers */

enum { MBAR = 4096 };

static void test_mbarrier(bool tests, bool before, bool races, const char *what)
{
    begin(1, 64);
    world_mbar(&w, 0, 0, p.init, MBAR, 1);
    all_bar(0, 64);
    if (before)
        world_access(&w, 0, 0, 1, p.swrite, 0);
    if (tests)
        ok(!world_mbar(&w, 0, 32, p.test_parity, MBAR, 0), "%s: not yet", what);
    world_mbar(&w, 0, 0, p.marrive, MBAR, 1);
    if (!before)
        world_access(&w, 0, 0, 1, p.swrite, 0);
    if (tests)
        ok(world_mbar(&w, 0, 32, p.test_parity, MBAR, 0), "%s: the phase is over", what);
    world_access(&w, 0, 32, 1, p.sread, 0);
    end(races, what);
}

/* A bulk copy of thread 0 into shared memory, whose bytes complete the phase. */
static void test_bulk(bool waits)
{
    begin(1, 64);
    world_mbar(&w, 0, 0, p.init, MBAR, 1);
    all_bar(0, 64);
    world_mbar(&w, 0, 0, p.expect, MBAR, 64);
    world_mbar(&w, 0, 0, p.marrive, MBAR, 1);
    world_strided(&w, 0, 0, 1, p.swrite, 0, 0, 64);
    world_mbar(&w, 0, 0, p.complete, MBAR, 64);
    if (waits)
        world_mbar(&w, 0, 32, p.test_parity, MBAR, 0);
    world_strided(&w, 0, 32, 1, p.sread, 0, 0, 16);
    end(!waits, waits ? "a copy that was waited for" : "a copy that was not waited for");
}

/* ---- launches */

static void test_launches(void)
{
    begin(1, 64);
    world_access(&w, 0, 0, 32, p.write, DATA);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_end(&w);
    begin(1, 64);
    world_access(&w, 0, 32, 32, p.write, DATA);
    world_access(&w, 0, 32, 32, p.swrite, 0);
    end(false, "launches one after the other");
    begin(2, 64);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_cta_end(&w, 0);
    world_access(&w, 1, 0, 32, p.swrite, 0);
    end(false, "the windows of two CTAs");
    begin(2, 64);
    world_access(&w, 0, 0, 32, p.swrite, 0);
    world_cta_end(&w, 0);
    world_cta_end(&w, 1);
    w.ended[1] = !san_racecheck.cta_begin(&w.cta[1]);
    world_access(&w, 1, 32, 32, p.swrite, 0);
    world_access(&w, 1, 0, 32, p.sread, 0);
    world_end(&w);
    ok(hazards(SAN_ERROR) == 32 && world_found[0].blocks[0] == 1, "shadow that a CTA left behind");
}

static void test_options(void)
{
    world_options.racecheck_report = SAN_RACE_REPORT_ANALYSIS;
    begin(2, 32);
    world_access(&w, 0, 0, 1, p.write, DATA);
    world_access(&w, 1, 0, 1, p.read, DATA);
    world_end(&w);
    ok(world_nfound == 1 && !strcmp(world_found[0].kind, "race"), "only pairs");
    world_options.racecheck_report = SAN_RACE_REPORT_HAZARD;
    begin(2, 32);
    world_access(&w, 0, 0, 1, p.write, DATA);
    world_access(&w, 1, 0, 1, p.read, DATA);
    world_end(&w);
    ok(world_nfound == 1 && !strcmp(world_found[0].kind, "hazard-raw"), "only hazards");
    world_options.racecheck_level = SAN_RACE_LEVEL_ERROR;
    begin(1, 32);
    world_access(&w, 0, 0, 1, p.write, DATA);
    world_access(&w, 0, 1, 1, p.read, DATA);
    world_end(&w);
    eq_u64(world_nfound, 0, "no warnings");
    world_options.racecheck_level = SAN_RACE_LEVEL_INFO;
    world_options.racecheck_report = SAN_RACE_REPORT_ALL;
}

/* Everything once, with memory short at some place: it says so, or goes on and sees less. */
static bool short_launch(void *unused)
{
    struct san_launch *launch = &w.launch;
    struct san_cta *cta = &w.cta[0];
    bool worked;

    (void)unused;
    san_racecheck.finish(); /* nothing is left of other launches */
    if (!san_racecheck.launch_begin(launch)) {
        san_racecheck.launch_end(launch);
        return false;
    }
    worked = san_racecheck.cta_begin(cta);
    if (worked) {
        world_strided(&w, 0, 0, 32, p.swrite, 0, 1, 1);
        world_access(&w, 0, 0, 32, p.write, DATA);
        world_access(&w, 0, 32, 32, p.read, DATA);
        world_sync(&w, 0, 0, 1, p.fence, 0, 0);
        world_access(&w, 0, 0, 1, p.exch, FLAG);
        world_access(&w, 0, 32, 1, p.exch, FLAG);
        world_sync(&w, 0, 0, 32, p.bar, 1, 64);
        world_sync(&w, 0, 32, 32, p.bar, 1, 64);
        world_sync(&w, 0, 0, 8, p.warpsync, 0xff, 0);
        san_racecheck.cta_end(cta);
    }
    san_racecheck.launch_end(launch);
    return worked;
}

static void test_memory(void)
{
    begin(1, 64); /* for what a launch is */
    world_end(&w);
    w.shared = NULL;
    w.base[0].shared = NULL;
    ok(tap_oom_loop(short_launch, NULL, "a launch") > 10, "many allocations fail");
}

int main(void)
{
    world_options.racecheck_report = SAN_RACE_REPORT_ALL;
    world_options.racecheck_memcpy_async = world_options.racecheck_global = true;
    make_probes();
    ok(san_racecheck.start(), "start");
    test_report();
    test_counts();
    test_kinds();
    test_readers();
    test_bytes();
    test_bar();
    test_named_bar();
    test_warp();
    test_values();
    test_flags();
    test_indirect(true, false);
    test_indirect(false, true);
    test_locks();
    test_atomics();
    test_grid(true, true, false, "a barrier of the grid");
    test_grid(false, true, true, "a barrier of the grid without a fence");
    test_grid(true, false, true, "a barrier of the grid without one of the CTA");
    test_last_block(true);
    test_last_block(false);
    test_reset(true);
    test_reset(false);
    test_cluster(true, true, false, "a barrier of the cluster");
    test_cluster(false, true, true, "only arrived at the cluster's barrier");
    test_cluster(true, false, true, "another cluster");
    test_mbarrier(true, true, false, "an mbarrier");
    test_mbarrier(false, true, true, "an mbarrier that was not waited for");
    test_mbarrier(true, false, true, "written after arriving");
    test_bulk(true);
    test_bulk(false);
    test_launches();
    test_options();
    test_memory();
    test_loops();
    san_racecheck.finish();
    world_fini(&w);
    return done();
}
