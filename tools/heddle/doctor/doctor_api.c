/*
 * Which entry points Heddle implements: read from the tables that the libraries themselves are made
 * from, because a library exports also what it answers with "not supported".
 */
#include "doctor/doctor.h"

#include <string.h>

struct api_row {
    const char *symbol;
    bool have;
};

#define HAVE_YES     1
#define HAVE_REFUSES 0
#define HAVE_NO      0

#define TWIN_NONE(symbol, have)
#define TWIN_PTSZ(symbol, have) {#symbol "_ptsz", HAVE_##have},
#define TWIN_PTDS(symbol, have) {#symbol "_ptds", HAVE_##have},

static const struct api_row driver_rows[] = {
#define X(symbol, name, since, twin, have, ...) {#symbol, HAVE_##have}, TWIN_##twin(symbol, have)
#include "api/driver.def"
#undef X
    {NULL, false},
};

static const struct api_row runtime_rows[] = {
#define X(symbol, nodes, twin, have, ...) {#symbol, HAVE_##have}, TWIN_##twin(symbol, have)
#include "api/runtime.def"
#undef X
    {NULL, false},
};

enum doctor_state doctor_table_state(const char *symbol, bool is_driver)
{
    const struct api_row *row = is_driver ? driver_rows : runtime_rows;
    for (; row->symbol; row++)
        if (!strcmp(row->symbol, symbol))
            return row->have ? DOCTOR_SUPPORTED : DOCTOR_REFUSED;
    return DOCTOR_UNKNOWN;
}
