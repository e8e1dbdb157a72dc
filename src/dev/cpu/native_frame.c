/*
 * The frame around native functions that no C++ exception passes.
 *
 * A `catch (...)` in C: the frame has a personality routine of its own. The unwinder asks it in its
 * first phase whether somebody handles the exception (yes), unwinds the function's frames, whose
 * destructors run, and asks it in the second phase where to go on: at the landing pad below, which
 * returns to our caller. Itanium C++ ABI: Exception Handling, Level I.
 *
 * libcuda must not need the C++ library, nor an unwinder where nobody throws: the functions of the
 * one that is at work are looked up when it calls.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <unwind.h>

#include "dev/cpu/fault/fault.h"
#include "dev/cpu/native.h"

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN _Unwind_Reason_Code cpu_native_personality(int version, _Unwind_Action actions,
                                                  _Unwind_Exception_Class class,
                                                  struct _Unwind_Exception *exception,
                                                  struct _Unwind_Context *context);
extern char cpu_native_landing[] HIDDEN;

/* Registers 0 and 1 of the landing pad: rax and rdx, x0 and x1. */
#if defined(__x86_64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden cpu_native_enter\n"
        ".globl cpu_native_enter\n"
        ".type cpu_native_enter, @function\n"
        "cpu_native_enter:\n"
        ".cfi_startproc\n"
        ".cfi_personality 0x1b, cpu_native_personality\n"
        "pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "subq $16, %rsp\n"
        "movq %rdx, -8(%rbp)\n"
        "movq $0, (%rdx)\n"
        "movq %rdi, %rax\n"
        "movq %rsi, %rdi\n"
        "call *%rax\n"
        ".cfi_remember_state\n"
        "leave\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_restore_state\n"
        ".hidden cpu_native_landing\n"
        ".globl cpu_native_landing\n"
        "cpu_native_landing:\n"
        "movq -8(%rbp), %rcx\n"
        "movq %rax, (%rcx)\n"
        "movq %rdx, 8(%rcx)\n"
        "movl $-1, %eax\n"
        "leave\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size cpu_native_enter, . - cpu_native_enter\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden cpu_native_enter\n"
        ".globl cpu_native_enter\n"
        ".type cpu_native_enter, %function\n"
        "cpu_native_enter:\n"
        ".cfi_startproc\n"
        ".cfi_personality 0x1b, cpu_native_personality\n"
        "stp x29, x30, [sp, #-32]!\n"
        ".cfi_def_cfa_offset 32\n"
        ".cfi_offset x29, -32\n"
        ".cfi_offset x30, -24\n"
        "mov x29, sp\n"
        ".cfi_def_cfa_register x29\n"
        "str x2, [x29, #16]\n"
        "str xzr, [x2]\n"
        "mov x8, x0\n"
        "mov x0, x1\n"
        "blr x8\n"
        "ldp x29, x30, [sp], #32\n"
        "ret\n"
        ".hidden cpu_native_landing\n"
        ".globl cpu_native_landing\n"
        "cpu_native_landing:\n"
        "ldr x2, [x29, #16]\n"
        "stp x0, x1, [x2]\n"
        "mov w0, #-1\n"
        "ldp x29, x30, [sp], #32\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size cpu_native_enter, . - cpu_native_enter\n");
#else
#error "native_frame.c: the frame on this architecture"
#endif

/* ---- the unwinder */

struct unwinder {
    void (*set_gr)(struct _Unwind_Context *context, int index, _Unwind_Word value);
    void (*set_ip)(struct _Unwind_Context *context, _Unwind_Ptr value);
};

/* The library that an address is in, as dlopen() has it; NULL: of no library that exports. */
static void *library_of(const void *address)
{
    Dl_info info;

    return dladdr(address, &info) && info.dli_fname
               ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
               : NULL;
}

/* Its own functions know what its contexts are. */
static bool unwinder_find(const void *caller, struct unwinder *out)
{
    void *from = library_of(caller);

    *(void **)&out->set_gr = dlsym(from ? from : RTLD_DEFAULT, "_Unwind_SetGR");
    *(void **)&out->set_ip = dlsym(from ? from : RTLD_DEFAULT, "_Unwind_SetIP");
    if (from)
        dlclose(from);
    return out->set_gr && out->set_ip;
}

