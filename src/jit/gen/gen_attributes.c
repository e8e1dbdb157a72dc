/*
 * Attributes of functions: what LLVM may assume of them, and which instructions it may use.
 */
#include "jit/gen/flow/gen_flow.h"

#include <string.h>

const char *gen_cpu_name(enum jit_path path)
{
    return path == JIT_AVX512 ? "skylake-avx512" : path == JIT_AVX2 ? "haswell" : "x86-64";
}

static void add_attr(struct gen_unit *u, LLVMValueRef fn, const char *name, const char *value)
{
    LLVMAttributeRef a = LLVMCreateStringAttribute(u->ctx, name, (unsigned)strlen(name), value,
                                                   (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

void gen_attribute_add(struct gen_unit *u, LLVMValueRef fn, LLVMAttributeIndex at, const char *name,
                       uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(u->ctx, kind, value));
}

void gen_function_attributes(struct gen_unit *u, LLVMValueRef fn)
{
    const LLVMAttributeIndex self = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    add_attr(u, fn, "prefer-vector-width", u->avx512 ? "512" : "256");
    add_attr(u, fn, "min-legal-vector-width", u->avx512 ? "512" : "256");
    add_attr(u, fn, "target-features", u->req->features);
    add_attr(u, fn, "target-cpu", gen_cpu_name(u->path));
    add_attr(u, fn, "warn-stack-size", u->req->shallow ? "0" : GEN_STACK_MAX_B);
    add_attr(u, fn, "denormal-fp-math", u->fp_ftz ? "preserve-sign,preserve-sign" : "ieee,ieee");
    gen_attribute_add(u, fn, self, "nounwind", 0);
    gen_attribute_add(u, fn, self, "alignstack", 64);
}
