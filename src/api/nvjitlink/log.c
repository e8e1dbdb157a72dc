/* What nvJitLinkGetErrorLog() has. */
#include <stdarg.h>
#include <stdio.h>

#include "api/nvjitlink/nvjitlink.h"

nvJitLinkResult jl_fail(struct nvJitLink *link, nvJitLinkResult result, const char *fmt, ...)
{
    char line[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    hd_buf_printf(&link->error, "%s\n", line);
    return result;
}
