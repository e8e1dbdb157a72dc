/* Names of entries. */
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "san/stack.h"

void san_call_name(const char *symbol, char *out, size_t cap)
{
    static const char *const twins[] = {"_ptsz", "_ptds"};
    size_t n;

    snprintf(out, cap, "%s", strncmp(symbol, "__cuda", 6) ? symbol : symbol + 2);
    n = strlen(out);
    for (size_t i = 0; i < HD_COUNT_OF(twins); i++)
        if (n > strlen(twins[i]) && !strcmp(out + n - strlen(twins[i]), twins[i]))
            out[n - strlen(twins[i])] = 0;
}
