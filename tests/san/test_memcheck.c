/* memcheck on accesses, heaps and events that are made by hand. */
#include "san/memcheck/memcheck.h"
#include "world.h"

static struct world w;

#define G IR_SPACE_GLOBAL
#define A UINT64_C(0x500000000000)

static void test_bounds(void)
{
    alloc(A, 1000);
    alloc(A + 0x1000, 64);
    world_launch(&w, 0);
    ok(shoot(&w, (struct shot){SAN_WRITE, G, .va = A, .stride = 4, .size_B = 4, .align_B = 4}) ==
           HD_OK,
       "the first bytes");
    ok(shoot(&w, (struct shot){SAN_READ, G, .lanes = 1, .va = A + 996, .size_B = 4}) == HD_OK,
       "the last ones");
    ok(shoot(&w, (struct shot){SAN_READ, G, .lanes = 1, .va = A + 999, .size_B = 1}) == HD_OK,
       "the last byte");
    eq_u64(reports_take(), 0, "nothing to report");
    ok(shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 4, .va = A + 1000, .size_B = 1}) ==
           HD_ILLEGAL_ADDRESS,
       "the first byte behind");
    eq_u64(reports.n, 1, "one report");
    ok(says(0, "Invalid __global__ write of size 1 bytes"), "title");
    ok(says(0, "Access at 0x5000000003e8 is out of bounds"), "address");
    ok(says(0, "and is 0 bytes after the nearest allocation at 0x500000000000 of size 1000 bytes"),
       "nearest");
    ok(reports.at[0].actors[0].lane == 2 && reports.at[0].nactors == 1, "lane");
    eq_str(reports.at[0].kind, "invalid-write", "kind");
    ok(reports.at[0].allocated && reports.at[0].allocated->n, "where it was allocated");
    reports_take();
    ok(shoot(&w, (struct shot){SAN_READ, G, .lanes = 1, .va = A + 0xffc, .size_B = 4}) ==
           HD_ILLEGAL_ADDRESS,
       "in front of the second block");
    ok(says(0, "Invalid __global__ read of size 4 bytes") &&
           says(0,
                "and is 4 bytes before the nearest allocation at 0x500000001000 of size 64 bytes"),
       "before");
    reports_take();
    ok(shoot(&w, (struct shot){SAN_READ, G, .lanes = 1, .va = A + 992, .size_B = 16}) ==
           HD_ILLEGAL_ADDRESS,
       "a vector that leaves the block");
    ok(says(0, "and is inside the nearest allocation at 0x500000000000"), "inside, but not whole");
    reports_take();
    ok(shoot(&w, (struct shot){SAN_ATOMIC, G, .va = A + 940, .stride = 4, .size_B = 4}) ==
           HD_ILLEGAL_ADDRESS,
       "half a warp is outside");
    eq_u64(reports.n, 32 - 15, "a report for each thread");
    ok(says(0, "Invalid __global__ atomic of size 4 bytes"), "atomic");
    reports_take();
    world_end(&w);
}

static void test_two_blocks(void)
{
    uint64_t address[32];

    world_launch(&w, 0);
    for (unsigned i = 0; i < 32; i++)
        address[i] = i % 2 ? A + 0x1000 + i : A + 4 * i;
    ok(shoot(&w, (struct shot){SAN_READ, G, .size_B = 1, .address = address}) == HD_OK,
       "lanes in two blocks");
    eq_u64(w.ranges[0].size_B, 0, "no range for both");
    address[7] = A + 0x800;
    ok(shoot(&w, (struct shot){SAN_READ, G, .size_B = 1, .address = address}) == HD_ILLEGAL_ADDRESS,
       "and one in none");
    eq_u64(reports.at[0].actors[0].lane, 7, "is the one");
    reports_take();
    world_end(&w);
}

