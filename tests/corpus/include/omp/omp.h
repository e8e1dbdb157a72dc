/* OpenMP of one thread, for programs that use little of it: a compiler may have no omp.h. */
#ifndef CORPUS_OMP_H
#define CORPUS_OMP_H
static inline int omp_get_num_threads(void)
{
    return 1;
}
static inline int omp_get_thread_num(void)
{
    return 0;
}
static inline void omp_set_num_threads(int wanted)
{
    (void)wanted;
}
#endif
