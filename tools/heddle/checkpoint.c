/*
 * heddle checkpoint, which is cuda-checkpoint as well: locks, saves, restores and unlocks the CUDA
 * state of a process, with the options that CRIU's plugin and scripts give that program.
 */
#include "common/cli.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "base/text/json.h"
#include "common/where.h"

static const char help[] =
    "usage: heddle checkpoint --action lock|checkpoint|restore|unlock --pid PID [--timeout MS]\n"
    "       heddle checkpoint --toggle --pid PID\n"
    "       heddle checkpoint --get-state --pid PID [--json]\n"
    "       heddle checkpoint --get-restore-tid --pid PID [--json]\n"
    "\n"
    "Keeps a process from changing what it has on its devices, so that CRIU or its like can save\n"
    "it, and lets it go on. Installed as cuda-checkpoint, too, which is how CRIU calls it.\n"
    "\n"
    "operations:\n"
    "  --action lock        calls of CUDA wait from now on; all work that was submitted ends\n"
    "  --action checkpoint  a locked process can be saved\n"
    "  --action restore     it was; it is locked again\n"
    "  --action unlock      it goes on\n"
    "  --toggle             lock and checkpoint a running process, restore and unlock it else\n"
    "  --get-state          print running, locked, checkpointed or failed\n"
    "  --get-restore-tid    print the thread of the process that executes these operations\n"
    "\n"
    "options:\n"
    "  -p, --pid PID     the process\n"
    "  -t, --timeout MS  of a lock: how long calls and work may take; without, any time\n"
    "  --json            machine-readable output\n"
    "  -h, --help        this text\n"
    "\n"
    "exit status: 0 done, 1 it is not possible, 2 wrong usage\n";

static const char *const states[] = {
    [CU_PROCESS_STATE_RUNNING] = "running",
    [CU_PROCESS_STATE_LOCKED] = "locked",
    [CU_PROCESS_STATE_CHECKPOINTED] = "checkpointed",
    [CU_PROCESS_STATE_FAILED] = "failed",
};

static struct {
    __typeof__(cuCheckpointProcessGetState) *get_state;
    __typeof__(cuCheckpointProcessGetRestoreThreadId) *get_tid;
    __typeof__(cuCheckpointProcessLock) *lock;
    __typeof__(cuCheckpointProcessCheckpoint) *checkpoint;
    __typeof__(cuCheckpointProcessRestore) *restore;
    __typeof__(cuCheckpointProcessUnlock) *unlock;
    __typeof__(cuGetErrorName) *error_name;
    const char *(*message)(void);
} driver;

static int checkpoint_driver_load(void)
{
    const struct where_symbol wanted[] = {
        {"cuCheckpointProcessGetState", &driver.get_state},
        {"cuCheckpointProcessGetRestoreThreadId", &driver.get_tid},
        {"cuCheckpointProcessLock", &driver.lock},
        {"cuCheckpointProcessCheckpoint", &driver.checkpoint},
        {"cuCheckpointProcessRestore", &driver.restore},
        {"cuCheckpointProcessUnlock", &driver.unlock},
        {"cuGetErrorName", &driver.error_name},
        {"heddle_error_message", &driver.message},
    };

    return where_load(WHERE_CUDA, wanted, HD_COUNT_OF(wanted));
}

/* ---- operations */

struct order {
    const char *action; /* "toggle", "get-state" and "get-restore-tid" are actions here */
    int pid;
    unsigned timeout_ms;
    bool as_json;
};

static int checkpoint_failed(const struct order *o, const char *what, CUresult result)
{
    const char *name = "unknown error", *message = driver.message();

    assert(result != CUDA_SUCCESS);
    (void)!driver.error_name(result, &name);
    if (*message)
        return cli_error("%s: %s (%s)", what, message, name);
    return cli_error("%s: process %d: %s", what, o->pid, name);
}

static CUresult checkpoint_lock(const struct order *o)
{
    CUcheckpointLockArgs args = {.timeoutMs = o->timeout_ms};

    return driver.lock(o->pid, &args);
}

static CUresult checkpoint_save(const struct order *o)
{
    return driver.checkpoint(o->pid, NULL);
}

static CUresult checkpoint_restore(const struct order *o)
{
    return driver.restore(o->pid, NULL);
}

static CUresult checkpoint_unlock(const struct order *o)
{
    return driver.unlock(o->pid, NULL);
}

static const struct action {
    const char *name;
    CUresult (*run)(const struct order *o);
} actions[] = {
    {"lock", checkpoint_lock},
    {"checkpoint", checkpoint_save},
    {"restore", checkpoint_restore},
    {"unlock", checkpoint_unlock},
};

static const struct action *checkpoint_action_find(const char *name)
{
    for (size_t i = 0; i < HD_COUNT_OF(actions); i++)
        if (!strcmp(actions[i].name, name))
            return &actions[i];
    return NULL;
}

static int checkpoint_run_action(const struct order *o, const char *name)
{
    const struct action *action = checkpoint_action_find(name);
    assert(action);
    CUresult result = action->run(o);

    return result ? checkpoint_failed(o, name, result) : CLI_OK;
}

