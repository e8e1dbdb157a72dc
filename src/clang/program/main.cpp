/*
 * clang as one file: what a wheel brings (docs/decisions/0153-wheels.md).
 *
 * Debian's clang is a small program over two shared libraries and what those need, 270 MB. This one has
 * of clang's archives what Heddle uses: the driver, C++ and CUDA, code for x86-64 and PTX. It takes
 * the options of `clang++`, as it is clang's driver; no analyser, no plugins, no assembly as input.
 *
 * The only C++ of the project: clang has no interface in C that makes code.
 */
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Driver/Compilation.h>
#include <clang/Driver/Driver.h>
#include <clang/Driver/ToolChain.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm-c/Target.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/InitLLVM.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

using Words = llvm::SmallVectorImpl<const char *>;

/* Debian's clang asks for Polly's passes, which are not wanted. */
llvm::PassPluginLibraryInfo getPollyPluginInfo();
llvm::PassPluginLibraryInfo getPollyPluginInfo()
{
    return {LLVM_PLUGIN_API_VERSION, "none", "0", [](llvm::PassBuilder &) {}};
}

static void init_targets()
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
}

/* ---- clang -cc1: one source, one result */

static std::unique_ptr<clang::FrontendAction> action_of(clang::frontend::ActionKind kind)
{
    switch (kind) {
    case clang::frontend::EmitAssembly:
        return std::make_unique<clang::EmitAssemblyAction>();
    case clang::frontend::EmitBC:
        return std::make_unique<clang::EmitBCAction>();
    case clang::frontend::EmitLLVM:
        return std::make_unique<clang::EmitLLVMAction>();
    case clang::frontend::EmitObj:
        return std::make_unique<clang::EmitObjAction>();
    case clang::frontend::GeneratePCH:
        return std::make_unique<clang::GeneratePCHAction>();
    case clang::frontend::ParseSyntaxOnly:
        return std::make_unique<clang::SyntaxOnlyAction>();
    case clang::frontend::PrintPreprocessedInput:
        return std::make_unique<clang::PrintPreprocessedAction>();
    case clang::frontend::RunPreprocessorOnly:
        return std::make_unique<clang::PreprocessOnlyAction>();
    default:
        return nullptr;
    }
}

/* What -mllvm hands on. */
static void set_llvm_options(const std::vector<std::string> &options)
{
    std::vector<const char *> words = {"clang (LLVM option parsing)"};
    for (const std::string &option : options)
        words.push_back(option.c_str());
    if (!options.empty())
        llvm::cl::ParseCommandLineOptions(static_cast<int>(words.size()), words.data());
}

static int compile(Words &words)
{
    clang::CompilerInstance compiler;
    auto *early = new clang::TextDiagnosticBuffer; /* the engine's */
    clang::DiagnosticsEngine early_engine(new clang::DiagnosticIDs, new clang::DiagnosticOptions, early);
    bool understood = clang::CompilerInvocation::CreateFromArgs(
        compiler.getInvocation(), llvm::ArrayRef<const char *>(words).slice(2), early_engine, words[0]);
    compiler.createDiagnostics();
    if (!compiler.hasDiagnostics())
        return 1;
    early->FlushDiagnostics(compiler.getDiagnostics());
    if (!understood)
        return 1;
    set_llvm_options(compiler.getFrontendOpts().LLVMArgs);
    auto action = action_of(compiler.getFrontendOpts().ProgramAction);
    if (!action) {
        llvm::errs() << "clang++: error: this build of clang compiles and preprocesses, and cannot do "
                        "what was asked for; set HEDDLE_CLANG to a whole clang 19\n";
        return 1;
    }
    return compiler.ExecuteAction(*action) ? 0 : 1;
}

/* ---- the driver: from options to runs of -cc1 and the linker */

static int drive(Words &words)
{
    std::string own = llvm::sys::fs::getMainExecutable(words[0], reinterpret_cast<void *>(&drive));
    static const char mode[] = "--driver-mode=g++";
    words.insert(words.begin() + 1, mode);
    llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options(
        clang::CreateAndPopulateDiagOpts(words).release());
    auto *printer = new clang::TextDiagnosticPrinter(llvm::errs(), &*options); /* the engine's */
    printer->setPrefix("clang++");
    clang::DiagnosticsEngine engine(new clang::DiagnosticIDs, &*options, printer);
    clang::ProcessWarningOptions(engine, *options, false);
    clang::driver::Driver driver(own, llvm::sys::getDefaultTargetTriple(), engine);
    driver.setTargetAndMode(clang::driver::ParsedClangName("clang++", mode));
    driver.CC1Main = compile; /* without a process more, where there is one job */
    std::unique_ptr<clang::driver::Compilation> jobs(driver.BuildCompilation(words));
    if (!jobs || jobs->containsError())
        return 1;
    llvm::SmallVector<std::pair<int, const clang::driver::Command *>, 4> failed;
    int status = driver.ExecuteCompilation(*jobs, failed);
    for (const auto &job : failed)
        status = status ? status : job.first;
    return status < 0 ? 1 : status; /* below 0: a signal ended it */
}

int main(int argc, const char **argv)
{
    llvm::InitLLVM init(argc, argv);
    init_targets();
    llvm::SmallVector<const char *, 256> words(argv, argv + argc);
    if (argc == 0)
        return 1;
    return argc > 1 && !strcmp(argv[1], "-cc1") ? compile(words) : drive(words);
}
