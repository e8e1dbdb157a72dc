/*
 * heddle-device: a device for another process, which has started this one with a socket as
 * descriptor 3, and ends it by closing it (src/dev/remote/remote.h).
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/env.h"
#include "dev/remote/remote.h"

#define SOCKET 3

int main(int argc, char **argv)
{
    (void)argv;
    if (argc != 1) {
        fprintf(stderr, "heddle-device: started by libcuda for HEDDLE_DEVICE=remote-cpu\n");
        return 2;
    }
    signal(SIGINT, SIG_IGN); /* who started it decides */
    if (hd_env_check() != HD_OK || remote_serve(SOCKET) != HD_OK)
        return 1;
    _exit(0); /* grids may still run, for nobody */
}
