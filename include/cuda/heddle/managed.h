/*
 * __managed__ variables, in the host's pass. All of a program or shared library are in the section
 * heddle_managed; the runtime gives the variables registered from there to the device as they are,
 * instead of memory of their own. docs/decisions/0110-managed-variables.md
 */
#ifndef HEDDLE_CUDA_MANAGED_H
#define HEDDLE_CUDA_MANAGED_H

#if !defined(__CUDA_ARCH__)
extern "C" {
/* Defined by the linker where there is such a section. */
extern char __start_heddle_managed[] __attribute__((weak, visibility("hidden")));
extern char __stop_heddle_managed[] __attribute__((weak, visibility("hidden")));
extern void __heddleManagedRange(void *__start, void *__stop) __attribute__((weak));

/* Before the registration of any fat binary. */
__attribute__((weak, visibility("hidden"), constructor(101))) void __heddle_tell_managed(void)
{
    if (__start_heddle_managed && __heddleManagedRange)
        __heddleManagedRange(__start_heddle_managed, __stop_heddle_managed);
}
}
#endif

#endif
