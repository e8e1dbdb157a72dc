/*
 * The log: to a file or stdout, or to a callback. As the environment says, before functions say
 * otherwise: CUBLASLT_LOG_LEVEL (each level with all below it) or CUBLASLT_LOG_MASK (a bit for each
 * level), CUBLASLT_LOG_FILE with %i for the process.
 */
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/cublaslt/cublaslt.h"
#include "base/env.h"
#include "base/log.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* below but the mask */
static FILE *destination;                                /* NULL: stdout */
static cublasLtLoggerCallback_t callback;
static _Atomic unsigned mask;
static _Atomic bool is_disabled;

static unsigned mask_of(long level)
{
    return level <= 0 ? 0 : (1u << HD_MIN(level, LT_LEVELS - 1)) - 1;
}

static FILE *open_file(const char *name)
{
    char path[PATH_MAX];
    const char *process = strstr(name, "%i");
    int n = process ? snprintf(path, sizeof(path), "%.*s%d%s", (int)(process - name), name,
                               (int)getpid(), process + 2)
                    : snprintf(path, sizeof(path), "%s", name);

    return n < 0 || (size_t)n >= sizeof(path) ? NULL : fopen(path, "we");
}

static void read_environment(void)
{
    const char *level = hd_env_of_system("CUBLASLT_LOG_LEVEL");
    const char *bits = hd_env_of_system("CUBLASLT_LOG_MASK");
    const char *file = hd_env_of_system("CUBLASLT_LOG_FILE");

    mask = bits ? (unsigned)strtoul(bits, NULL, 10) : level ? mask_of(strtol(level, NULL, 10)) : 0;
    if (mask && file && !(destination = open_file(file)))
        hd_log("cuBLASLt: the file that CUBLASLT_LOG_FILE names cannot be written");
}

static bool wants(enum lt_level level)
{
    pthread_once(&once, read_environment);
    return atomic_load_explicit(&mask, memory_order_relaxed) >> (level - 1) & 1 &&
           !atomic_load_explicit(&is_disabled, memory_order_relaxed);
}

static void report(enum lt_level level, const char *function, const char *message)
{
    static const char *const names[LT_LEVELS] = {"", "Error", "Trace", "Hint", "Info", "Api"};
    cublasLtLoggerCallback_t to;

    pthread_mutex_lock(&lock);
    to = callback;
    if (!to) {
        FILE *file = destination ? destination : stdout;
        fprintf(file, "[cublasLt][%d][%s][%s] %s\n", (int)getpid(), names[level], function,
                message);
        fflush(file);
    }
    pthread_mutex_unlock(&lock);
    if (to)
        to((int)level, function, message);
}

void lt_log(enum lt_level level, const char *function, const char *fmt, ...)
{
    char message[512];
    va_list args;

    if (HD_LIKELY(!wants(level)))
        return;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    report(level, function, message);
}

cublasStatus_t lt_error(cublasStatus_t status, const char *function, const char *fmt, ...)
{
    char message[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    lib_error(&lt_info, "%s: %s", function, message);
    if (wants(LT_ERROR))
        report(LT_ERROR, function, message);
    return status;
}

cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t to)
{
    pthread_mutex_lock(&lock);
    callback = to;
    pthread_mutex_unlock(&lock);
    return CUBLAS_STATUS_SUCCESS;
}

static void set_destination(FILE *file)
{
    pthread_once(&once, read_environment);
    pthread_mutex_lock(&lock);
    destination = file;
    pthread_mutex_unlock(&lock);
}

/* A file that was opened before stays open: another thread may write to it. */
cublasStatus_t cublasLtLoggerSetFile(FILE *file)
{
    set_destination(file);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerOpenFile(const char *logFile)
{
    FILE *file = logFile ? open_file(logFile) : NULL;

    if (!file)
        return CUBLAS_STATUS_INVALID_VALUE;
    set_destination(file);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetLevel(int level)
{
    if (level < 0 || level >= LT_LEVELS)
        return CUBLAS_STATUS_INVALID_VALUE;
    pthread_once(&once, read_environment);
    atomic_store(&mask, mask_of(level));
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetMask(int bits)
{
    pthread_once(&once, read_environment);
    atomic_store(&mask, (unsigned)bits);
    return CUBLAS_STATUS_SUCCESS;
}

/* For the rest of the process. */
cublasStatus_t cublasLtLoggerForceDisable(void)
{
    atomic_store(&is_disabled, true);
    return CUBLAS_STATUS_SUCCESS;
}
