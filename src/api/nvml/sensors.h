/*
 * What Linux tells of the host's CPUs, below a folder that stands for `/`: tests bring their own.
 * Machines without sensors and virtual ones have few of these files, and often only root may read
 * the energy. Thread-safe.
 */
#ifndef HD_API_NVML_SENSORS_H
#define HD_API_NVML_SENSORS_H

#include <stdbool.h>
#include <stdint.h>

/* In each, false: it is not to be found out. */
/* Of all CPUs: what they run at now, and the most that one can. MHz. */
bool sensors_clock_MHz(const char *root, unsigned *out_now);
bool sensors_max_clock_MHz(const char *root, unsigned *out_max);
/* The hottest CPU, in degrees Celsius. */
bool sensors_temperature_C(const char *root, int *out_temperature);
/* Of all packages since some time, in microjoules. Each begins again from 0 every few hours. */
bool sensors_energy_uJ(const char *root, uint64_t *out_energy);
/* That all packages together may take over time, in milliwatts. */
bool sensors_power_limit_mW(const char *root, uint64_t *out_limit);

#endif