static void test_misaligned(void)
{
    world_launch(&w, 0);
    ok(shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 2, .va = A + 1, .size_B = 4, .align_B = 4}) ==
           HD_MISALIGNED,
       "misaligned");
    ok(says(0, "Access at 0x500000000001 is misaligned") && says(0, "and is inside the nearest"),
       "what is said");
    eq_str(reports.at[0].kind, "misaligned-write", "kind");
    reports_take();
    ok(shoot(&w, (struct shot){SAN_READ, IR_SPACE_SHARED, .lanes = 1, .va = 2, .size_B = 4,
                               .align_B = 4}) == HD_MISALIGNED,
       "in shared memory");
    ok(says(0, "Invalid __shared__ read of size 4 bytes"), "title");
    reports_take();
    world_end(&w);
}

static void test_windows(void)
{
    static const struct {
        enum ir_space space;
        uint64_t size_B;
        const char *title;
    } rows[] = {{IR_SPACE_SHARED, 1000, "Invalid __shared__ read of size 4 bytes"},
                {IR_SPACE_LOCAL, 256, "Invalid __local__ read of size 4 bytes"},
                {IR_SPACE_PARAM, 20, "Invalid __param__ read of size 4 bytes"}};

    world_launch(&w, 0);
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        struct shot s = {SAN_READ, rows[i].space, .lanes = 1, .va = rows[i].size_B - 4,
                         .size_B = 4};

        ok(shoot(&w, s) == HD_OK, "the last word of a window");
        s.va++;
        ok(shoot(&w, s) == HD_ILLEGAL_ADDRESS && says(0, rows[i].title), "%s", rows[i].title);
        s.va = UINT64_MAX - 3;
        reports_take();
        ok(shoot(&w, s) == HD_ILLEGAL_ADDRESS, "an address that wraps around");
        reports_take();
    }
    world_end(&w);
}

static void test_ranges(void)
{
    struct shot s = {SAN_READ,    G,           .number = 3, .va = A + 16,
                     .stride = 4, .size_B = 4, .offset = 16};

    world_launch(&w, 0);
    ok(shoot(&w, s) == HD_OK, "an access");
    eq_u64(w.ranges[3].size_B, 1000, "the range is the block");
    eq_u64(w.ranges[3].va, A - 16, "in the instruction's terms");
    s = (struct shot){SAN_READ, IR_SPACE_SHARED, .number = 4, .va = 0, .size_B = 4};
    (void)shoot(&w, s);
    eq_u64(w.ranges[4].size_B, 0, "none for shared memory by a generic address");
    s.its_space = IR_SPACE_SHARED;
    (void)shoot(&w, s);
    eq_u64(w.ranges[4].size_B, 1000, "but for one of shared memory");
    options.tools |= 1u << SAN_SYNCCHECK;
    s.number = 5;
    (void)shoot(&w, s);
    eq_u64(w.ranges[5].size_B, 0, "none where other tools look");
    options.tools = 1u << SAN_MEMCHECK;
    reports_take();
    world_end(&w);
}

static void test_freed(void)
{
    release(A + 0x1000, 64);
    world_launch(&w, 0);
    ok(shoot(&w, (struct shot){SAN_READ, G, .lanes = 1, .va = A + 0x1010, .size_B = 4}) ==
           HD_ILLEGAL_ADDRESS,
       "use after free");
    ok(says(0, "and is inside an allocation at 0x500000001000 of size 64 bytes that was freed"),
       "said");
    ok(reports.at[0].freed && reports.at[0].freed->n && reports.at[0].allocated, "both stacks");
    reports_take();
    world_end(&w);
    alloc(A + 0x1000, 32);
    world_launch(&w, 0);
    ok(shoot(&w, (struct shot){SAN_READ, G, .lanes = 1, .va = A + 0x101c, .size_B = 4}) == HD_OK,
       "the addresses are given again");
    ok(shoot(&w, (struct shot){SAN_READ, G, .lanes = 1, .va = A + 0x1020, .size_B = 4}) ==
           HD_ILLEGAL_ADDRESS,
       "fewer of them");
    reports_take();
    world_end(&w);
}

