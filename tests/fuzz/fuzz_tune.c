/* Files of tuning: what is taken is written so that it is read as the same. */
#include <assert.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "tune/tune.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    struct hd_buf once = {0}, twice = {0};
    struct tune_base base;

    if (tune_base_parse((struct hd_str){(const char *)bytes, size_B}, "fuzz", &base) != HD_OK)
        return 0;
    tune_base_print(&base, &once);
    tune_base_fini(&base);
    assert(tune_base_parse((struct hd_str){once.ptr, once.len}, "fuzz", &base) == HD_OK);
    tune_base_print(&base, &twice);
    assert(once.len == twice.len && !memcmp(once.ptr, twice.ptr, once.len));
    tune_base_fini(&base);
    hd_buf_fini(&once);
    hd_buf_fini(&twice);
    return 0;
}
