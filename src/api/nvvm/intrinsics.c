/*
 * NVVM's own intrinsics that LLVM has in another form: the mode is an argument there and part of
 * the name here; or in another sense: conversions that saturate. LLVM keeps names that begin with "llvm." for itself, so they are renamed in the
 * modules, and a module defines them by what LLVM has. A name of the same length can be changed
 * in bitcode as well, whose names lie in one blob of bytes.
 */
#include <string.h>

#include "api/nvvm/program.h"
#include "base/compiler.h"

/* The letter behind it makes it one of LLVM's own. */
static const struct {
    const char *name;
    char other;
} renamed[] = {
    {"llvm.nvvm.shfl.sync.i32", 0},
    {"llvm.nvvm.vote.sync", 0},
    {"llvm.nvvm.match.all.sync.i32", 'p'},
    {"llvm.nvvm.match.all.sync.i64", 'p'},
    {"llvm.nvvm.f2i.rz", '.'},
    {"llvm.nvvm.f2ui.rz", '.'},
    {"llvm.nvvm.f2ll.rz", '.'},
    {"llvm.nvvm.f2ull.rz", '.'},
    {"llvm.nvvm.d2i.rz", 0},
    {"llvm.nvvm.d2ui.rz", 0},
    {"llvm.nvvm.d2ll.rz", 0},
    {"llvm.nvvm.d2ull.rz", 0},
};

#define SHUFFLE(mode) "declare {i32, i1} @llvm.nvvm.shfl.sync." mode ".i32p(i32, i32, i32, i32)\n"
#define SHUFFLE_CASE(mode)                                                                         \
    mode ":\n"                                                                                     \
         "  %r" mode " = call {i32, i1} @llvm.nvvm.shfl.sync." mode                                \
         ".i32p(i32 %m, i32 %a, i32 %b, i32 %c)\n"                                                 \
         "  ret {i32, i1} %r" mode "\n"
#define VOTE_CASE(mode)                                                                            \
    mode ":\n"                                                                                     \
         "  %p" mode " = call i1 @llvm.nvvm.vote." mode ".sync(i32 %m, i1 %p)\n"                   \
         "  %r" mode " = insertvalue {i32, i1} zeroinitializer, i1 %p" mode ", 1\n"                \
         "  ret {i32, i1} %r" mode "\n"
#define VOTE(mode) "declare i1 @llvm.nvvm.vote." mode ".sync(i32, i1)\n"
/* LLVM takes these for its own conversions, of which constants too large are undefined: as in
 * clang/conversions.c. */
#define FLOAT_TO(type, name)                                                                       \
    "declare " type " @llvm.nvvm.f2" name ".rz.ftz(float)\n"                                       \
    "define " type " @nvvm.nvvm.f2" name ".rz(float %x) #1 {\n"                                    \
    "  %r = call " type " @llvm.nvvm.f2" name ".rz.ftz(float %x)\n  ret " type " %r\n}\n"
#define DOUBLE_TO(type, name, ptx, constraint)                                                     \
    "define " type " @nvvm.nvvm.d2" name ".rz(double %x) #1 {\n"                                   \
    "  %r = call " type " asm \"cvt.rzi." ptx ".f64 $0, $1;\", \"=" constraint                     \
    ",d\"(double %x) #1\n"                                                                         \
    "  ret " type " %r\n}\n"
#define MATCH(type)                                                                                \
    "declare {i32, i1} @llvm.nvvm.match.all.sync." type "p(i32, " type ")\n"                       \
    "define {i32, i1} @nvvm.nvvm.match.all.sync." type "(i32 %m, " type " %v) #0 {\n"              \
    "  %r = call {i32, i1} @llvm.nvvm.match.all.sync." type "p(i32 %m, " type " %v)\n"             \
    "  ret {i32, i1} %r\n}\n"

const char nv_intrinsics[] =
    SHUFFLE("idx") SHUFFLE("up") SHUFFLE("down") SHUFFLE("bfly") VOTE("all") VOTE("any") VOTE(
        "uni") "declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)\n"
               "define {i32, i1} @nvvm.nvvm.shfl.sync.i32(i32 %m, i32 %mode, i32 %a, i32 %b, i32 "
               "%c) #0 {\n"
               "  switch i32 %mode, label %none [ i32 0, label %idx i32 1, label %up\n"
               "                                  i32 2, label %down i32 3, label %bfly "
               "]\n" SHUFFLE_CASE("idx") SHUFFLE_CASE("up") SHUFFLE_CASE("down") SHUFFLE_CASE(
                   "bfly") "none:\n  unreachable\n}\n"
                           "define {i32, i1} @nvvm.nvvm.vote.sync(i32 %m, i32 %mode, i1 %p) #0 {\n"
                           "  switch i32 %mode, label %none [ i32 0, label %all i32 1, label %any\n"
                           "                                  i32 2, label %uni i32 3, label "
                           "%ballot ]\n" VOTE_CASE("all") VOTE_CASE("any") VOTE_CASE(
                               "uni") "ballot:\n"
                                      "  %bits = call i32 @llvm.nvvm.vote.ballot.sync(i32 %m, i1 "
                                      "%p)\n"
                                      "  %r = insertvalue {i32, i1} zeroinitializer, i32 %bits, 0\n"
                                      "  ret {i32, i1} %r\n"
                                      "none:\n  unreachable\n}\n" MATCH("i32") MATCH(
                                          "i64") FLOAT_TO("i32", "i") FLOAT_TO("i32", "ui")
                                          FLOAT_TO("i64", "ll") FLOAT_TO("i64", "ull") DOUBLE_TO(
                                              "i32", "i", "s32", "r") DOUBLE_TO("i32", "ui", "u32",
                                                                                "r")
                                              DOUBLE_TO("i64", "ll", "s64", "l") DOUBLE_TO(
                                                  "i64", "ull", "u64",
                                                  "l") "attributes #1 = { alwaysinline nounwind "
                                                       "willreturn memory(none) }\n"
                                                       "attributes #0 = { alwaysinline convergent "
                                                       "nounwind }\n";

static bool is_renamed(const char *at, size_t len, const char *name, char other)
{
    size_t n = strlen(name);

    return len >= n && !memcmp(at, name, n) && !(other && len > n && at[n] == other);
}

bool nv_intrinsics_rename(char *bytes, size_t len)
{
    bool found = false;

    for (size_t at = 0; at < len; at++) {
        if (bytes[at] != 'l')
            continue;
        for (size_t i = 0; i < HD_COUNT_OF(renamed); i++)
            if (is_renamed(bytes + at, len - at, renamed[i].name, renamed[i].other)) {
                memcpy(bytes + at, "nvvm", 4);
                found = true;
            }
    }
    return found;
}
