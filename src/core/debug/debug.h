/*
 * Kernels for a debugger (src/dbg): the form of a kernel that can be stopped anywhere, beside the
 * one that runs at full speed, and which of the two a launch takes.
 *
 * An image that is loaded while a debugger is there has a debug variant, compiled for it when a
 * launch first wants one; a module has a second module of the device for that, with the same
 * variables.
 *
 * Threads: any.
 */
#ifndef HD_CORE_DEBUG_DEBUG_H
#define HD_CORE_DEBUG_DEBUG_H

#include "base/compiler.h"

struct core_function;

struct core_module;

struct dbg_program;

/* HEDDLE_GDBSERVER: waits for a debugger. Before main(). HD_OK when nobody asked for one. */
enum hd_status core_debug_start(void) HD_MUST_CHECK;
/* A module's kernels go, before they do. */
void core_debug_forget(struct core_module *module);
/* Tells the debugger of the variables of a module. */
void core_debug_module(struct core_module *module);
struct hal_dispatch;
/*
 * What the packet of a launch runs: the debuggable kernel if the debugger has something in it, else
 * the fast one, in whose place the device takes the other one if that changes before the launch
 * begins. The packet's number of it is changed, unless it is 0. Whoever makes code
 * for the launch (kernel_prepare) does so for the result.
 */
struct hal_kernel *core_debug_choose(struct core_function *function, struct hal_dispatch *p);

#endif
