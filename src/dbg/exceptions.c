#include "dbg/exceptions.h"

#include <stddef.h>

const struct dbg_exception *dbg_exception_of(enum hd_status status)
{
    static const struct {
        struct dbg_exception exception;
        enum hd_status status;
    } rows[] = {
#define X(name, number, signal, status) {{name, number, signal}, status},
        DBG_EXCEPTION_LIST(X)
#undef X
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].status == status)
            return &rows[i].exception;
    return NULL;
}
