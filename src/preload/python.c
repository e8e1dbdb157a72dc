/* See python.h. */
#include "preload/python.h"

#include <assert.h>
#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "obj/elf.h"
#include "preload/opening.h"

struct object; /* Python's */

/* What is used of Python: result, name, parameters. */
#define PYTHON_API(X)                                                                              \
    X(struct object *, PyObject_Type, (struct object *))                                           \
    X(struct object *, PyObject_GetAttrString, (struct object *, const char *))                    \
    X(int, PyDict_Next, (struct object *, ssize_t *, struct object **, struct object **))          \
    X(struct object *, PyUnicode_AsUTF8String, (struct object *))                                  \
    X(char *, PyBytes_AsString, (struct object *))                                                 \
    X(int, PyCapsule_SetPointer, (struct object *, void *))                                        \
    X(struct object *, PyObject_CallMethod, (struct object *, const char *, const char *, ...))    \
    X(void, PyErr_Clear, (void))                                                                   \
    X(void, Py_DecRef, (struct object *))

static struct python {
#define X(result, name, parameters) result(*name) parameters;
    PYTHON_API(X)
#undef X
    const void *module_def_type; /* PyModuleDef_Type */
    size_t slots_at_B;           /* of PyModuleDef.m_slots */
} py;

/* Of moduleobject.h, part of the stable ABI. */
struct slot {
    int which; /* 0 behind the last */
    void *value;
};
#define SLOT_EXEC 2

typedef struct object *init_function(void);
typedef int exec_function(struct object *module);

enum purpose {
    CAPSULES, /* an embedded runtime's functions are replaced */
    PROVIDER, /* ONNX Runtime gets our execution provider */
};

/* The modules by the name that Python gives them; outer ones are called alike and embed nothing. */
static const struct name {
    const char *text;
    enum purpose purpose;
} names[] = {
    {"cyruntime", CAPSULES},
    {"cyruntime_ptds", CAPSULES},
    {"runtime", CAPSULES},
    {"runtime_ptds", CAPSULES},
    {"onnxruntime_pybind11_state", PROVIDER},
};

/* One for each module of a process. */
#define HOOKS(X) X(0) X(1) X(2) X(3) X(4) X(5)
static struct hook {
    init_function *init; /* the module's own */
    exec_function *exec;
    enum purpose purpose;
    void *library; /* CAPSULES: our libcudart */
    bool per_thread;
    char provider[PATH_MAX]; /* PROVIDER: its file */
} hooks[6];
static unsigned hook_count;

static const struct name *python_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    for (size_t i = 0; i < HD_COUNT_OF(names); i++) {
        size_t len = strlen(names[i].text);
        if (!strncmp(file, names[i].text, len) && file[len] == '.' && strstr(file, ".so"))
            return &names[i];
    }
    return NULL;
}

bool python_is_hooked(const char *path)
{
    return python_name_of(path) != NULL;
}

static bool find_python(void)
{
    if (py.slots_at_B)
        return true;
#define X(result, name, parameters) *(void **)&py.name = dlsym(RTLD_DEFAULT, #name);
    PYTHON_API(X)
#undef X
#define X(result, name, parameters) &&py.name
    py.module_def_type = dlsym(RTLD_DEFAULT, "PyModuleDef_Type");
    bool found = py.module_def_type PYTHON_API(X);
#undef X
    /* An object's head is 16 bytes, and 32 where there is no global lock. */
    size_t head_B = dlsym(RTLD_DEFAULT, "PyUnstable_Module_SetGIL") ? 32 : 16;
    py.slots_at_B = found ? head_B + 7 * sizeof(void *) : 0;
    return found;
}

/* A function that is newer than ours; all of them return an error code. */
static int python_not_there(void)
{
    hd_log("cuda.bindings.runtime: a function that is newer than Heddle's runtime was called");
    return 801; /* cudaErrorNotSupported */
}

/* name: "cudaMemcpy"; where stream 0 is the thread's, what nvcc calls for it then. */
static void *python_find_target(const struct hook *hook, const char *name, const char *version)
{
    static const char *const twins[] = {"_ptds", "_ptsz", ""};
    char symbol[128];
    void *target = NULL;
    for (size_t i = hook->per_thread ? 0 : 2; i < HD_COUNT_OF(twins) && !target; i++) {
        (void)snprintf(symbol, sizeof(symbol), "%s%s", name, twins[i]);
        target = dlvsym(hook->library, symbol, version);
        if (!target)
            target = dlsym(hook->library, symbol);
    }
    return target;
}