/* The host frees and allocates in a stream before the kernel runs. */
static void test_stream_order(void)
{
    uint64_t va = A + 0x4000;

    report_memory(A + 0x3000, 16, DEVICE, HEDDLE_MEMORY_PROGRAM, &streams[0], false);
    report_memory(A + 0x3000, 16, DEVICE, HEDDLE_MEMORY_PROGRAM, &streams[0], true);
    report_memory(va, 1000, DEVICE, HEDDLE_MEMORY_PROGRAM, &streams[0], false);
    submit(7);
    report_memory(va, 1000, DEVICE, HEDDLE_MEMORY_PROGRAM, &streams[0], true);
    submit(8);
    report_memory(va, 100, DEVICE, HEDDLE_MEMORY_PROGRAM, &streams[0], false);
    submit(9);
    for (uint64_t launch = 7; launch <= 9; launch++) {
        world_launch(&w, launch);
        ok((shoot(&w, (struct shot){SAN_READ, G, .lanes = 1, .va = va + 96, .size_B = 4}) ==
            HD_OK) == (launch != 8),
           "launch %d sees its memory", (int)launch);
        ok((shoot(&w, (struct shot){SAN_READ, G, .lanes = 1, .va = va + 996, .size_B = 4}) ==
            HD_OK) == (launch == 7),
           "launch %d sees its size", (int)launch);
        world_end(&w);
    }
    reports_take();
    report_memory(va, 100, DEVICE, HEDDLE_MEMORY_PROGRAM, &streams[0], true);
    world_launch(&w, 12345);
    ok(shoot(&w, (struct shot){SAN_READ, G, .lanes = 1, .va = va, .size_B = 4}) == HD_OK,
       "a launch of which nothing is known may have been before the free");
    reports_take();
    world_end(&w);
}

static void test_variables(void)
{
    static const struct heddle_variable variables[] = {{"table", A + 0x8000, 40},
                                                       {"count", A + 0x8100, 4}};

    report_memory(A + 0x8000, 0x200, DEVICE, HEDDLE_MEMORY_MODULE, NULL, false);
    report_object(HEDDLE_EVENT_MODULE, "module", &contexts[1], false, variables, 2);
    world_launch(&w, 0);
    ok(shoot(&w, (struct shot){SAN_READ, IR_SPACE_CONST, .lanes = 1, .va = A + 0x8024,
                               .size_B = 4}) == HD_OK,
       "a variable's end");
    ok(shoot(&w, (struct shot){SAN_READ, IR_SPACE_CONST, .lanes = 1, .va = A + 0x8028,
                               .size_B = 4}) == HD_ILLEGAL_ADDRESS &&
           says(0, "Invalid __constant__ read") && says(0, "which is the variable table"),
       "behind it");
    reports_take();
    world_end(&w);
    report_memory(A + 0x8000, 0x200, DEVICE, HEDDLE_MEMORY_MODULE, NULL, true);
    world_launch(&w, 0);
    ok(shoot(&w, (struct shot){SAN_READ, G, .lanes = 1, .va = A + 0x8100, .size_B = 4}) ==
           HD_ILLEGAL_ADDRESS,
       "after the module is unloaded");
    reports_take();
    world_end(&w);
}

static void test_elsewhere(void)
{
    static int host;

    world_launch(&w, 0);
    w.launch.about.workspace = &host;
    w.launch.about.workspace_B = sizeof(host);
    ok(shoot(&w, (struct shot){SAN_ATOMIC, G, .lanes = 1, .va = (uintptr_t)&host, .size_B = 4}) ==
           HD_OK,
       "what the threads of a cooperative launch meet in");
    w.launch.about.workspace = NULL;
    ok(shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = 8, .size_B = 4}) ==
               HD_ILLEGAL_ADDRESS &&
           says(0, "null pointer"),
       "a null pointer");
    reports_take();
    ok(shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = (uintptr_t)&host, .size_B = 4}) ==
               HD_ILLEGAL_ADDRESS &&
           says(0, "and is host memory that is not registered or managed"),
       "a variable of the program");
    reports_take();
    world_end(&w);
    report_memory((uintptr_t)&host, 4, REGISTERED, HEDDLE_MEMORY_PROGRAM, NULL, false);
    world_launch(&w, 0);
    ok(shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = (uintptr_t)&host, .size_B = 4}) ==
           HD_OK,
       "which is registered");
    world_end(&w);
    report_memory((uintptr_t)&host, 4, REGISTERED, HEDDLE_MEMORY_PROGRAM, NULL, true);
    report_memory(A + 0x200000, 0x1000, DEVICE, HEDDLE_MEMORY_MAPPED, NULL, false);
    report_memory(A + 0x201000, 0x1000, DEVICE, HEDDLE_MEMORY_MAPPED, NULL, false);
    world_launch(&w, 0);
    ok(shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = A + 0x200ff8, .size_B = 16}) ==
           HD_OK,
       "over the border of two mappings");
    alloc(A + 0x300000, 4);
    ok(shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = A + 0x300000, .size_B = 4}) == HD_OK,
       "memory that is newer than the launch");
    eq_u64(reports_take(), 0, "no report");
    world_end(&w);
}