_Unwind_Reason_Code cpu_native_personality(int version, _Unwind_Action actions,
                                           _Unwind_Exception_Class class,
                                           struct _Unwind_Exception *exception,
                                           struct _Unwind_Context *context)
{
    struct unwinder unwinder;

    (void)class;
    if (version != 1)
        return _URC_FATAL_PHASE1_ERROR;
    if (!unwinder_find(__builtin_return_address(0), &unwinder))
        cpu_guard_blame(HD_NATIVE, 0,
                        &(struct cpu_blame){.reason = "an exception left the function"});
    if (actions & _UA_SEARCH_PHASE)
        return _URC_HANDLER_FOUND;
    unwinder.set_gr(context, 0, (_Unwind_Word)(uintptr_t)exception);
    unwinder.set_gr(context, 1, (actions & _UA_FORCE_UNWIND) != 0);
    unwinder.set_ip(context, (_Unwind_Ptr)(uintptr_t)cpu_native_landing);
    return _URC_INSTALL_CONTEXT;
}

/* ---- what was thrown */

/* The C++ runtimes' names in exception_class: GCC's and Clang's; the last byte is 0, or 1 for an
 * exception that was thrown again. Itanium C++ ABI, 2.2.1. */
#define CLASS_GCC   UINT64_C(0x474e5543432b2b00)
#define CLASS_CLANG UINT64_C(0x434c4e47432b2b00)

/* In front of the unwinder's part both runtimes have ten words, the first of which is the type. */
#define TYPE_BEFORE 10

/* std::type_info: its second word is the mangled name, behind a `*` where addresses tell types. */
struct type_info {
    void *const *functions;
    const char *name;
};

/* Of both runtimes' std::type_info: whether a handler of this type takes an object of type
 * `thrown`; *object is then the part of it that the handler is for. */
#define TYPE_CATCHES 4
typedef bool type_catches(const struct type_info *type, const struct type_info *thrown,
                          void **object, unsigned outer);
/* Of std::exception. */
#define EXCEPTION_WHAT 2
typedef const char *exception_what(const void *exception);

/* What std::exception::what() says; NULL: it is no std::exception. */
static const char *what_of(const struct type_info *type, void *object, void *runtime)
{
    const struct type_info *base = dlsym(runtime, "_ZTISt9exception");
    type_catches *catches;

    if (!base)
        return NULL;
    *(void **)&catches = base->functions[TYPE_CATCHES];
    if (!catches(base, type, &object, 1))
        return NULL;
    void *const *functions = *(void *const **)object;
    exception_what *what;

    *(void **)&what = functions[EXCEPTION_WHAT];
    return what(object);
}

static void describe(const struct type_info *type, void *object, char *text, size_t size_B)
{
    char *(*demangle)(const char *, char *, size_t *, int *);
    void *runtime = library_of(type->functions); /* its classes of types */
    const char *what = runtime ? what_of(type, object, runtime) : NULL;
    const char *name = type->name + (*type->name == '*');
    char *plain = NULL;

    *(void **)&demangle = runtime ? dlsym(runtime, "__cxa_demangle") : NULL;
    if (demangle)
        plain = demangle(name, NULL, NULL, NULL);
    snprintf(text, size_B, "an exception left the function: %s%s%s", plain ? plain : name,
             what ? ": " : "", what ? what : "");
    free(plain);
    if (runtime)
        dlclose(runtime);
}

void cpu_native_catch(const struct cpu_native_thrown *thrown, char *text, size_t size_B)
{
    struct _Unwind_Exception *exception = thrown->exception;

    if (thrown->is_end) {
        snprintf(text, size_B, "the function wanted to end its thread");
        return; /* and it is the C library's exception */
    }
    if (exception->exception_class == CLASS_GCC || exception->exception_class == CLASS_CLANG)
        describe(((struct type_info *const *)exception)[-TYPE_BEFORE], exception + 1, text, size_B);
    else
        snprintf(text, size_B, "an exception left the function");
    /* As _Unwind_DeleteException(). */
    if (exception->exception_cleanup)
        exception->exception_cleanup(_URC_FOREIGN_EXCEPTION_CAUGHT, exception);
}