struct names {
    unsigned replaced, missing;
    const char *version; /* of our symbols */
};

static void python_replace_one(const struct hook *hook, const char *name, struct object *capsule,
                               struct names *n)
{
    if (strncmp(name, "_cuda", 5) != 0)
        return;
    void *target = python_find_target(hook, name + 1, n->version);
    if (!target)
        hd_log_debug(HD_DEBUG_LOAD, "cuda.bindings.runtime: Heddle has no %s", name + 1);
    if (py.PyCapsule_SetPointer(capsule, target ? target : (void *)python_not_there) != 0)
        py.PyErr_Clear(); /* something else of that name */
    else if (target)
        n->replaced++;
    else
        n->missing++;
}

static bool python_has(struct object *functions, const char *wanted)
{
    ssize_t pos = 0;
    struct object *key, *value;
    bool found = false;
    while (!found && py.PyDict_Next(functions, &pos, &key, &value)) {
        struct object *text = py.PyUnicode_AsUTF8String(key);
        found = text && !strcmp(py.PyBytes_AsString(text), wanted);
        py.Py_DecRef(text);
    }
    return found;
}

static void python_replace_all(const struct hook *hook, struct object *functions)
{
    ssize_t pos = 0;
    struct object *key, *value;
    bool old = python_has(functions, "_cudaGetDeviceProperties_v2"); /* 13 has no second one */
    struct names n = {.version = old ? "libcudart.so.12" : "libcudart.so.13"};
    while (py.PyDict_Next(functions, &pos, &key, &value)) {
        struct object *text = py.PyUnicode_AsUTF8String(key);
        if (text)
            python_replace_one(hook, py.PyBytes_AsString(text), value, &n);
        py.Py_DecRef(text);
    }
    py.PyErr_Clear();
    hd_log_debug(HD_DEBUG_LOAD, "a Python module's runtime: %u functions replaced, %u not there",
                 n.replaced, n.missing);
}

static void python_finish(const struct hook *hook, struct object *module)
{
    if (hook->purpose == PROVIDER) {
        /* as a program does for a provider of its own; without it the program runs as it would */
        struct object *done = py.PyObject_CallMethod(module, "register_execution_provider_library",
                                                     "ss", "CUDAExecutionProvider", hook->provider);
        if (done)
            py.Py_DecRef(done);
        else
            py.PyErr_Clear(); /* older than 1.23, or there is one of that name */
        hd_log_debug(HD_DEBUG_LOAD, "ONNX Runtime: its CUDAExecutionProvider is %s",
                     done ? hook->provider : "its own");
        return;
    }
    struct object *functions = py.PyObject_GetAttrString(module, "__pyx_capi__");
    if (functions)
        python_replace_all(hook, functions);
    else
        py.PyErr_Clear();
    py.Py_DecRef(functions);
}

static int exec_hooked(const struct hook *hook, struct object *module)
{
    int result = hook->exec(module);
    if (result == 0)
        python_finish(hook, module);
    return result;
}

#define X(i)                                                                                       \
    static int exec_##i(struct object *module)                                                     \
    {                                                                                              \
        return exec_hooked(&hooks[i], module);                                                     \
    }
HOOKS(X)
#undef X

static exec_function *const exec_stubs[] = {
#define X(i) exec_##i,
    HOOKS(X)
#undef X
};

static bool python_is_definition(struct object *object)
{
    struct object *type = object ? py.PyObject_Type(object) : NULL;
    bool yes = (const void *)type == py.module_def_type;
    py.Py_DecRef(type);
    return yes;
}

/*
 * Modules are made in two steps (PEP 489): init gives a definition, whose exec fills the module.
 * Older ones are made in one, and init gives the module.
 */
static struct object *init_hooked(struct hook *hook)
{
    struct object *definition = hook->init();
    if (!python_is_definition(definition)) {
        if (definition && hook->purpose == PROVIDER)
            python_finish(hook, definition);
        return definition;
    }
    struct slot *slots;
    memcpy(&slots, (const char *)definition + py.slots_at_B, sizeof(slots));
    exec_function *stub = exec_stubs[hook - hooks];
    for (struct slot *s = slots; s && s->which; s++) {
        if (s->which != SLOT_EXEC || s->value == (void *)stub)
            continue;
        hook->exec = (exec_function *)(uintptr_t)s->value;
        s->value = (void *)stub;
        break;
    }
    return definition;
}

