/* Attributes that are 0 for lack of a feature: the table is true, and the log says it if asked. */
#include "driver_fixture.h"

#include <unistd.h>

#include "base/log.h"

enum have { NO, REFUSES, YES };

static const struct {
    const char *symbol;
    enum have have;
} entries[] = {
#define X(symbol, name, since, twin, have, ...) {#symbol, have},
#include "api/driver.def"
#undef X
};

static int have_of(const char *symbol)
{
    for (size_t i = 0; i < HD_COUNT_OF(entries); i++)
        if (!strcmp(entries[i].symbol, symbol))
            return (int)entries[i].have;
    return -1;
}

/* Rows of the device table that name a feature. */
enum {
#define X(name, what, function) ROWS_##name,
#include "features.def"
#undef X
};

static const uint8_t rows[] = {
#define X(name, number, value)
#define LACKS(name, number, feature) ROWS_##feature,
#include "device.def"
#undef X
};

static unsigned rows_of(unsigned feature)
{
    unsigned n = 0;

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        n += rows[i] == feature;
    return n;
}

static void test_table(void)
{
#define X(name, what, function)                                                                    \
    eq_u64((uint64_t)have_of(#function), NO, "%s: %s is not implemented", what, #function);        \
    ok(rows_of(ROWS_##name) > 0, "some attribute is 0 for lack of %s", what);
#include "features.def"
#undef X
}

/* What the log gets while `work` runs. */
static const char *logged(void (*work)(void))
{
    static char text[8192];
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    size_t n;

    if (!file || kept < 0 || dup2(fileno(file), STDERR_FILENO) < 0)
        abort();
    work();
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

static void ask(void)
{
    int value = -1;

    success(
        cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, 0),
        "semaphores");
    eq_u64((uint64_t)value, 0, "are not there");
    success(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), "what is there");
    (void)cuDeviceGetAttribute(&value, (CUdevice_attribute)-1, 0);
    (void)cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0);
}

static int values[CU_DEVICE_ATTRIBUTE_MAX];

static void ask_all(void)
{
    heddle_device_attributes(0, values);
}

static void test_log(void)
{
    const char *text;

    eq_str(logged(ask), "", "nothing is said without the flag");
    hd_debug_flags |= HD_DEBUG_LOAD;
    eq_str(logged(ask),
           "heddle[load]: device attribute TIMELINE_SEMAPHORE_INTEROP_SUPPORTED is 0: Heddle has "
           "no external semaphores yet (cuImportExternalSemaphore)\n",
           "what is asked for");
    eq_str(logged(ask), "", "once");
    text = logged(ask_all);
    ok(strstr(text, "device properties are 0 where Heddle has no feature yet: ") &&
           strstr(text, "(cuImportExternalSemaphore)") && strchr(text, '\n') == strrchr(text, '\n'),
       "all of them are one line: %s", text);
    eq_str(logged(ask_all), "", "once, too");
    eq_u64((uint64_t)values[CU_DEVICE_ATTRIBUTE_WARP_SIZE], 32, "and have their values");
    hd_debug_flags &= ~(uint32_t)HD_DEBUG_LOAD;
}

int main(void)
{
    setenv("HEDDLE_MEMORY", "256M", 1);
    unsetenv("HEDDLE_LOG");
    success(cuInit(0), "cuInit");
    test_table();
    test_log();
    return done();
}
