/* What the Makefile would make. */
#define GIT_HASH "unknown"
