/*
 * What a program that checks nothing prints when its kernels cannot run: the reason at once, and at
 * its end that nobody asked.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "runtime_fixture.h"

static void stub(void)
{
}

static void launch(void)
{
    void *args[1] = {NULL};

    (void)cudaLaunchKernel((const void *)stub, (dim3){1, 1, 1}, (dim3){32, 1, 1}, args, 0, NULL);
}

static void checks_nothing(void)
{
    launch();
    launch();
    (void)cudaDeviceSynchronize();
}

static void asks(void)
{
    launch();
    (void)cudaGetLastError();
}

static void asks_too_early(void)
{
    (void)cudaGetLastError();
    launch();
}

/* Runs a program that registers this PTX; what it writes to stderr. */
static const char *errors_of(const char *ptx, void (*program)(void))
{
    static char text[4096];
    size_t n = 0;
    ssize_t got;
    int ends[2], status;
    pid_t child;

    if (pipe(ends))
        abort();
    child = fork();
    if (child == 0) {
        void **handle;

        dup2(ends[1], 2);
        close(ends[0]);
        handle = __cudaRegisterFatBinary(fixture_wrap(ptx));
        fixture_function(handle, (const void *)stub, "_Z6kernelPf");
        __cudaRegisterFatBinaryEnd(handle);
        program();
        exit(0);
    }
    close(ends[1]);
    while (n < sizeof(text) - 1 && (got = read(ends[0], text + n, sizeof(text) - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the program ends well");
    return text;
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;

    while ((text = strstr(text, what)))
        n++, text++;
    return n;
}

static const char bad[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                          ".visible .entry _Z6kernelPf()\n{\n.reg .b32 %r<2>;\n"
                          "no.such.instruction %r1;\nret;\n}\n";
static const char good[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                           ".visible .entry _Z6kernelPf()\n{\nret;\n}\n";

int main(void)
{
    const char *text = errors_of(bad, checks_nothing);

    eq_u64(count(text, "no.such.instruction"), 1, "the reason is said once");
    ok(strstr(text, "ptx:7:1: "), "with its place");
    eq_u64(count(text, "2 kernel launches failed"), 1, "and at the end that nobody asked");
    ok(strstr(text, "the first was kernel(float"), "and for which kernel first, as it is written");
    text = errors_of(bad, asks);
    eq_u64(count(text, "no.such.instruction"), 1, "the reason is said to who asks as well");
    eq_u64(count(text, "did not ask"), 0, "but nothing at the end");
    text = errors_of(bad, asks_too_early);
    eq_u64(count(text, "1 kernel launch failed"), 1, "asking before does not count");
    text = errors_of(good, checks_nothing);
    eq_str(text, "", "a program whose kernels run prints nothing");
    return done();
}