static void test_heap(void)
{
    struct ir_instr probe = {.op = IR_OP_PROBE, .imm = ir_probe_imm(IR_OP_BUILTIN, true, 0)};
    uint64_t va = A + 0x700000, address[32] = {va, va + 0x2000}, size_B[32] = {24, 0x3000};
    struct san_sync at = {.probe = &probe, .lanes = 3};

    submit(20);
    world_launch(&w, 20);
    the_tool->heap_alloc(&w.cta, &at, address, size_B);
    ok(shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = va + 20, .size_B = 4}) == HD_OK,
       "memory of a kernel's malloc");
    ok(shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = va + 0x4ffc, .size_B = 4}) == HD_OK,
       "in its last page");
    ok(shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = va + 24, .size_B = 4}) ==
               HD_ILLEGAL_ADDRESS &&
           says(0,
                "and is 0 bytes after the nearest allocation at 0x500000700000 of size 24 bytes on "
                "the device heap"),
       "behind it");
    reports_take();
    at.lanes = 1;
    ok(the_tool->heap_free(&w.cta, &at, address) == HD_OK, "free");
    ok(shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = va, .size_B = 4}) ==
               HD_ILLEGAL_ADDRESS &&
           says(0, "on the device heap that was freed"),
       "use after free");
    reports_take();
    ok(the_tool->heap_free(&w.cta, &at, address) == HD_TRAP &&
           says(0, "Malloc/Free error encountered : Double free") &&
           says(0, "Address 0x500000700000"),
       "double free");
    reports_take();
    address[0] = va + 0x2010;
    ok(the_tool->heap_free(&w.cta, &at, address) == HD_TRAP && says(0, "Invalid pointer to free"),
       "invalid free");
    reports_take();
    address[0] = 0;
    ok(the_tool->heap_free(&w.cta, &at, address) == HD_OK, "free of nothing");
    the_tool->heap_alloc(&w.cta, &at, address, size_B);
    ok(says(0, "malloc of 24 bytes failed") && reports.at[0].severity == SAN_WARNING,
       "malloc fails");
    reports_take();
    address[0] = va;
    size_B[0] = 16;
    the_tool->heap_alloc(&w.cta, &at, address, size_B);
    ok(shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = va, .size_B = 4}) == HD_OK,
       "addresses are given again");
    world_end(&w);
}

/* ---- the host */

static const struct heddle_arg free_args[] = {{.name = "devPtr", .size_B = 8}};
static const struct heddle_entry free_entry = {.nargs = 1, .name = "cudaFree", .args = free_args};
static const struct heddle_entry driver_entry = {
    .nargs = 1, .name = "cuMemFree_v2", .args = free_args};
static const struct heddle_entry query_entry = {.name = "cudaStreamQuery_ptsz"};
static const struct heddle_entry table_entry = {.name = "cuGetExportTable"};

static void call(enum heddle_event_kind kind, const struct heddle_entry *entry,
                 enum heddle_event_phase phase, int64_t result, const void *args)
{
    struct heddle_event event = {.kind = (uint8_t)kind, .phase = (uint8_t)phase};

    event.call.entry = entry;
    event.call.args = args;
    event.call.result = result;
    report(event);
}

