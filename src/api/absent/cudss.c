/* cuDSS's version. */
#include "api/absent/absent.h"

enum { INVALID_VALUE = 3 };

ABSENT_PROPERTY(cudssGetProperty, INVALID_VALUE)
