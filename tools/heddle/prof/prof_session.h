/*
 * The folder in which processes leave their recording, beside the report that is made of it, and
 * the program that is recorded. It holds all that is known of a run until the report is made, and
 * nobody needs it afterwards: from prof_session_begin() to prof_session_end() no signal but SIGKILL
 * ends heddle, so that the folder goes whatever comes. One that comes while the program runs is the
 * program's; one that comes later is raised again when the report is made.
 *
 * Threads: heddle has one; a process has one session.
 */
#ifndef HEDDLE_TOOLS_PROF_SESSION_H
#define HEDDLE_TOOLS_PROF_SESSION_H

#include <stdbool.h>

/* An absolute path; NULL after a message, and then nothing is to be ended. */
char *prof_session_begin(const char *report);
/*
 * Forks: the child calls `become`, which executes the program or returns an exit status. The
 * program's exit status when it, or with `all` everything that it started, has ended.
 */
int prof_session_run(int (*become)(const void *state), const void *state, bool all);
/*
 * Removes the folder, if it is not to be kept and told of, with what is in it; it is kept only when
 * there is something to make a report of. Frees the path.
 */
void prof_session_end(char *folder, bool is_kept);

#endif
