/*
 * LLVM's fatal errors. What it cannot go on from (an instruction that it cannot select, a limit of
 * its own) ends the process, unless a handler does not return. Ours gives up the compilation: it
 * jumps back to where it began, and the caller takes another form of the kernel.
 *
 * What LLVM had allocated then stays allocated, and the context is never touched again: contexts
 * share nothing that a compilation changes, so others are unaffected. The handler is called without
 * LLVM's lock for it. Running out of memory inside LLVM is no such error: docs/decisions/0021.
 */
#include "jit/gen/gen_recover.h"

#include <assert.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <llvm-c/ErrorHandling.h>

struct recover {
    jmp_buf env;
    char *why;
    size_t why_B;
};

static __thread struct recover *current;

static void on_fatal(const char *reason)
{
    struct recover *r = current;

    if (!r)
        return; /* not in a compilation of ours: LLVM ends the process */
    current = NULL;
    snprintf(r->why, r->why_B, "LLVM: %s", reason);
    longjmp(r->env, 1);
}

void gen_recover_init(void)
{
    LLVMInstallFatalErrorHandler(on_fatal);
}

bool gen_recover(void (*body)(void *arg), void *arg, char *why, size_t why_B)
{
    struct recover r = {.why = why, .why_B = why_B};

    assert(!current);
    if (setjmp(r.env))
        return false;
    current = &r;
    body(arg);
    assert(current == &r);
    current = NULL;
    return true;
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *arg)
{
    struct gen_unit *u = arg;
    char *text;

    text = LLVMGetDiagInfoDescription(info);
    if (LLVMGetDiagInfoSeverity(info) == LLVMDSError) {
        gen_error(u, "LLVM: %s", text);
    } else if (strstr(text, "stack frame size")) { /* GEN_STACK_MAX_B: the only one with this */
        u->deep = true;
        gen_error(u, "its code needs more stack than threads have: %s", text);
    }
    LLVMDisposeMessage(text);
}

void gen_recover_diagnostics(struct gen_unit *u)
{
    LLVMContextSetDiagnosticHandler(u->ctx, on_diagnostic, u);
}

void gen_recover_break(struct gen_unit *u)
{
    LLVMValueRef arg = gen_ci(u->types.i32, 0);
    LLVMTypeRef type = LLVMFunctionType(u->types.void_, &u->types.i32, 1, false);
    LLVMValueRef fn = LLVMAddFunction(u->mod, "llvm.aarch64.hint", type);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(u->ctx);
    LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(u->kernel));

    LLVMPositionBuilderBefore(b, first);
    LLVMBuildCall2(b, type, fn, &arg, 1, "");
    LLVMDisposeBuilder(b);
}
