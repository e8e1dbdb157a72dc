/* Functions of cuFFT that there are not: each fails, and says its name once. */
#include "api/cufft/refused.h"

/* Whatever the arguments are: they are not looked at. */
#define X(name)                                                                                    \
    HD_EXPORT int name(void);                                                                      \
    int name(void)                                                                                 \
    {                                                                                              \
        static _Atomic bool said;                                                                  \
        lib_refuse(&fft_info, #name, &said);                                                       \
        return REFUSED;                                                                            \
    }
#include "api/cufft_refused.def"
