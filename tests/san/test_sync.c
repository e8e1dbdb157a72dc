/* synccheck: barriers of blocks, warps and clusters, mbarriers; each error beside its right twin.
 */
#include "events.h"

static struct world w;
static struct {
    struct ir_instr *bar, *bar2, *arrive, *warpsync, *shfl, *vote, *exit;
    struct ir_instr *cluster_arrive, *cluster_wait;
    struct ir_instr *init, *marrive, *test_parity, *expect, *complete;
} p;

static void make_probes(void)
{
    world_module(&w);
    p.bar = world_bar(&w, IR_BAR_SYNC);
    p.bar2 = world_bar(&w, IR_BAR_SYNC);
    p.arrive = world_bar(&w, IR_BAR_ARRIVE);
    p.cluster_arrive = world_bar(&w, IR_BAR_CLUSTER_ARRIVE);
    p.cluster_wait = world_bar(&w, IR_BAR_CLUSTER_WAIT);
    p.warpsync = world_probe(&w, IR_OP_WARPSYNC, 0, false, 1);
    p.shfl = world_probe(&w, IR_OP_SHFL, 0, false, 1);
    p.vote = world_probe(&w, IR_OP_VOTE, 0, false, 1);
    p.exit = world_probe(&w, IR_OP_EXIT, 0, false, 0);
    p.init = world_mbarrier(&w, IR_MBARRIER_INIT);
    p.marrive = world_mbarrier(&w, IR_MBARRIER_ARRIVE);
    p.test_parity = world_mbarrier(&w, IR_MBARRIER_TEST_PARITY);
    p.expect = world_mbarrier(&w, IR_MBARRIER_EXPECT_TX);
    p.complete = world_mbarrier(&w, IR_MBARRIER_COMPLETE_TX);
}

static void begin(uint32_t threads)
{
    world_begin(&w, &san_synccheck, (struct world_shape){.ctas = 1, .threads = threads});
}

/* The only finding has this kind; NULL: there is none. */
static void end(const char *kind, const char *what)
{
    world_end(&w);
    bool right = kind ? world_nfound == 1 && !strcmp(world_found[0].kind, kind) : !world_nfound;
    if (!ok(right, "%s: %s", what, kind ? kind : "nothing"))
        for (uint32_t i = 0; i < world_nfound; i++)
            diag("%s: %s; %s", world_found[i].kind, world_found[i].title, world_found[i].detail);
}

static void bar(uint32_t thread, uint32_t n)
{
    world_sync(&w, 0, thread, n, p.bar, 0, 0);
}

static void leave(uint32_t thread, uint32_t n)
{
    world_sync(&w, 0, thread, n, p.exit, 0, 0);
}

/* ---- barriers of blocks */

static void test_block(void)
{
    begin(64);
    for (unsigned i = 0; i < 3; i++) {
        bar(0, 32);
        bar(32, 32);
    }
    leave(0, 32);
    leave(32, 32);
    end(NULL, "all threads");

    begin(64);
    bar(0, 32);
    bar(32, 32);
    bar(0, 32);
    leave(48, 16);
    bar(32, 16);
    leave(0, 32);
    leave(32, 16);
    world_end(&w);
    ok(world_nfound == 1 && !strcmp(world_found[0].kind, "divergent-block"), "some pass it by");
    eq_str(world_found[0].title, "Barrier error detected. Divergent thread(s) in block.",
           "the documented line");
    eq_str(world_found[0].detail,
           "16 threads of the block have ended without it, the first (48,0,0)", "who passed it");
    ok(world_found[0].lines[0] == p.bar->srcloc.line && world_found[0].threads[0] == 32,
       "told of a thread of the same warp, at the barrier");
    eq_u64(world_found[0].count, 16, "threads at the barrier");

    begin(64);
    bar(0, 32);
    leave(40, 24);
    bar(32, 8);
    bar(0, 32);
    bar(32, 8);
    leave(0, 32);
    leave(32, 8);
    end(NULL, "who is not needed leaves before the first");

    begin(64);
    leave(0, 32);
    bar(32, 32);
    leave(32, 32);
    end(NULL, "whole warps leave");

    begin(64);
    bar(0, 32);
    world_sync(&w, 0, 32, 32, p.bar2, 0, 0);
    leave(0, 32);
    leave(32, 32);
    end(NULL, "one barrier, two places in the program");

    begin(64);
    for (uint32_t t = 0; t < 64; t++)
        bar(t, 1);
    for (uint32_t t = 0; t < 64; t++)
        leave(t, 1);
    end(NULL, "lane by lane");
}

