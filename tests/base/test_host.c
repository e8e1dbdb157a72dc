/* HEDDLE_HOST_CPU hides what the host has beyond a level, and nothing gives it what it lacks. */
#include "base/host.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

/* The best level of a process with that value. */
static int best(const char *value)
{
    int status;
    pid_t child = fork();

    if (!child) {
        int level = HD_HOST_AVX512;
        if (value)
            setenv("HEDDLE_HOST_CPU", value, 1);
        else
            unsetenv("HEDDLE_HOST_CPU");
        while (!hd_host_has((enum hd_host_level)level))
            level--;
        _exit(level);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

int main(void)
{
    int host = best(NULL);

    ok(host >= HD_HOST_GENERIC, "this host has %s",
       host < 0 ? "?" : hd_host_level_name((enum hd_host_level)host));
    for (int i = 0; i <= HD_HOST_AVX512; i++)
        eq_u64((unsigned)best(hd_host_level_name((enum hd_host_level)i)), (unsigned)HD_MIN(i, host),
               "at most %s", hd_host_level_name((enum hd_host_level)i));
    setenv("HEDDLE_HOST_CPU", "generic", 1);
    ok(tap_lacks("avx2") && tap_lacks("avx512,-vbmi") && !tap_lacks("generic") && !tap_lacks(NULL),
       "tests know what is hidden");
    return done();
}
