/*
 * Which rewriters of LLVM IR run behind LLVM's optimiser, and in which order: the POST rows of
 * spec/gen_passes.def, read from top to bottom. Here each is left out by name, verified and shown.
 */
#include "jit/gen/post/gen_post.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Analysis.h>

#include "base/log.h"
#include "base/str.h"

/* What a rewriter is for. */
enum { BEST = 1 << 0, QUICK = 1 << 1, ANY = BEST | QUICK };

enum { GEN_PASS_ALWAYS = GEN_PASS_COUNT }; /* cannot be left out */

static const struct rewriter {
    const char *name;
    bool (*run)(struct gen_unit *u);
    unsigned pass; /* enum gen_pass, or GEN_PASS_ALWAYS */
    unsigned code;
} rewriters[] = {
#define POST(run, PASS, CODE, ...) {#run, run, GEN_PASS_##PASS, CODE},
#include "gen_passes.def"
};

/* Is there anything for rewriter number `i`? */
static bool is_wanted(const struct gen_unit *u, size_t i)
{
    const bool wanted[] = {
#define POST(run, PASS, CODE, condition, ...) condition,
#include "gen_passes.def"
    };
    return wanted[i];
}

/* A pass with a name belongs to the fast form. */
static bool is_skipped(const struct gen_unit *u, const struct rewriter *r)
{
    return r->pass != GEN_PASS_ALWAYS && (u->req->form != GEN_FAST || u->req->skip >> r->pass & 1);
}

enum hd_status gen_post_verify(const struct gen_unit *u, const char *after, struct gen_result *out)
{
    char *message = NULL;
    bool broken = u->req->verify && LLVMVerifyModule(u->mod, LLVMReturnStatusAction, &message);

    if (broken)
        snprintf(out->error, sizeof(out->error), "internal: invalid LLVM IR after %s: %s", after,
                 message ? message : "?");
    LLVMDisposeMessage(message);
    return broken ? HD_JIT : HD_OK;
}

static void show(const struct gen_unit *u, const struct rewriter *r, struct hd_buf *text)
{
    char *module = LLVMPrintModuleToString(u->mod);

    hd_buf_printf(text, "; ---- after %s\n%s", r->name, module);
    LLVMDisposeMessage(module);
}

enum hd_status gen_post_run(struct gen_unit *u, bool quick, struct gen_result *out)
{
    struct hd_buf text;
    enum hd_status status = HD_OK;

    hd_buf_init(&text);
    for (size_t i = 0; i < HD_COUNT_OF(rewriters) && status == HD_OK; i++) {
        const struct rewriter *r = &rewriters[i];
        if (!(r->code & (quick ? QUICK : BEST)) || !is_wanted(u, i) || is_skipped(u, r))
            continue;
        bool changed = r->run(u);
        if (changed && r->pass != GEN_PASS_ALWAYS)
            u->facts.fired |= 1u << r->pass;
        if (changed && hd_debug(HD_DEBUG_POST))
            show(u, r, &text);
        status = u->no_memory ? HD_NO_MEMORY : gen_post_verify(u, r->name, out);
    }
    out->post_text = text.ptr ? strdup(text.ptr) : NULL;
    hd_buf_fini(&text);
    return status;
}