static void failing_free(uint64_t va)
{
    call(HEDDLE_EVENT_RUNTIME, &free_entry, HEDDLE_PHASE_BEGIN, 0, &va);
    call(HEDDLE_EVENT_DRIVER, &driver_entry, HEDDLE_PHASE_BEGIN, 0, &va);
    (void)!hd_error(HD_BAD_ARG, "free of 0x0123");
    call(HEDDLE_EVENT_DRIVER, &driver_entry, HEDDLE_PHASE_END, 1, &va);
    call(HEDDLE_EVENT_RUNTIME, &free_entry, HEDDLE_PHASE_END, 1, &va);
}

static void test_calls(void)
{
    alloc(A + 0x400000, 8);
    release(A + 0x400000, 8);
    failing_free(A + 0x400000);
    eq_u64(reports.n, 1, "one call of the program failed");
    ok(says(0, "Program hit cudaErrorInvalidValue (error 1) due to \"invalid argument\" on CUDA "
               "API call to "
               "cudaFree."),
       "title");
    ok(says(0, "free of 0x0123"), "what Heddle says of it");
    ok(says(0, "0x500000400000 is the start of an allocation of size 8 bytes that was freed") &&
           reports.at[0].freed && reports.at[0].stack,
       "double free");
    reports_take();
    options.report_api_errors = SAN_API_ALL;
    failing_free(1);
    ok(reports.n == 2 && says(0, "CUDA_ERROR_INVALID_VALUE (error 1)") &&
           says(0, "to cuMemFree_v2."),
       "and the driver's");
    reports_take();
    options.report_api_errors = SAN_API_EXPLICIT;
    failing_free(1);
    ok(reports.n == 1 && !reports.at[0].ndetails, "explicit: no more than the error");
    reports_take();
    options.report_api_errors = SAN_API_NO;
    failing_free(1);
    eq_u64(reports_take(), 0, "no: nothing");
    options.report_api_errors = SAN_API_EXTENDED;
    call(HEDDLE_EVENT_RUNTIME, &query_entry, HEDDLE_PHASE_BEGIN, 0, NULL);
    call(HEDDLE_EVENT_RUNTIME, &query_entry, HEDDLE_PHASE_END, 600, NULL);
    eq_u64(reports_take(), 0, "not ready is an answer");
    call(HEDDLE_EVENT_DRIVER, &table_entry, HEDDLE_PHASE_BEGIN, 0, NULL);
    call(HEDDLE_EVENT_DRIVER, &table_entry, HEDDLE_PHASE_END, 801, NULL);
    eq_u64(reports_take(), 0, "there are no private tables: likewise");
    call(HEDDLE_EVENT_RUNTIME, &query_entry, HEDDLE_PHASE_BEGIN, 0, NULL);
    call(HEDDLE_EVENT_RUNTIME, &query_entry, HEDDLE_PHASE_END, 4711, NULL);
    ok(says(0, "cudaErrorUnknown (error 4711)"), "an error of a later version");
    reports_take();
}

static void fault(const char *kernel)
{
    struct heddle_event event = {.kind = HEDDLE_EVENT_FAULT, .phase = HEDDLE_PHASE_POINT};

    event.fault.kernel = kernel;
    event.fault.message = "kernel _Z1kPi, block (0,0,0): device stack overflow";
    event.fault.status = HD_STACK_OVERFLOW;
    event.fault.file = "k.cu";
    event.fault.line = 7;
    event.fault.has_block = event.fault.has_thread = 1;
    event.fault.thread[0] = 3;
    report(event);
}

static void test_faults(void)
{
    report_object(HEDDLE_EVENT_OBJECT, "context", &contexts[1], true, NULL,
                  0); /* forgets others' */
    fault("_Z1kPi");
    ok(says(0, "Hardware exception: device stack overflow") && says(0, "at k(int *) in k.cu:7") &&
           says(0, "by thread (3,0,0) in block (0,0,0)") &&
           strcmp(reports.at[0].details[2], "block (0,0,0): device stack overflow") == 0,
       "a fault that nobody announced; its kernel is named once, as people write it");
    reports_take();
    world_launch(&w, 0);
    (void)shoot(&w, (struct shot){SAN_WRITE, G, .va = 8, .size_B = 4});
    world_end(&w);
    reports_take();
    fault("_Z1kPi");
    eq_u64(reports_take(), 0, "one that memcheck has told of");
    fault("_Z1kPi");
    eq_u64(reports_take(), 1, "and the next");
    fault(NULL);
    eq_u64(reports_take(), 1, "of no kernel");
}

