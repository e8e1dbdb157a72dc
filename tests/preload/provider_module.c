/*
 * A Python module as ONNX Runtime has one: a function that registers libraries of execution
 * providers, which notes its arguments. It is made in two steps, in one with STEPS=1, and refuses
 * with REFUSES=1. Python's declarations are by hand, as in python_module.c.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/compiler.h"

struct object;

struct object *PyModuleDef_Init(void *definition);
struct object *PyModule_Create2(void *definition, int version);
struct object *PyObject_GetAttrString(struct object *object, const char *name);
int PyObject_SetAttrString(struct object *object, const char *name, struct object *value);
struct object *PyNumber_Add(struct object *a, struct object *b);
struct object *PyTuple_New(ptrdiff_t size);
void PyErr_SetString(struct object *type, const char *text);
extern struct object *PyExc_RuntimeError;

static int exec(struct object *module)
{
    return PyObject_SetAttrString(module, "registered", PyTuple_New(0));
}

/* Appends its arguments to the tuple `registered`, and gives it. */
static struct object *note(struct object *module, struct object *arguments)
{
    if (getenv("REFUSES")) {
        PyErr_SetString(PyExc_RuntimeError, "there is one");
        return NULL;
    }
    struct object *all = PyNumber_Add(PyObject_GetAttrString(module, "registered"), arguments);
    return PyObject_SetAttrString(module, "registered", all) ? NULL : all;
}

static const struct method {
    const char *name;
    struct object *(*function)(struct object *, struct object *);
    int flags;
    const char *doc;
} methods[] = {{"register_execution_provider_library", note, 1 /* a tuple */, NULL}, {0}};

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
} definition = {
    .references = 1, .name = "onnxruntime_pybind11_state", .methods = methods, .slots = slots};

HD_EXPORT struct object *PyInit_onnxruntime_pybind11_state(void);

struct object *PyInit_onnxruntime_pybind11_state(void)
{
    if (!getenv("STEPS"))
        return PyModuleDef_Init(&definition);
    definition.slots = NULL;
    definition.size_B = -1;
    struct object *module = PyModule_Create2(&definition, 1013);
    return module && !exec(module) ? module : NULL;
}
