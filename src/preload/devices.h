/*
 * /dev/nvidiactl and /dev/nvidia0 ... : clients look whether they exist before they open libcuda
 * (JAX does). Here they exist for stat() and access(), one per device; they cannot be opened, and
 * folders do not list them. docs/decisions/0103-what-clients-look-for.md
 */
#ifndef HD_PRELOAD_DEVICES_H
#define HD_PRELOAD_DEVICES_H

/* Finds the C library's functions; before that, files are what they are. */
void devices_start(void);

#endif
