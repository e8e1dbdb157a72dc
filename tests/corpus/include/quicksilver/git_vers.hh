/* What the Makefile would make. */
#define GIT_VERS "unknown"
