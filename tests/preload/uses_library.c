/* A program without any runtime that links a library with one. */
#include <stdio.h>

int library_call(void);

int main(void)
{
    printf("call: %d\n", library_call());
    return 0;
}