static void test_stuck(void)
{
    begin(64);
    bar(0, 32);
    world_sync(&w, 0, 32, 32, p.bar2, 1, 64);
    world_end(&w);
    eq_u64(world_nfound, 2, "two barriers, and nobody gets on: both are told");
    eq_str(world_found[0].detail, "32 of 64 threads have come to barrier 0", "how many came");

    begin(64);
    bar(0, 32);
    end(NULL, "the block ended for another reason");
}

static void test_arguments(void)
{
    static const struct {
        uint64_t id, count;
        const char *detail;
    } bad[] = {
        {16, 0, "Barrier 16: there are 16"},
        {1, 40, "Barrier 1 for 40 threads, which are no whole warps"},
        {1, 128, "Barrier 1 for 128 threads, of which the block has 96"},
    };

    for (size_t i = 0; i < HD_COUNT_OF(bad); i++) {
        begin(96);
        world_sync(&w, 0, 0, 32, p.bar, bad[i].id, bad[i].count);
        world_end(&w);
        ok(world_nfound == 1 && !strcmp(world_found[0].kind, "invalid-arguments"), "refused");
        eq_str(world_found[0].detail, bad[i].detail, "and why");
    }
    begin(96);
    world_sync(&w, 0, 0, 32, p.bar, 1, 96);
    world_sync(&w, 0, 32, 32, p.bar, 1, 64);
    world_end(&w);
    eq_str(world_found[0].detail, "Barrier 1 for 64 threads, where others wait for 96",
           "two counts at once");
    begin(96);
    world_sync(&w, 0, 0, 32, p.arrive, 1, 64);
    world_sync(&w, 0, 32, 32, p.bar, 1, 64);
    world_sync(&w, 0, 64, 32, p.bar, 2, 32);
    world_sync(&w, 0, 32, 32, p.bar, 1, 32);
    end(NULL, "named barriers, with another count the next time");
    begin(40);
    bar(0, 32);
    bar(32, 8);
    world_sync(&w, 0, 0, 32, p.bar, 1, 64);
    world_sync(&w, 0, 32, 8, p.bar, 1, 64);
    leave(0, 32);
    leave(32, 8);
    end(NULL, "a warp that is not full counts as one");
}

/* ---- warps */

static void collective(uint32_t thread, uint32_t n, const struct ir_instr *at, uint32_t mask)
{
    world_sync(&w, 0, thread, n, at, mask, 0);
}

static void test_warp(void)
{
    begin(32);
    collective(0, 32, p.warpsync, UINT32_MAX);
    collective(0, 16, p.shfl, 0xffff);
    collective(16, 16, p.vote, 0xffff0000);
    collective(0, 32, p.vote, UINT32_MAX);
    leave(0, 32);
    end(NULL, "masks that fit");

    begin(32);
    collective(0, 17, p.warpsync, 0xffff);
    leave(0, 32);
    world_end(&w);
    ok(world_nfound == 1 &&
           !strcmp(world_found[0].title, "Barrier error detected. Invalid arguments."),
       "a mask without the lane that calls");
    ok(world_found[0].threads[0] == 16 && world_found[0].count == 1, "which lane that was");

    begin(32);
    for (uint32_t t = 0; t < 32; t++)
        collective(t, 1, p.shfl, UINT32_MAX);
    for (uint32_t t = 0; t < 32; t++)
        leave(t, 1);
    end(NULL, "lane by lane");

    begin(32);
    leave(8, 24);
    collective(0, 8, p.shfl, UINT32_MAX);
    collective(0, 8, p.warpsync, UINT32_MAX);
    leave(0, 8);
    end(NULL, "lanes that have ended need not come");

    begin(32);
    collective(0, 8, p.warpsync, UINT32_MAX);
    leave(8, 24);
    collective(0, 8, p.warpsync, 0xff);
    leave(0, 8);
    end(NULL, "they end while the others wait");

    begin(32);
    collective(0, 16, p.shfl, UINT32_MAX);
    collective(0, 16, p.shfl, UINT32_MAX);
    world_end(&w);
    ok(world_nfound &&
           !strcmp(world_found[0].title, "Barrier error detected. Divergent thread(s) in warp."),
       "lanes go on without the others");
    eq_str(world_found[0].detail, "Of the lanes 0xffffffff of its mask 0xffff0000 have not come",
           "which");

    begin(32);
    collective(0, 16, p.shfl, UINT32_MAX);
    collective(16, 16, p.vote, UINT32_MAX);
    world_end(&w);
    eq_u64(world_nfound, 2, "two operations wait for each other");

    begin(32);
    collective(0, 16, p.warpsync, UINT32_MAX);
    collective(16, 16, p.warpsync, 0xffff0000);
    end(NULL, "masks that differ: who waits may still be met");
}

