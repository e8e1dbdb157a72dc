/* One at a time: who is alone is alone, and nobody waits for ever. */
#include <pthread.h>
#include <unistd.h>

#include "hal/hal.h"
#include "tap.h"

enum { THREADS = 6, ROUNDS = 300 };

static _Atomic uint32_t inside, alone, wrong, was_alone;

static void be_alone(void)
{
    if (!hal_serial_enter_alone(UINT64_C(60000000000))) {
        atomic_fetch_add(&wrong, 1);
        hal_serial_leave();
        return;
    }
    atomic_fetch_add(&was_alone, 1);
    wrong += atomic_fetch_add(&alone, 1) != 0 || atomic_load(&inside) != 0;
    sched_yield();
    wrong += atomic_fetch_sub(&alone, 1) != 1 || atomic_load(&inside) != 0;
    hal_serial_leave_alone();
}

static void be_inside(void)
{
    hal_serial_enter();
    atomic_fetch_add(&inside, 1);
    wrong += atomic_load(&alone) != 0;
    atomic_fetch_sub(&inside, 1);
    hal_serial_leave();
}

static void *work(void *arg)
{
    uint64_t state = (uintptr_t)arg;

    for (int i = 0; i < ROUNDS; i++) {
        if (tap_random(&state) % 8 == 0)
            be_alone();
        else
            be_inside();
    }
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ok(!wrong && was_alone, "nobody is inside with one who is alone");
}

static void *enter_and_leave(void *arg)
{
    hal_serial_enter();
    atomic_store((_Atomic uint32_t *)arg, 1);
    hal_serial_leave();
    return NULL;
}

static void test_impatience(void)
{
    _Atomic uint32_t entered = 0;
    pthread_t other;

    hal_serial_enter();
    ok(!hal_serial_enter_alone(1000000), "others do not end: it is inside with them");
    hal_serial_leave();
    hal_serial_leave();
    ok(hal_serial_enter_alone(1000000), "now it is alone");
    if (pthread_create(&other, NULL, enter_and_leave, (void *)&entered))
        abort();
    hal_serial_share();
    pthread_join(other, NULL);
    ok(entered, "who shares lets others in");
    hal_serial_leave();
    ok(hal_serial_enter_alone(1000000), "and all is as before");
    hal_serial_leave_alone();
}

int main(void)
{
    hal_serial_enter();
    hal_serial_leave();
    ok(!hal_serial_is_on(), "off, it is nothing");
    hal_serial_start();
    ok(hal_serial_is_on(), "on");
    test_threads();
    test_impatience();
    return done();
}
