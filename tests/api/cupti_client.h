/* What tests of CUPTI's functions share. */
#ifndef HEDDLE_TESTS_CUPTI_CLIENT_H
#define HEDDLE_TESTS_CUPTI_CLIENT_H

#include <cupti.h>

#include "support/tap.h"

static inline void cupti_is(CUptiResult result, CUptiResult want, const char *what)
{
    eq_u64(result, want, "%s", what);
}
#define OK(call)       cupti_is((call), CUPTI_SUCCESS, #call)
#define FAILS(call, e) cupti_is((call), (e), #call)

#endif
