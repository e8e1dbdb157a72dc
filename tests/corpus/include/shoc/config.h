/* What SHOC's configure would make. */
#define HAVE_CLOCK_GETTIME            1
#define HAVE_CLOCK_PROCESS_CPUTIME_ID 1
#define HAVE_GETTIMEOFDAY             1
#define restrict                      __restrict__
