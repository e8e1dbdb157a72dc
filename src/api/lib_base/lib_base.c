/* Handles, statuses, errors and logs of libraries. */
#include "api/lib_base/lib_base.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "base/stack.h"

enum { ERROR_B = 256 };
static HD_THREAD_LOCAL void *last_error; /* ERROR_B; NULL: none so far, or no memory */

void lib_handle_init(struct lib_handle *handle, const struct lib_info *info)
{
    *handle = (struct lib_handle){.info = info};
}

bool lib_property(const struct lib_info *info, int property, int *out_value)
{
    if (property < 0 || property > 2)
        return false;
    *out_value = info->version[property];
    return true;
}

const char *lib_status_name(const struct lib_info *info, int status)
{
    for (size_t i = 0; i < info->nstatuses; i++)
        if (info->statuses[i].value == status)
            return info->statuses[i].name;
    return info->unknown;
}

/* ---- the log */

/* One library has one copy of this file, so these are the library's. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct lib_info *logged; /* whose variables are read */
static FILE *_Atomic destination;     /* NULL: none was asked for */
static _Atomic int env_level, callback_level;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* below */
static lib_callback *callback_fn;
static void *callback_user;

static void read_environment(void)
{
    const char *level = logged->level_variable ? hd_env_of_system(logged->level_variable) : NULL;
    long value = level ? strtol(level, NULL, 10) : 0;

    if (value <= LIB_LEVEL_OFF)
        return;
    const char *name =
        logged->destination_variable ? hd_env_of_system(logged->destination_variable) : NULL;
    destination = !name || !strcmp(name, "stderr") ? stderr
                  : strcmp(name, "stdout") != 0    ? fopen(name, "ae")
                                                   : stdout;
    if (destination)
        atomic_store(&env_level, (int)HD_MIN(value, (long)LIB_LEVEL_INFO));
    else
        hd_log("%s: the file that %s names cannot be written", logged->name,
               logged->destination_variable);
}

bool lib_log_wants(const struct lib_info *info, enum lib_level level)
{
    if (HD_UNLIKELY(!logged))
        logged = info; /* every thread writes the same */
    pthread_once(&once, read_environment);
    return atomic_load_explicit(&env_level, memory_order_relaxed) >= (int)level ||
           atomic_load_explicit(&callback_level, memory_order_relaxed) >= (int)level;
}

bool lib_log_configure(const struct lib_info *info, enum lib_level level, const char *to)
{
    FILE *file = NULL;

    (void)lib_log_wants(info, LIB_LEVELS); /* what the environment says comes first */
    if (level > LIB_LEVEL_OFF) {
        file = !strcmp(to, "stderr") ? stderr : !strcmp(to, "stdout") ? stdout : fopen(to, "ae");
        if (!file)
            return false;
    }
    /* Another thread may write to the file there was: it stays open. */
    pthread_mutex_lock(&lock);
    atomic_store(&env_level, LIB_LEVEL_OFF);
    if (file)
        atomic_store(&destination, file);
    atomic_store(&env_level, (int)level);
    pthread_mutex_unlock(&lock);
    return true;
}

static void report(const struct lib_info *info, enum lib_level level, const char *message)
{
    static const char letters[LIB_LEVELS] = {'-', 'E', 'W', 'I'};
    lib_callback *callback = NULL;
    void *user;

    if (atomic_load(&env_level) >= (int)level) {
        FILE *file = atomic_load(&destination);
        fprintf(file, "%c! %s: %s\n", letters[level], info->name, message);
        fflush(file);
    }
    pthread_mutex_lock(&lock);
    if (atomic_load(&callback_level) >= (int)level)
        callback = callback_fn;
    user = callback_user;
    pthread_mutex_unlock(&lock);
    if (callback)
        callback(user, level, message);
}

void lib_log(const struct lib_info *info, enum lib_level level, const char *fmt, ...)
{
    char message[512];
    va_list args;

    if (HD_LIKELY(!lib_log_wants(info, level)))
        return;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    report(info, level, message);
}

void lib_callback_set(lib_callback *callback, void *user, enum lib_level level)
{
    pthread_mutex_lock(&lock);
    callback_fn = callback;
    callback_user = user;
    atomic_store(&callback_level, callback ? (int)level : LIB_LEVEL_OFF);
    pthread_mutex_unlock(&lock);
}

/* ---- errors */

void lib_error(const struct lib_info *info, const char *fmt, ...)
{
    char *text = hd_thread_block(&last_error, ERROR_B);
    va_list args;

    if (!text)
        return;
    va_start(args, fmt);
    vsnprintf(text, ERROR_B, fmt, args);
    va_end(args);
    lib_log(info, LIB_LEVEL_ERROR, "%s", text);
}

void lib_error_take(char *text, size_t size_B)
{
    if (!text || !size_B)
        return;
    (void)snprintf(text, size_B, "%s", last_error ? (const char *)last_error : "");
    if (last_error)
        *(char *)last_error = '\0';
}

/* Does this thread try what may fail (heddle_native_quiet())? libcuda knows, where it is loaded. */
static bool is_quiet(void)
{
    void *libcuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int (*quiet)(int) = NULL;
    int was = 0;

    if (!libcuda)
        return false;
    *(void **)&quiet = dlsym(libcuda, "heddle_native_quiet");
    if (quiet) {
        was = quiet(1);
        (void)quiet(was);
    }
    (void)dlclose(libcuda);
    return was != 0;
}

void lib_refuse(const struct lib_info *info, const char *function, _Atomic bool *said)
{
    lib_error(info, "%s: Heddle's %s does not have it", function, info->name);
    if (!is_quiet() && !atomic_exchange(said, true))
        hd_log("%s: Heddle's %s does not have it", function, info->name);
}
