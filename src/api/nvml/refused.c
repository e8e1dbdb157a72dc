/* Functions for what devices of Heddle's do not have, and those that would change a device. */
#include "api/nvml/ml.h"

/* The header declares what there is, spec/api/nvml.def names all; arguments are not looked at. */
#define HAVE(name)
#define REFUSED(name)                                                                              \
    HD_EXPORT nvmlReturn_t name(void);                                                             \
    nvmlReturn_t name(void)                                                                        \
    {                                                                                              \
        ML_TRY(ml_ready());                                                                        \
        return NVML_ERROR_NOT_SUPPORTED;                                                           \
    }
#define X(name, state, text) state(name)
#include "api/nvml.def"
#undef X
