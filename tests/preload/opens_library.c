/*
 * Opens libraries with an embedded runtime again and again, from several threads too:
 *     opens_library TIMES LIBRARY...
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
    long times;
    char **libraries;
};

static void *open_all(void *arg)
{
    const struct job *job = arg;
    for (long i = 0; i < job->times; i++)
        for (char **path = job->libraries; *path; path++) {
            void *library = dlopen(*path, i % 2 ? RTLD_NOW : RTLD_LAZY | RTLD_LOCAL);
            int (*call)(void) = library ? (int (*)(void))dlsym(library, "library_call") : NULL;
            if (!call || call() != 0 || dlclose(library) != 0) {
                const char *why = dlerror();
                printf("%s: %s\n", *path, why ? why : "the embedded runtime ran");
                exit(1);
            }
        }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t other;
    struct job job = {strtol(argv[1], NULL, 10), argv + 2};
    if (argc < 3 || pthread_create(&other, NULL, open_all, &job) != 0)
        return 2;
    open_all(&job);
    pthread_join(other, NULL);
    puts("opened");
    return 0;
}