static void test_leaks(void)
{
    options.leak_check = SAN_LEAK_FULL;
    report_memory(A + 0x500000, 64, MANAGED, HEDDLE_MEMORY_PROGRAM, NULL, false);
    report_memory(A + 0x600000, 64, PINNED, HEDDLE_MEMORY_PROGRAM, NULL, false);
    report_object(HEDDLE_EVENT_OBJECT, "context", &contexts[1], true, NULL, 0);
    eq_u64(reports_take(), 0, "another context");
    report_object(HEDDLE_EVENT_OBJECT, "stream", &contexts[0], true, NULL, 0);
    eq_u64(reports_take(), 0, "not a context");
    report_object(HEDDLE_EVENT_OBJECT, "context", &contexts[0], true, NULL, 0);
    ok(says(0, "Leaked 1000 bytes at 0x500000000000") && reports.at[0].allocated, "a leak");
    ok(says(reports.n - 3, "Leaked 64 bytes at 0x500000500000"),
       "the last one: managed, not pinned");
    ok(says(reports.n - 1, "Leaked 12288 bytes at 0x500000702000 on the device heap") ||
           says(reports.n - 2, "Leaked 12288 bytes at 0x500000702000 on the device heap"),
       "the device heap's");
    reports_take();
    alloc(A, 10);
    the_tool->finish();
    eq_u64(reports_take(), 1, "what is left when the process ends");
    report_object(HEDDLE_EVENT_OBJECT, "context", &contexts[0], true, NULL, 0);
    eq_u64(reports_take(), 0, "is told once");
    ok(reports.leaked_allocations > 3 && reports.leaked_B > 12288 + 1000, "summary");
}

/* ---- order of streams */

static const struct heddle_arg two_args[] = {{.name = "a", .size_B = 8},
                                             {.name = "b", .size_B = 8, .offset_B = 8}};
static const struct heddle_entry record_entry = {
    .nargs = 2, .name = "cuEventRecord", .args = two_args};
static const struct heddle_entry wait_entry = {
    .nargs = 2, .name = "cuStreamWaitEvent", .args = two_args};
static const struct heddle_entry sync_entry = {
    .nargs = 1, .name = "cuStreamSynchronize", .args = two_args};
static const struct heddle_entry other_entry = {
    .nargs = 1, .name = "cuCtxSynchronize", .args = two_args};
static int an_event;

static void done_call(const struct heddle_entry *entry, void *a, void *b)
{
    void *args[2] = {a, b};

    call(HEDDLE_EVENT_DRIVER, entry, HEDDLE_PHASE_BEGIN, 0, args);
    call(HEDDLE_EVENT_DRIVER, entry, HEDDLE_PHASE_END, 0, args);
}

static uint64_t next_launch = 100;

static void submit_to(void *stream)
{
    const union hal_packet p = {.head.op = HAL_OP_DISPATCH};
    struct heddle_event event = {.kind = HEDDLE_EVENT_PACKET,
                                 .phase = HEDDLE_PHASE_POINT,
                                 .correlation = ++next_launch,
                                 .context = &contexts[0],
                                 .stream = stream};

    event.packet.id = 10000 + next_launch;
    event.packet.packet = &p;
    event.packet.op = HAL_OP_DISPATCH;
    report(event);
}

/* The launch that was submitted last uses the memory. */
static enum hd_status use(uint64_t va)
{
    enum hd_status status;

    world_launch(&w, next_launch);
    status = shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = va, .size_B = 4});
    world_end(&w);
    return status;
}

static void in_stream(uint64_t va, void *stream, bool is_freed)
{
    report_memory(va, 16, DEVICE, HEDDLE_MEMORY_PROGRAM, stream, is_freed);
}

