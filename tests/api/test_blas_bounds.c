/*
 * Routines of BLAS touch nothing beside their arrays: each of spec/api/cublas.def runs on arrays
 * that end where no memory is, then on arrays that begin where none is.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "klib/klib.h"
#include "tap.h"

/* Rows of the table that are BLAS's; others are other kinds. */
static const struct row {
    const char *prefixes, *name, *args;
} rows[] = {
#define DIRECT(prefixes, name, suffix, args) {prefixes, #name, args},
#define OURS(prefixes, name, suffix, args)   {prefixes, #name, args},
#define FRONT(...)
#define BATCH(...)
#define INNER(...)
#include "api/cublas.def"
};

enum { AREA_B = 1 << 20, PAGE_B = 4096, AREAS = 4 };
static char *areas[AREAS]; /* with a page before and after that nobody may touch */

static void give_up(const char *why)
{
    printf("Bail out! %s\n", why);
    exit(1);
}

static sigjmp_buf back;

static void on_fault(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

/* What a call is made with. */
struct call {
    const struct klib_routine *routine;
    size_t element_B;
    bool at_end;
    int64_t m, n, k, kl, ku, inc;
    char uplo, op, side, diag;
    unsigned arrays; /* that it has yet */
    int64_t sizes[24];
    unsigned nsizes;
    void *args[KLIB_ARGS];
    unsigned nargs;
};

static void put(struct call *c, void *address)
{
    c->args[c->nargs++] = address;
}

static void put_size(struct call *c, int64_t value)
{
    c->sizes[c->nsizes] = value;
    put(c, &c->sizes[c->nsizes++]);
}

static void put_array(struct call *c, int64_t elements)
{
    size_t size_B = (size_t)(elements > 0 ? elements : 0) * c->element_B;
    char *area = areas[c->arrays++] + PAGE_B;

    if (size_B > AREA_B)
        give_up("an area is too small");
    area += c->at_end ? AREA_B - size_B : 0;
    memset(area, 0, size_B);
    put(c, area);
}

/* A leading dimension and the columns, of the table's text for it. */
static void rows_of(const struct call *c, const char *text, int64_t *rows_n, int64_t *columns)
{
    bool is_left = c->side == 'L', is_n = c->op == 'N';

    *columns = c->n;
    if (!strcmp(text, "m"))
        *rows_n = c->m;
    else if (!strcmp(text, "n"))
        *rows_n = c->n;
    else if (!strcmp(text, "k+1"))
        *rows_n = c->k + 1;
    else if (!strcmp(text, "kl+ku+1"))
        *rows_n = c->kl + c->ku + 1;
    else if (!strncmp(text, "side==", 6))
        *rows_n = *columns = is_left ? c->m : c->n;
    else if (strstr(text, "?n:k"))
        *rows_n = is_n ? c->n : c->k, *columns = is_n ? c->k : c->n;
    else if (strstr(text, "?m:n"))
        *rows_n = is_n ? c->m : c->n, *columns = is_n ? c->n : c->m;
    else
        give_up("a number of rows that the test does not know");
}

static int64_t vector_length(const struct call *c, const struct row *row, bool is_x)
{
    bool is_n = c->op == 'N';

    if (!strcmp(row->name, "gemv") || !strcmp(row->name, "gbmv"))
        return is_n == is_x ? c->n : c->m;
    if (!strncmp(row->name, "ger", 3))
        return is_x ? c->m : c->n;
    if (!strcmp(row->name, "dgmm"))
        return c->side == 'L' ? c->m : c->n;
    return c->n;
}

static void put_argument(struct call *c, const struct row *row, char *text)
{
    static double factors[4][6];
    char *rest = text, *kind = strsep(&rest, " "), *name = strsep(&rest, " ");
    bool is_index = !strcmp(kind, "out:I");

    kind[strcspn(kind, ":")] = '\0';
    if (!strcmp(kind, "size")) {
        put_size(c, !strcmp(name, "m")    ? c->m
                    : !strcmp(name, "n")  ? c->n
                    : !strcmp(name, "k")  ? c->k
                    : !strcmp(name, "kl") ? c->kl
                                          : c->ku);
    } else if (!strcmp(kind, "op") || !strcmp(kind, "op_t") || !strcmp(kind, "op_c")) {
        put(c, &c->op);
    } else if (!strcmp(kind, "fill")) {
        put(c, &c->uplo);
    } else if (!strcmp(kind, "side")) {
        put(c, &c->side);
    } else if (!strcmp(kind, "diag")) {
        put(c, &c->diag);
    } else if (!strncasecmp(kind, "vec", 3)) {
        int64_t n = vector_length(c, row, !strcmp(name, "x"));
        put_array(c, n ? 1 + (n - 1) * (c->inc < 0 ? -c->inc : c->inc) : 0);
        put_size(c, c->inc);
    } else if (!strcasecmp(kind, "mat")) {
        int64_t rows_n, columns;
        (void)strsep(&rest, " ");
        rows_of(c, rest, &rows_n, &columns);
        put_array(c, rows_n * columns);
        put_size(c, rows_n > 0 ? rows_n : 1);
    } else if (!strcasecmp(kind, "pack")) {
        put_array(c, c->n * (c->n + 1) / 2);
    } else { /* a factor, or a result */
        factors[c->nargs % 4][0] = 0.5;
        put(c, factors[c->nargs % 4]);
        if (is_index)
            put_size(c, sizeof(int64_t)); /* what it is written as */
    }
}

/* False, and says with what, where it touched what it should not. */
static bool runs(struct call *c, const struct row *row)
{
    char text[256], *rest = text, *comma;

    c->arrays = c->nsizes = c->nargs = 0;
    (void)snprintf(text, sizeof(text), "%s", row->args);
    while (rest) {
        if ((comma = strstr(rest, ", ")))
            *comma = '\0';
        put_argument(c, row, rest);
        rest = comma ? comma + 2 : NULL;
    }
    if (sigsetjmp(back, 1)) {
        diag("%s %c%c%c%c m %d n %d k %d kl %d ku %d inc %d, arrays at the %s", c->routine->name,
             c->side, c->uplo, c->op, c->diag, (int)c->m, (int)c->n, (int)c->k, (int)c->kl,
             (int)c->ku, (int)c->inc, c->at_end ? "end" : "begin");
        return false;
    }
    c->routine->run(c->args);
    return true;
}

static bool has(const struct row *row, const char *word)
{
    const char *at = strstr(row->args, word);

    return at && (at == row->args || at[-1] == ' ');
}

/* Every combination of letters, increments and sizes that the routine has. */
static bool try_routine(struct call *c, const struct row *row)
{
    static const int64_t sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  15,  16,  17,
                                    31, 32, 33, 47, 63, 64, 65, 66, 67, 127, 128, 129, 130};
    static const int64_t others[] = {1, 6, 67};
    bool has_m = has(row, "size m"), has_k = has(row, "size k");
    bool has_vector = has(row, "vec") || has(row, "Vec"), has_one = has(row, "vec1");
    const char *ops = has(row, "op ")     ? "NTC"
                      : has(row, "op_t ") ? "NT"
                      : has(row, "op_c ") ? "NC"
                                          : "N";

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t j = 0; j < (has_m || has_k ? 3 : 1); j++)
            for (unsigned bits = 0; bits < 16; bits++)
                for (const char *op = ops; *op; op++)
                    for (int64_t inc = -2; inc <= 2; inc++) {
                        if (!inc || (!has_vector && inc != 1) || (has_one && inc < 0) ||
                            (!has(row, "fill") && (bits & 1)) ||
                            (!has(row, "side") && (bits & 2)) || (!has(row, "diag") && (bits & 4)))
                            continue;
                        c->n = sizes[i];
                        c->m = has_m ? others[j] : 0;
                        c->k = has_k ? others[j] : 0;
                        c->kl = HD_MIN(others[j] - 1, 3);
                        c->ku = HD_MIN(c->n - 1, 5);
                        c->uplo = bits & 1 ? 'U' : 'L';
                        c->side = bits & 2 ? 'R' : 'L';
                        c->diag = bits & 4 ? 'U' : 'N';
                        c->at_end = bits & 8;
                        c->op = *op;
                        c->inc = inc;
                        if (!runs(c, row))
                            return false;
                    }
    return true;
}

