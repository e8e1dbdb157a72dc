/* The attribute macros under the path that the SDK uses. */
#include "../host_defines.h"
