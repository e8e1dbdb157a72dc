/* The devices that exist. */
#include "dev/cpu/cpu.h"
#include "dev/interp/interp_device.h"

const struct hal_backend hal_backends[] = {
    {"cpu", "host code, all threads of the machine", cpu_device_create},
    {"interp", "reference interpreter: slow, checks every access", interp_device_create},
    {0},
};
