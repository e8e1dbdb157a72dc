/* No device code needs this: it stays out of the program, which has no definition of its function. */
extern int defined_nowhere();

__global__ void unused()
{
}

int use()
{
    unused<<<1, 1>>>();
    return defined_nowhere();
}