static const struct klib_routine *routine(const struct klib *klib, const char *name)
{
    for (size_t i = 0; i < KLIB_ROUTINES; i++)
        if (!strcmp(klib->routines[i].name, name))
            return &klib->routines[i];
    return NULL;
}

static void test_row(const struct klib *klib, const struct row *row)
{
    char text[64], name[64], *rest = text, *prefix;

    (void)snprintf(text, sizeof(text), "%s", row->prefixes);
    while ((prefix = strsep(&rest, " "))) {
        struct call c = {0};
        char letter = prefix[1] && *prefix != 'C' && *prefix != 'Z' ? prefix[1] : *prefix;
        for (char *p = name + snprintf(name, sizeof(name), "%s%s", prefix, row->name) - 1;
             p >= name; p--)
            *p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
        c.routine = routine(klib, name);
        letter = (char)(letter >= 'a' ? letter - 32 : letter);
        c.element_B = letter == 'S' ? 4 : letter == 'Z' ? 16 : 8;
        if (!ok(c.routine != NULL, "there is %s", name))
            continue;
        ok(try_routine(&c, row), "%s touches its arrays alone", name);
    }
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    const struct klib *(*entry)(void) = NULL;

    if (library)
        *(void **)&entry = dlsym(library, KLIB_ENTRY);
    if (!entry)
        give_up("usage: test_blas_bounds libheddle-klib.so");
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    for (size_t i = 0; i < AREAS; i++) {
        areas[i] = mmap(NULL, AREA_B + 2 * PAGE_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (areas[i] == MAP_FAILED || mprotect(areas[i] + PAGE_B, AREA_B, PROT_READ | PROT_WRITE))
            give_up("no memory");
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        test_row(entry(), &rows[i]);
    return done();
}
