/* Names of C++ as people write them. */
#include "base/demangle.h"
#include "tap.h"

static const struct {
    const char *name, *full, *simple;
} cases[] = {
    {"_Z4axpyPffi", "axpy(float *, float, int)", "axpy"},
    {"_Z4blurIfEvPKT_PS0_i", "void blur<float>(float const *, float *, int)", "blur"},
    {"_ZN1AmlERKS_", "A::operator*(A const &)", "A::operator*"},
    {"_ZN12_GLOBAL__N_13putEPFvvE", "(anonymous namespace)::put(void (*)())",
     "(anonymous namespace)::put"},
    {"main", "main", "main"},
    {"_Zwrong", "_Zwrong", "_Zwrong"},
    {"", "", ""},
};

int main(void)
{
    for (size_t i = 0; i < HD_COUNT_OF(cases); i++) {
        struct hd_buf text = {0};

        hd_buf_puts(&text, "kernel ");
        hd_demangle_or_name(cases[i].name, HD_DEMANGLE_FULL, &text);
        eq_str(text.ptr + 7, cases[i].full, "%s in full", cases[i].name);
        hd_buf_clear(&text);
        hd_demangle_or_name(cases[i].name, HD_DEMANGLE_SIMPLE, &text);
        eq_str(text.ptr ? text.ptr : "", cases[i].simple, "%s, its name alone", cases[i].name);
        hd_buf_fini(&text);
    }
    struct hd_buf none = {0};
    ok(!hd_demangle("main", HD_DEMANGLE_FULL, &none) && !none.len, "a name of C is none of C++");
    hd_buf_fini(&none);
    return done();
}
