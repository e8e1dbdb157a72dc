/* Code before it is needed (heddle/prepare.h). */
#include "heddle/prepare.h"

#include "api/driver/driver.h"

HD_EXPORT int heddle_function_prepare(CUfunction function, const uint32_t block[3])
{
    API_CALL(heddle_function_prepare);
    API_CONTEXT(ctx);
    API_HANDLE(function, f, function);
    return drv_code_result(api_name_, core_function_prepare(f, block));
}
