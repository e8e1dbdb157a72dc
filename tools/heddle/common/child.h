/*
 * A child process that does the work, while this one waits and passes signals on: what has to be
 * done behind the work (a folder is removed, a report is made) is done whatever ended it.
 *
 *     child_signals_hold();
 *     child_run(work, state, false, &status);
 *     what has to be done;
 *     child_signals_release();
 *
 * Between the two no signal but SIGKILL ends this process. One that comes while the child runs is
 * the child's; one that comes before or later is raised again by child_signals_release(). What a
 * terminal sends (Ctrl-C) reaches the child by itself.
 *
 * Threads: the main one, without others; one child at a time. A child may have one of its own.
 */
#ifndef HEDDLE_TOOLS_CHILD_H
#define HEDDLE_TOOLS_CHILD_H

#include <stdbool.h>

void child_signals_hold(void);
void child_signals_release(void);

/*
 * Forks: the child has signals as they were before they were held, and ends with the exit status
 * that `work` returns. The waitpid() status of the child, when it, or with `all` every process that
 * is this one's to wait for, has ended. False: errno.
 */
bool child_run(int (*work)(void *state), void *state, bool all, int *out_status);
/* As shells have it: 128 and the signal. */
int child_exit_code(int status);

#endif
