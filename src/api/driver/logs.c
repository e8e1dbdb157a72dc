/* The log of errors, as the program reads it. All of it works before cuInit(). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "api/driver/error_log.h"
#include "base/log.h"

CUresult drv_cuLogsRegisterCallback(CUlogsCallback func, void *user, CUlogsCallbackHandle *out)
{
    uintptr_t id;

    API_CALL_ANY(cuLogsRegisterCallback);
    API_CHECK(func);
    id = error_log_subscribe(func, user);
    if (!id)
        return drv_error(CUDA_ERROR_OUT_OF_MEMORY, "%s: memory is short", api_name_);
    if (out)
        *out = (CUlogsCallbackHandle)id;
    return CUDA_SUCCESS;
}

CUresult drv_cuLogsUnregisterCallback(CUlogsCallbackHandle callback)
{
    API_CALL_ANY(cuLogsUnregisterCallback);
    if (!error_log_unsubscribe((uintptr_t)callback))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: %p is not a registered callback", api_name_,
                         (const void *)callback);
    return CUDA_SUCCESS;
}

CUresult drv_cuLogsCurrent(CUlogIterator *iterator, unsigned flags)
{
    API_CALL_ANY(cuLogsCurrent);
    API_CHECK(iterator);
    API_CHECK(flags == 0);
    *iterator = error_log_end();
    return CUDA_SUCCESS;
}

static CUresult file_append(const char *name, const char *path, const struct hd_buf *text)
{
    int fd = hd_log_open(path);
    size_t done = 0;

    while (fd >= 0 && done < text->len) {
        ssize_t put = write(fd, text->ptr + done, text->len - done);
        if (put < 0 && errno != EINTR)
            break;
        done += put < 0 ? 0 : (size_t)put;
    }
    if (fd < 0 || done < text->len) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: %s: %s", name, path, strerror(why));
    }
    close(fd);
    return CUDA_SUCCESS;
}

/* The iterator moves only when the lines have been written. */
CUresult drv_cuLogsDumpToFile(CUlogIterator *iterator, const char *path, unsigned flags)
{
    CUlogIterator place = iterator ? *iterator : 0;
    struct hd_buf text;
    CUresult result;

    API_CALL_ANY(cuLogsDumpToFile);
    API_CHECK(path);
    API_CHECK(flags == 0);
    hd_buf_init(&text);
    if (!error_log_read(iterator ? &place : NULL, SIZE_MAX, &text))
        result = CUDA_ERROR_INVALID_VALUE;
    else if (text.failed)
        result = drv_error(CUDA_ERROR_OUT_OF_MEMORY, "%s: memory is short", api_name_);
    else
        result = file_append(api_name_, path, &text);
    hd_buf_fini(&text);
    if (iterator && result == CUDA_SUCCESS)
        *iterator = place;
    return result;
}

CUresult drv_cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size, unsigned flags)
{
    CUlogIterator place = iterator ? *iterator : 0;
    struct hd_buf text;
    CUresult result = CUDA_SUCCESS;
    size_t room_B;

    API_CALL_ANY(cuLogsDumpToMemory);
    API_CHECK(buffer);
    API_CHECK(size);
    API_CHECK(flags == 0);
    room_B = HD_MIN(*size, ERROR_LOG_DUMP_B);
    *size = 0;
    if (!room_B)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: the buffer has no bytes", api_name_);
    *buffer = '\0';
    hd_buf_init(&text);
    if (!error_log_read(iterator ? &place : NULL, room_B - 1, &text)) {
        result = CUDA_ERROR_INVALID_VALUE;
    } else if (text.failed) {
        result = drv_error(CUDA_ERROR_OUT_OF_MEMORY, "%s: memory is short", api_name_);
    } else {
        memcpy(buffer, text.ptr ? text.ptr : "", text.len);
        buffer[text.len] = '\0';
        *size = text.len;
    }
    hd_buf_fini(&text);
    if (iterator && result == CUDA_SUCCESS)
        *iterator = place;
    return result;
}