static void test_order(void)
{
    static int many[SAN_ORDER_STREAMS];
    uint64_t va = A + 0x800000;
    void *s = &streams[0], *t = &streams[1];

    report_object(HEDDLE_EVENT_OBJECT, "stream", s, false, NULL, 0);
    report_object(HEDDLE_EVENT_OBJECT, "stream", t, false, NULL, 0);
    in_stream(va, s, false);
    submit_to(s);
    ok(use(va) == HD_OK, "a stream's own memory");
    submit_to(t);
    ok(use(va) == HD_ILLEGAL_ADDRESS && says(0, "Invalid __global__ write of size 4 bytes") &&
           says(0, "Access at 0x500000800000 is used before its allocation") &&
           says(0, "which another stream allocates"),
       "another's");
    eq_str(reports.at[0].kind, "stream-write-before-alloc", "kind");
    reports_take();
    options.stream_races = SAN_STREAM_RACES_AFTER;
    ok(use(va) == HD_OK, "which may be left out");
    options.stream_races = SAN_STREAM_RACES_ALL;
    submit_to(NULL);
    ok(use(va) == HD_OK, "the default stream waits for all");
    in_stream(va + 64, s, false);
    done_call(&record_entry, &an_event, s);
    submit_to(t);
    ok(use(va + 64) == HD_ILLEGAL_ADDRESS, "a recorded event that nobody waits for");
    reports_take();
    done_call(&wait_entry, t, &an_event);
    submit_to(t);
    ok(use(va + 64) == HD_OK, "one that the stream waits for");
    in_stream(va + 128, s, false);
    submit_to(t);
    ok(use(va + 128) == HD_ILLEGAL_ADDRESS, "what was allocated after it");
    reports_take();
    done_call(&sync_entry, s, NULL);
    submit_to(t);
    ok(use(va + 128) == HD_OK, "after the host has waited");
    in_stream(va + 128, s, true);
    ok(says(0, "Stream-ordered race: free of 0x500000800080 of size 16 bytes") &&
           says(0, "a kernel in another one that uses it") && reports.at[0].stack,
       "a free that does not wait for a use");
    eq_str(reports.at[0].kind, "stream-use-after-free", "kind");
    reports_take();
    done_call(&record_entry, &an_event, t);
    done_call(&wait_entry, s, &an_event);
    in_stream(va + 64, s, true);
    eq_u64(reports_take(), 0, "a free that waits");
    in_stream(va, t, true);
    eq_u64(reports_take(), 0, "another stream frees what it knows of");
    in_stream(va, s, false);
    in_stream(va, t, true);
    ok(says(0, "does not wait for the allocation"), "and what it does not");
    reports_take();
    in_stream(va, s, false);
    done_call(&other_entry, NULL, NULL);
    submit_to(t);
    in_stream(va, s, true);
    ok(use(va) == HD_OK && says(0, "is used after its free") &&
           says(0, "which another stream frees"),
       "a kernel that runs after a free that does not wait");
    reports_take();
    in_stream(va, s, false);
    done_call(&other_entry, NULL, NULL);
    submit_to(t);
    done_call(&other_entry, NULL, NULL);
    in_stream(va, s, true);
    ok(use(va) == HD_OK && !reports_take(), "one that the host has waited for");
    for (unsigned i = 0; i < SAN_ORDER_STREAMS; i++) {
        report_object(HEDDLE_EVENT_OBJECT, "stream", &many[i], false, NULL, 0);
        submit_to(&many[i]);
    }
    in_stream(va, s, false);
    submit_to(&many[SAN_ORDER_STREAMS - 1]);
    ok(use(va) == HD_OK && !reports_take(), "too many streams: the last ones come after all");
    report_object(HEDDLE_EVENT_OBJECT, "event", &an_event, true, NULL, 0);
    in_stream(va, s, true);
    reports_take(); /* nothing makes the stream wait for that one */
}

int main(void)
{
    world_init(&san_memcheck);
    options.tools = 1u << SAN_MEMCHECK;
    test_bounds();
    test_two_blocks();
    test_misaligned();
    test_windows();
    test_ranges();
    test_freed();
    test_stream_order();
    test_variables();
    test_elsewhere();
    test_heap();
    test_order();
    test_calls();
    test_faults();
    test_leaks();
    san_order_stop();
    san_memory_stop();
    san_options_fini(&options);
    return done();
}
