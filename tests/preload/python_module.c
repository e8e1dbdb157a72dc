/*
 * A Python module as cuda.bindings has one: no name for what it embeds, a capsule for each of its
 * functions in `__pyx_capi__`, filled when the module is executed. Python's declarations are by
 * hand, so that the test needs no headers; Meson leaves it out where modules are made otherwise.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct object;

struct object *PyCapsule_New(void *pointer, const char *name, void *destructor);
void *PyCapsule_GetPointer(struct object *capsule, const char *name);
struct object *PyDict_New(void);
int PyDict_SetItemString(struct object *dict, const char *key, struct object *item);
struct object *PyDict_GetItemString(struct object *dict, const char *key);
struct object *PyLong_FromLong(long value);
int PyObject_SetAttrString(struct object *object, const char *name, struct object *value);
struct object *PyObject_GetAttrString(struct object *object, const char *name);
struct object *PyModuleDef_Init(void *definition);

#define SIGNATURE "cudaError_t (int)"

/* The embedded runtime's: each answers 100 more than what it was given, as ours never does. */
static int embedded(int value)
{
    return value + 100;
}

static int add(struct object *functions, const char *name)
{
    return PyDict_SetItemString(functions, name, PyCapsule_New((void *)embedded, SIGNATURE, NULL));
}

static int exec(struct object *module)
{
    struct object *functions = PyDict_New();
    if (add(functions, "_cudaSetDevice") || add(functions, "_cudaDeviceSynchronize") ||
        add(functions, "_cudaGetLastError") || add(functions, "_cudaOfTomorrow") ||
        add(functions, "helper") || PyObject_SetAttrString(module, "__pyx_capi__", functions))
        return -1;
#ifdef OLD
    if (add(functions, "_cudaGetDeviceProperties_v2"))
        return -1;
#endif
    return dlopen(NULL, RTLD_LAZY) ? 0 : -1; /* as the runtime opens the driver */
}

/* call(name): what a module that imports the function would get from it, given 1. */
static struct object *call(struct object *module, struct object *name)
{
    struct object *functions = PyObject_GetAttrString(module, "__pyx_capi__");
    extern const char *PyUnicode_AsUTF8AndSize(struct object *, ptrdiff_t *);
    struct object *capsule = PyDict_GetItemString(functions, PyUnicode_AsUTF8AndSize(name, NULL));
    int (*function)(int) = NULL;
    *(void **)&function = PyCapsule_GetPointer(capsule, SIGNATURE);
    return PyLong_FromLong(function(1));
}

static const struct method {
    const char *name;
    struct object *(*function)(struct object *, struct object *);
    int flags;
    const char *doc;
} methods[] = {{"call", call, 8 /* one argument */, NULL}, {0}};

static struct slot {
    int which;
    void *value;
} slots[] = {{2, (void *)exec}, {0}};

static struct definition {
    intptr_t references;
    void *type, *init;
    intptr_t index;
    void *copy;
    const char *name, *doc;
    intptr_t size_B;
    const struct method *methods;
    struct slot *slots;
    void *traverse, *clear, *release;
} definition = {.references = 1, .name = NAME, .methods = methods, .slots = slots};

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
HD_EXPORT struct object *JOIN(PyInit_, IDENT)(void);

struct object *JOIN(PyInit_, IDENT)(void)
{
    return PyModuleDef_Init(&definition);
}
