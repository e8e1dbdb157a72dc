/* What libraries have in common: statuses, versions, errors by thread, the log and who is told. */
#include <pthread.h>
#include <unistd.h>

#include "api/lib_base/lib_base.h"
#include "tap.h"

static const struct lib_status statuses[] = {{0, "LIB_OK"}, {7, "LIB_BAD"}};
static const struct lib_info info = {.name = "libtest",
                                     .version = {4, 5, 6},
                                     .cudart = 13000,
                                     .statuses = statuses,
                                     .nstatuses = 2,
                                     .unknown = "LIB_UNKNOWN",
                                     .level_variable = "LIBTEST_LEVEL",
                                     .destination_variable = "LIBTEST_DEST"};

static unsigned notified;
static char last[256];

static void listen(void *user, enum lib_level level, const char *message)
{
    eq_u64(level, *(enum lib_level *)user, "the callback gets the level");
    snprintf(last, sizeof(last), "%s", message);
    notified++;
}

static void *other_thread(void *text)
{
    lib_error_take(text, 64);
    return NULL;
}

static const char *read_file(const char *path)
{
    static char text[1024];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

    text[n] = '\0';
    if (file)
        fclose(file);
    return text;
}

int main(void)
{
    static _Atomic bool said;
    enum lib_level level = LIB_LEVEL_ERROR;
    char path[] = "lib_base_log.XXXXXX", text[64] = "nothing";
    struct lib_handle handle;
    pthread_t thread;
    int value = 0;

    close(mkstemp(path));
    setenv("LIBTEST_LEVEL", "2", 1);
    setenv("LIBTEST_DEST", path, 1);
    lib_handle_init(&handle, &info);
    ok(handle.info == &info && !handle.stream && !handle.workspace_B, "a handle begins empty");
    ok(lib_property(&info, 0, &value) && value == 4, "major version");
    ok(lib_property(&info, 2, &value) && value == 6, "patch level");
    ok(!lib_property(&info, 3, &value) && !lib_property(&info, -1, &value), "no other property");
    eq_str(lib_status_name(&info, 7), "LIB_BAD", "a status");
    eq_str(lib_status_name(&info, 8), "LIB_UNKNOWN", "and one that there is not");
    lib_callback_set(listen, &level, LIB_LEVEL_ERROR);
    lib_error(&info, "no %s", "shape");
    lib_log(&info, LIB_LEVEL_WARNING, "slow");
    lib_log(&info, LIB_LEVEL_INFO, "called");
    eq_u64(notified, 1, "the callback is told up to its level");
    eq_str(last, "no shape", "of the error");
    lib_callback_set(NULL, NULL, LIB_LEVEL_INFO);
    lib_log(&info, LIB_LEVEL_ERROR, "after it");
    eq_u64(notified, 1, "and no more when it is gone");
    eq_str(read_file(path), "E! libtest: no shape\nW! libtest: slow\nE! libtest: after it\n",
           "the file has what the environment asks for");
    pthread_create(&thread, NULL, other_thread, text);
    pthread_join(thread, NULL);
    eq_str(text, "", "another thread has no error");
    lib_error_take(text, 4);
    eq_str(text, "no ", "the error, cut");
    lib_error_take(text, sizeof(text));
    eq_str(text, "", "once");
    lib_refuse(&info, "libDoIt", &said);
    ok(atomic_load(&said), "what there is not is said");
    lib_error_take(text, sizeof(text));
    eq_str(text, "libDoIt: Heddle's libtest does not have it", "and named");
    unlink(path);
    return done();
}
