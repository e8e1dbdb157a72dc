/* What `heddle run` does to start a program, for others that start one: heddle check. */
#ifndef HEDDLE_TOOLS_RUN_H
#define HEDDLE_TOOLS_RUN_H

#include <stdbool.h>

enum {
    RUN_CANNOT = 126, /* exit statuses, as shells have them */
    RUN_NOT_FOUND = 127,
};

/* The file that execvp() would run, the caller's to hd_free(); NULL when there is none. */
char *run_find_program(const char *name);
/* Says so, and names a program of the current folder that could be meant; RUN_NOT_FOUND. */
int run_not_found(const char *name);
/* 0 when the program may run; else an exit status, and a message is written. */
int run_check_program(const char *path);
/* Sets the environment in which programs find Heddle's libraries; 0, or an exit status. */
int run_set_environment(void);
/* Prepends to a variable that is a list with colons. False when memory is short. */
bool run_prepend(const char *variable, const char *text);
/* Becomes the program; returns an exit status when it cannot, after a message. */
int run_execute(const char *path, char **command);

#endif
