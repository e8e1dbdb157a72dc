/* A name that CUDA 12 still had and 13 dropped: makes the program look like one of CUDA 12. */
int cudaThreadSynchronize(void);

__attribute__((used)) int cudaThreadSynchronize(void)
{
    return 103;
}