/* ---- clusters */

static void test_cluster(void)
{
    begin(32);
    for (unsigned i = 0; i < 2; i++) {
        world_sync(&w, 0, 0, 32, p.cluster_arrive, 0, 0);
        world_sync(&w, 0, 0, 32, p.cluster_wait, 0, 0);
    }
    leave(0, 32);
    end(NULL, "arrive and wait");
    begin(32);
    world_sync(&w, 0, 0, 32, p.cluster_wait, 0, 0);
    leave(0, 32);
    end("cluster-order", "a wait alone");
    begin(32);
    world_sync(&w, 0, 0, 32, p.cluster_arrive, 0, 0);
    world_sync(&w, 0, 4, 1, p.cluster_arrive, 0, 0);
    leave(0, 32);
    end("cluster-order", "arriving twice");
}

/* ---- mbarriers */

enum { MBAR = 64 };

static void test_mbarrier(void)
{
    begin(64);
    world_mbar(&w, 0, 0, p.init, MBAR, 2);
    for (uint64_t phase = 0; phase < 3; phase++) {
        world_mbar(&w, 0, 0, p.marrive, MBAR, 1);
        world_mbar(&w, 0, 32, p.test_parity, MBAR, phase & 1);
        world_mbar(&w, 0, 32, p.marrive, MBAR, 1);
        world_mbar(&w, 0, 32, p.test_parity, MBAR, phase & 1);
    }
    leave(0, 32);
    leave(32, 32);
    end(NULL, "an mbarrier of three phases");

    world_options.missing_init_is_fatal = true;
    begin(32);
    world_sync(&w, 0, 0, 1, p.marrive, MBAR, 1);
    eq_u64(w.status, HD_TRAP, "without init the block ends");
    world_end(&w);
    ok(world_nfound == 1 && !strcmp(world_found[0].title, "Barrier error detected. Missing init."),
       "and is told so");
    eq_str(world_found[0].detail, "Barrier is located at shared address 0x40", "where");
    world_options.missing_init_is_fatal = false;
    begin(32);
    world_sync(&w, 0, 0, 1, p.test_parity, MBAR, 0);
    eq_u64(w.status, HD_OK, "it goes on if the option says so");
    leave(0, 32);
    end("missing-init", "a test without init");

    begin(32);
    world_mbar(&w, 0, 0, p.init, MBAR, 2);
    world_sync(&w, 0, 0, 1, p.marrive, MBAR, 3);
    leave(0, 32);
    end("invalid-arguments", "more arrivals than it needs");
    begin(32);
    world_sync(&w, 0, 0, 1, p.init, MBAR, 0);
    leave(0, 32);
    end("invalid-arguments", "a count of 0");
    begin(32);
    world_mbar(&w, 0, 0, p.init, MBAR, 2);
    world_mbar(&w, 0, 0, p.marrive, MBAR, 1);
    world_mbar(&w, 0, 0, p.init, MBAR, 2);
    leave(0, 32);
    end("init-in-use", "made again while a phase has begun");
    begin(32);
    world_mbar(&w, 0, 0, p.init, MBAR, 2);
    world_mbar(&w, 0, 0, p.init, MBAR, 2);
    leave(0, 32);
    end(NULL, "made again before");
    begin(32);
    world_mbar(&w, 0, 0, p.init, MBAR, 1);
    for (unsigned i = 0; i < 3; i++)
        world_mbar(&w, 0, 0, p.marrive, MBAR, 1);
    leave(0, 32);
    end("missing-wait", "two phases that nobody waited for");
}

int main(void)
{
    make_probes();
    test_block();
    test_stuck();
    test_arguments();
    test_warp();
    test_cluster();
    test_mbarrier();
    world_fini(&w);
    return done();
}
