/* The devices that exist. */
#include "dev/cpu/cpu.h"
#include "dev/interp/interp_device.h"
#include "dev/remote/remote.h"
#include "dev/sim/sim_device.h"

const struct hal_backend hal_backends[] = {
    {"cpu", "host code, all threads of the machine", cpu_device_create, false},
    {"interp", "reference interpreter: slow, checks every access", interp_device_create, false},
    {"sim", "simulated GPU: runs machine code of Heddle's own", sim_device_create, true},
    {"remote-cpu", "the cpu device in a process of its own", remote_cpu_create, false},
    {"remote-interp", "the interp device in a process of its own", remote_interp_create, false},
    {0},
};
