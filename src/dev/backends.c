/* The devices that exist. */
#include "dev/cpu/cpu.h"

const struct hal_backend hal_backends[] = {
    {"cpu", "host code, all threads of the machine", cpu_device_create},
    {0},
};
