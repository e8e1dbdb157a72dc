/* Which expressions of users are compiled. */
#include "base/text/expression.h"
#include "tap.h"

#define PAIRS "(a*|b*)(a*|b*)(a*|b*)(a*|b*)(a*|b*)(a*|b*)(a*|b*)(a*|b*)"
#define EMPTY "(|c*)(|c*)(|c*)(|c*)(|c*)(|c*)(|c*)(|c*)"

static const struct {
    const char *text;
    bool good;
    const char *matches; /* NULL: not looked at */
} cases[] = {
    {"^_Z[0-9]+gemm(_f16|_f32)?", true, "_Z4gemm_f16"},
    {"(a+b+)+c{2,3}[]+{]+[^]({]*[[:digit:]]+\\+", true, NULL},
    {"a{3}", true, "aaa"},
    {"a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q+r+s+t+u+v+w+x+y+z+", true, NULL},
    {"(", false, NULL},
    {"a{2", false, NULL},
    {"[a", false, NULL},
    {"[[:", false, NULL},
    {"\\", false, NULL},
    {"a+++++++++++++++++++++++++++++++++++++++++++", false, NULL},
    {"((((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+", false, NULL},
    {"(((a{100}){100}){100}){100}", false, NULL},
    {"a{0,3}b{2,}", true, "bbb"},
    {"(_a|_b)?(_c)?(_d*|_e)?(x*|y*)*z", true, "_a_c_ddz"},
    {"(" PAIRS PAIRS PAIRS PAIRS ")*", false, NULL},
    {"((" PAIRS "){4})*", false, NULL},
    {"(((((((((((((((((((((((((((((((a|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|)|"
     ")",
     true, NULL},
    {"(" EMPTY EMPTY EMPTY EMPTY ")*", false, NULL},
    {"^()*{32}", false, NULL},
    {"^x++++++++++++++++++++++++++++++++(+", false, NULL},
    {"(a++++++++++++++++++++++++++++++++){0}", false, NULL},
    {"(((a*|b*)(a*|b*)){9})*(((", false, NULL},
    {"b(a+){0}c", true, "bc"},
    {"(b?|)(b?|)(a*|b*)(b?|)*$(b?|)***?(b?|)*(b?|)(b?|)?{0,2}+(b?|)****(b?|)*{2,3}***", false,
     NULL},
    {"^(.*/)?(lib|bin)[^/]*(\\.so(\\.[0-9]+){0,3})?$", true, "/a/lib/libx.so.1"},
    {"(^|_)(gemm|conv[0-9]*|(soft|arg)max)(_(f|bf)?16)*(_v[0-9]+)?($|\\b)", true, "a_softmax_bf16"},
    {"^(a|b*|c?)*(d|e*)*.*(f*g*)*$", true, "zz"},
};

int main(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        regex_t regex;
        bool good = hd_regex_compile(&regex, cases[i].text) == 0;

        ok(good == cases[i].good, "'%s' is %s", cases[i].text, cases[i].good ? "taken" : "refused");
        if (good && cases[i].matches)
            ok(regexec(&regex, cases[i].matches, 0, NULL, 0) == 0, "it matches");
        if (good)
            regfree(&regex);
    }
    return done();
}
