/*
 * A folder that lives as long as a piece of work: it goes whatever ends that, an error, Ctrl-C, a
 * signal, a reader that closes its pipe. The work is done in a child process, while this one waits
 * and passes signals on.
 */
#ifndef HEDDLE_TOOLS_TEMPORARY_H
#define HEDDLE_TOOLS_TEMPORARY_H

/* An exit status. The folder is there, and empty; nothing outlives the work but what it printed. */
typedef int temporary_work(const char *folder, void *state);

/*
 * Works with a folder in TMPDIR (/tmp) whose name begins with `prefix`; returns the exit status of
 * the work, or CLI_FAILED after a message. A signal that ended the work
 * ends this process as well. What the work changes in `state` is lost.
 */
int temporary_run(const char *prefix, temporary_work *work, void *state);

#endif
