/* A device whose clock is not the host's: what events and taps are told is host time. */
#include "../api/driver_fixture.h"
#include "core/core.h"
#include "hal/hal.h"
#include "heddle/tap.h"

enum { HZ = 250000000, HOST_NS = 5000000 };

static _Atomic uint64_t ticks;

static uint64_t clock_now(struct hal_device *device)
{
    (void)device;
    return atomic_load(&ticks);
}

static void test_conversion(void)
{
    const struct hal_clock host = HAL_CLOCK_HOST, clock = {.hz = HZ, .ticks = 1000, .host_ns = 70};

    eq_u64(hal_clock_host_ns(&host, 123), 123, "the host's clock is itself");
    eq_u64(hal_clock_host_ns(&clock, 1000), 70, "the moment that is known");
    eq_u64(hal_clock_host_ns(&clock, 1000 + HZ), 1000000070, "a second after it");
    eq_u64(hal_clock_host_ns(&clock, 990), 30, "ten ticks before it");
    eq_u64(hal_clock_host_ns(&clock, (uint64_t)HZ * 1000000000 + 1000),
           UINT64_C(1000000000) * 1000000000 + 70, "a billion seconds do not overflow");
    ok(hal_clock_between_ns(&clock, 2000, 1000) == -4000, "back in time");
}

static uint64_t seen_start_ns, seen_end_ns;

static void on_event(void *user, const struct heddle_event *e)
{
    (void)user;
    if (e->kind == HEDDLE_EVENT_RETIRED && e->packet.op == HAL_OP_FILL) {
        seen_start_ns = e->packet.start_ns;
        seen_end_ns = e->packet.end_ns;
    }
}

int main(void)
{
    struct hal_device_ops ops;
    struct hal_device *hal;
    CUevent events[2];
    CUdeviceptr memory;
    CUcontext context;
    float ms;

    test_conversion();
    setenv("HEDDLE_DEVICE", "interp", 1);
    setenv("HEDDLE_MEMORY", "64M", 1);
    success(cuInit(0), "cuInit");
    hal = core_device_at(0)->hal;
    ops = *hal->ops;
    ops.clock_now = clock_now;
    hal->ops = &ops;
    hal->info.clock = (struct hal_clock){.hz = HZ, .ticks = 0, .host_ns = HOST_NS};
    success(cuDevicePrimaryCtxRetain(&context, 0), "context");
    success(cuCtxSetCurrent(context), "current");
    success(cuMemAlloc_v2(&memory, 4096), "memory");
    for (int i = 0; i < 2; i++) {
        success(cuEventCreate(&events[i], 0), "event");
        atomic_store(&ticks, 1000u + (unsigned)i * 250000u);
        success(cuEventRecord(events[i], NULL), "record");
        success(cuEventSynchronize(events[i]), "wait");
    }
    success(cuEventElapsedTime(&ms, events[0], events[1]), "elapsed");
    ok(ms == 1.0f, "250,000 ticks are a millisecond: %f", (double)ms);
    success(cuEventElapsedTime(&ms, events[1], events[0]), "elapsed");
    ok(ms == -1.0f, "and back: %f", (double)ms);
    ok(heddle_tap_subscribe(HEDDLE_KIND(RETIRED), on_event, NULL) != 0, "a tap");
    success(cuMemsetD32_v2(memory, 1, 16), "fill");
    success(cuCtxSynchronize(), "wait");
    eq_u64(seen_start_ns, HOST_NS + 251000 * 4, "a stamp in host time");
    eq_u64(seen_end_ns, HOST_NS + 251000 * 4, "its end");
    return done();
}
