/* HEDDLE_FAULT is read before main(), so the program runs itself again with it. */
#include "base/fault.h"
#include "base/mem.h"
#include "tap.h"

/* Exit status: the number of the first allocation that fails, of five; 0 = none; 10 and more: the
 * fault points that are set. */
static int child(void)
{
    if (hd_fault(HD_FAULT_JIT_FAST | HD_FAULT_JIT_PLAIN | HD_FAULT_JIT_SIMPLE))
        return 10 + (int)(hd_fault_points & 7);
    for (int n = 1; n <= 5; n++) {
        void *ptr = hd_alloc(1);
        if (!ptr)
            return n;
        hd_free(ptr);
    }
    return 0;
}

static int run_self(const char *self, const char *fault)
{
    char command[512];
    int status;

    snprintf(command, sizeof(command), "HEDDLE_FAULT='%s' '%s' child 2>/dev/null", fault, self);
    status = system(command);
    return status < 0 || status & 0xff ? -1 : status >> 8;
}

static void test_counting(void)
{
    void *ptrs[3];

    hd_fault_set_alloc(2);
    for (size_t i = 0; i < HD_COUNT_OF(ptrs); i++)
        ptrs[i] = hd_alloc(8);
    ok(ptrs[0] && !ptrs[1] && ptrs[2], "exactly the second allocation fails");
    eq_u64(hd_fault_alloc_count(), 3, "failed ones count too");
    hd_fault_set_alloc(1);
    ok(!hd_realloc(ptrs[0], 100), "realloc fails as well");
    ok(!hd_alloc_array(SIZE_MAX / 2, 4), "an overflowing product fails");
    hd_fault_set_alloc(0);
    hd_free(ptrs[0]);
    hd_free(ptrs[2]);
}

static void test_points(void)
{
    ok(!hd_fault(HD_FAULT_JIT_FAST), "no point is set by default");
    hd_fault_set(HD_FAULT_JIT_FAST | HD_FAULT_JIT_LLVM, true);
    ok(hd_fault(HD_FAULT_JIT_FAST) && hd_fault(HD_FAULT_JIT_LLVM) && !hd_fault(HD_FAULT_JIT_PLAIN),
       "those that were set fail, no others");
    hd_fault_set(HD_FAULT_JIT_FAST, false);
    ok(!hd_fault(HD_FAULT_JIT_FAST) && hd_fault(HD_FAULT_JIT_LLVM), "and can be cleared");
    hd_fault_set(HD_FAULT_JIT_LLVM, false);
    ok(hd_fault_find("jit.plain", 9) == HD_FAULT_JIT_PLAIN && !hd_fault_find("jit.plai", 8) &&
           !hd_fault_find("jit.plain2", 10),
       "points are found by their whole name");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return child();
    test_counting();
    test_points();
    eq_u64(run_self(argv[0], "jit.fast"), 11, "HEDDLE_FAULT=jit.fast sets a point");
    eq_u64(run_self(argv[0], "jit.simple,nonsense,jit.plain"), 16, "a list sets all that it knows");
    eq_u64(run_self(argv[0], ""), 0, "no fault by default");
#ifdef NDEBUG
    skip("HEDDLE_FAULT is for debug builds");
#else
    eq_u64(run_self(argv[0], "alloc:3"), 3, "HEDDLE_FAULT=alloc:3 fails the third");
#endif
    eq_u64(run_self(argv[0], "alloc:x"), 0, "nonsense is reported and ignored");
    eq_u64(run_self(argv[0], "disk:3"), 0, "an unknown kind too");
    return done();
}