/* A checkpoint that is not possible leaves the process running. */
static int checkpoint_toggle(const struct order *o)
{
    CUprocessState state;
    CUresult result = driver.get_state(o->pid, &state);
    int status;

    if (result)
        return checkpoint_failed(o, "toggle", result);
    if (state == CU_PROCESS_STATE_CHECKPOINTED) {
        status = checkpoint_run_action(o, "restore");
        return status == CLI_OK ? checkpoint_run_action(o, "unlock") : status;
    }
    status = checkpoint_run_action(o, "lock");
    if (status != CLI_OK)
        return status;
    status = checkpoint_run_action(o, "checkpoint");
    if (status != CLI_OK)
        checkpoint_unlock(o);
    return status;
}

static int checkpoint_print_state(const struct order *o)
{
    CUprocessState state;
    CUresult result = driver.get_state(o->pid, &state);
    struct hd_json j;

    if (result)
        return checkpoint_failed(o, "get-state", result);
    if ((size_t)state >= HD_COUNT_OF(states))
        return cli_error("get-state: process %d: state %d is unknown", o->pid, (int)state);
    if (!o->as_json)
        return puts(states[state]) < 0 ? CLI_FAILED : CLI_OK;
    hd_json_init(&j);
    hd_json_open(&j, NULL, '{');
    hd_json_u64(&j, "pid", (uint64_t)o->pid);
    hd_json_str(&j, "state", states[state]);
    hd_json_close(&j, '}');
    return hd_json_print(&j) ? CLI_OK : CLI_FAILED;
}

static int checkpoint_print_tid(const struct order *o)
{
    int tid = 0;
    CUresult result = driver.get_tid(o->pid, &tid);
    struct hd_json j;

    if (result)
        return checkpoint_failed(o, "get-restore-tid", result);
    if (!o->as_json)
        return printf("%d\n", tid) < 0 ? CLI_FAILED : CLI_OK;
    hd_json_init(&j);
    hd_json_open(&j, NULL, '{');
    hd_json_u64(&j, "pid", (uint64_t)o->pid);
    hd_json_u64(&j, "restore_tid", (uint64_t)tid);
    hd_json_close(&j, '}');
    return hd_json_print(&j) ? CLI_OK : CLI_FAILED;
}

static int checkpoint_run_order(const struct order *o)
{
    assert(o->action && o->pid);
    if (checkpoint_driver_load() != CLI_OK)
        return CLI_FAILED;
    if (!strcmp(o->action, "toggle"))
        return checkpoint_toggle(o);
    if (!strcmp(o->action, "get-state"))
        return checkpoint_print_state(o);
    if (!strcmp(o->action, "get-restore-tid"))
        return checkpoint_print_tid(o);
    return checkpoint_run_action(o, o->action);
}

/* ---- the command line */

static int checkpoint_usage(const char *what, const char *text)
{
    return cli_usage("%s '%s'", what, text);
}

static bool checkpoint_parse_number(const char *text, unsigned max, unsigned *out_value)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    *out_value = (unsigned)value;
    return *text >= '0' && *text <= '9' && !*end && value <= max;
}

/* One of several operations; a second one is wrong. */
static int checkpoint_set_action(struct order *o, const char *action)
{
    if (o->action)
        return checkpoint_usage("a second operation:", action);
    o->action = action;
    return CLI_OK;
}

/* An option with a value. */
static int checkpoint_parse_value(struct order *o, const char *option, const char *value)
{
    unsigned number;

    if (!value)
        return checkpoint_usage("there is no value behind", option);
    if (!strcmp(option, "--action"))
        return checkpoint_action_find(value) ? checkpoint_set_action(o, value)
                                             : checkpoint_usage("unknown action", value);
    if (!checkpoint_parse_number(
            value, option[1] == 'p' || option[2] == 'p' ? INT32_MAX : UINT32_MAX, &number))
        return checkpoint_usage("not a number:", value);
    if (!strcmp(option, "--pid") || !strcmp(option, "-p"))
        o->pid = (int)number;
    else
        o->timeout_ms = number;
    return CLI_OK;
}

static int checkpoint_parse(struct order *o, int argc, char **argv)
{
    static const char *const with_value[] = {"--action", "--pid", "-p", "--timeout", "-t"};
    static const char *const alone[] = {"--toggle", "--get-state", "--get-restore-tid"};
    int status = CLI_OK;

    for (int i = 1; i < argc && status == CLI_OK; i++) {
        bool known = false;

        for (size_t k = 0; k < HD_COUNT_OF(alone); k++) {
            if (strcmp(argv[i], alone[k]))
                continue;
            known = true;
            status = checkpoint_set_action(o, alone[k] + 2);
        }
        for (size_t k = 0; k < HD_COUNT_OF(with_value) && !known; k++) {
            if (strcmp(argv[i], with_value[k]))
                continue;
            known = true;
            status = checkpoint_parse_value(o, argv[i], argv[i + 1]);
            i++;
        }
        if (!known && !strcmp(argv[i], "--json"))
            o->as_json = true;
        else if (!known)
            status = checkpoint_usage("unknown argument", argv[i]);
    }
    return status;
}

int cmd_checkpoint(int argc, char **argv)
{
    struct order order = {.as_json = cli_json()};
    int status;

    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return cli_help(help);
    status = checkpoint_parse(&order, argc, argv);
    if (status != CLI_OK)
        return status;
    if (!order.action)
        return checkpoint_usage("there is no", "--action");
    if (!order.pid)
        return checkpoint_usage("there is no", "--pid");
    return checkpoint_run_order(&order);
}