#define X(i)                                                                                       \
    static struct object *init_##i(void)                                                           \
    {                                                                                              \
        return init_hooked(&hooks[i]);                                                             \
    }
HOOKS(X)
#undef X

static init_function *const init_stubs[] = {
#define X(i) init_##i,
    HOOKS(X)
#undef X
};

static_assert(HD_COUNT_OF(init_stubs) == HD_COUNT_OF(hooks), "a function for each");
static_assert(HD_COUNT_OF(exec_stubs) == HD_COUNT_OF(hooks), "a function for each");

/* Where the loader finds PyInit_name: its entry of the table in memory. */
static Elf64_Sym *python_find_init(const struct obj_elf *elf, uintptr_t base, const char *name)
{
    char wanted[64];
    struct obj_elf_section section;
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol;
    (void)snprintf(wanted, sizeof(wanted), "PyInit_%s", name);
    if (!obj_elf_section_find(elf, ".dynsym", &section) ||
        !obj_elf_symbols(elf, OBJ_ELF_DYNSYM, &table))
        return NULL;
    for (size_t i = 0; i < table.len; i++)
        if (obj_elf_symbol(&table, i, &symbol) && symbol.section != SHN_UNDEF &&
            hd_str_is(symbol.name, wanted))
            return (Elf64_Sym *)(base + (uintptr_t)section.addr) + i;
    return NULL;
}

/* What embeds the runtime opens the driver by itself; what passes its functions on does not. */
static bool python_opens_libraries(const struct obj_elf *elf)
{
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol;
    if (!obj_elf_symbols(elf, OBJ_ELF_DYNSYM, &table))
        return false;
    for (size_t i = 0; i < table.len; i++)
        if (obj_elf_symbol(&table, i, &symbol) && hd_str_is(symbol.name, "dlopen"))
            return true;
    return false;
}

/* The variable is the package's own. */
static bool python_is_per_thread(const char *name)
{
    const char *value = hd_env_of_system("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM");
    return strstr(name, "_ptds") || (value && strtol(value, NULL, 10) != 0);
}

static enum hd_status python_hook_module(const struct obj_elf *elf, uintptr_t base,
                                         const struct name *name, redirect_library library,
                                         void *arg)
{
    Elf64_Sym *symbol = python_find_init(elf, base, name->text);
    if (!symbol || !find_python() || (name->purpose == CAPSULES && !python_opens_libraries(elf)))
        return HD_OK;
    if (hook_count == HD_COUNT_OF(hooks))
        return hd_error(HD_NOT_SUPPORTED, "more Python modules are hooked than are known");
    struct hook *hook = &hooks[hook_count];
    hook->purpose = name->purpose;
    if (name->purpose == CAPSULES) {
        hook->library = library(arg);
        hook->per_thread = python_is_per_thread(name->text);
        if (!hook->library)
            return hd_error(HD_NOT_FOUND, "our libcudart.so.13 cannot be loaded");
    } else if (!opening_find("libheddle_onnx.so", hook->provider)) {
        return hd_error(HD_NOT_FOUND, "our libheddle_onnx.so is not there");
    }
    hook->init = (init_function *)(base + (uintptr_t)symbol->st_value);
    /* dlsym() answers with our function from now on. */
    uintptr_t page_B = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)symbol & ~(page_B - 1);
    size_t size_B = (uintptr_t)(symbol + 1) - first;
    if (mprotect((void *)first, size_B, PROT_READ | PROT_WRITE) != 0)
        return hd_error(HD_NOT_SUPPORTED, "the system lets no module be changed (mprotect)");
    symbol->st_value = (uintptr_t)init_stubs[hook_count] - base;
    (void)mprotect((void *)first, size_B, PROT_READ);
    hook_count++;
    return HD_OK;
}

enum hd_status python_hook(const char *path, uintptr_t base, redirect_library library, void *arg)
{
    struct obj_elf elf;
    const struct name *name = python_name_of(path);
    const char *wanted = hd_env("HEDDLE_ONNX");
    assert(name);
    if (name->purpose == PROVIDER && wanted && !strcmp(wanted, "off"))
        return HD_OK;
    HD_TRY(obj_elf_open_file(path, &elf));
    enum hd_status status = python_hook_module(&elf, base, name, library, arg);
    obj_elf_close(&elf);
    return status;
}
