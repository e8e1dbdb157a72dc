/*
 * Environment variables: one table. A row says how the variable is called, what it may hold, and
 * what it means; docs/envvars.md, `heddle run`'s checks and hd_env_check() are made from it.
 *
 * A value that the table does not allow is never ignored: libcuda and the heddle command call
 * hd_env_check() when they start and refuse to go on, with a message that names variable, value
 * and what is possible. Readers may therefore rely on the form of what they read.
 *
 * A program with raised privileges (setuid, setgid, file capabilities: AT_SECURE) is run by
 * somebody with less rights than it has. Variables name files, folders, libraries and programs, so
 * none is read there, as if all were unset. All of src/ reads the environment here, as lint checks.
 *
 * Threads: getenv()'s rules; nothing here writes the environment.
 */
#ifndef HD_BASE_ENV_H
#define HD_BASE_ENV_H

#include "base/status.h"
#include "base/str.h"

/* What a variable may hold; the row's third column says more: */
enum hd_env_kind {
    HD_ENV_TEXT,    /* anything; whoever reads it checks */
    HD_ENV_FLAGS,   /* comma list of debug flags (base/log.h) */
    HD_ENV_FILE,    /* a path, recognisable as one: with a slash or a dot */
    HD_ENV_CHOICE,  /* one of the words in the third column */
    HD_ENV_FIRST,   /* the same up to the first comma; whoever reads it checks the rest */
    HD_ENV_COUNT,   /* a number; the third column is "FIRST to LAST" */
    HD_ENV_DEVICES, /* a number, or a list of devices: hd_env_devices() */
    HD_ENV_SIZE,    /* bytes: a number with K, M, G or T; not 0 */
};

/* name, kind, what is possible, doc */
/* clang-format off */
#define HD_ENV_LIST(X)                                                                             \
    X("HEDDLE_DEBUG", FLAGS, "", "comma list of debug flags; `help` prints them")                  \
    X("HEDDLE_LOG", FILE, "", "file that receives the log instead of stderr")                      \
    X("HEDDLE_CPU", FIRST, "avx512, avx2, generic", "code path of the CPU device, and features of the host that are not used (`avx512,-vbmi`); default: best the host has") \
    X("HEDDLE_HOST_CPU", CHOICE, "avx512, avx2, generic", "the most that the host is taken to have, for tests of what hosts with less do; default: what it has") \
    X("HEDDLE_THREADS", COUNT, "1 to 256", "worker threads of the CPU device; default: the CPUs this process may use") \
    X("HEDDLE_CACHE", TEXT, "", "directory of the code cache, or `off`; default: $XDG_CACHE_HOME/heddle") \
    X("HEDDLE_CACHE_SIZE", SIZE, "", "size cap of the code cache, e.g. 512M; default: 1G")         \
    X("HEDDLE_MEMORY", SIZE, "", "memory of each device, e.g. 4G; default: half of the host's memory, shared among them") \
    X("HEDDLE_DEVICE", CHOICE, "cpu, interp, sim, remote-cpu, remote-interp", "kind of the devices where HEDDLE_DEVICES names none; default: cpu. interp is the slow reference; sim runs code of our own instruction set; remote-: in a process of its own") \
    X("HEDDLE_DEVICES", DEVICES, "1 to 64", "number of devices, or the kind of each (`cpu,cpu,interp`); each has its own memory and threads; `cpu/2` is two devices that share one, each with half of its multiprocessors; default: 1") \
    X("CUDA_VISIBLE_DEVICES", TEXT, "", "which devices the program sees, in which order: indices or UUIDs, as CUDA documents it") \
    X("CUDA_LOG_FILE", TEXT, "", "where each call that fails is told, with its reason: `stdout`, `stderr`, or a file that it is appended to") \
    X("CUDA_INJECTION64_PATH", TEXT, "", "a tool's library, which cuInit() opens and whose InitializeInjection() it calls; without it, or when that returns 0, the program goes on and the log says why") \
    X("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", CHOICE, "0, 1", "1: a kernel that fails is written to a file, see docs/debugging.md; kernels are interpreted then, some hundred times slower") \
    X("CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION", CHOICE, "0, 1", "0: the program is not aborted after a core dump of its kernels; default: 1") \
    X("CUDA_ENABLE_LIGHTWEIGHT_COREDUMP", CHOICE, "0, 1", "1: core dumps without memory") \
    X("CUDA_ENABLE_USER_TRIGGERED_COREDUMP", CHOICE, "0, 1", "1: a byte that is written to the pipe of CUDA_COREDUMP_PIPE triggers a core dump") \
    X("CUDA_COREDUMP_FILE", TEXT, "", "name of core dumps, with %h (host), %p (process), %t (seconds since 1970); default: core_%t_%h_%p.nvcudmp") \
    X("CUDA_COREDUMP_PIPE", TEXT, "", "name of that pipe, which is made; default: corepipe.cuda.%h.%p") \
    X("CUDA_COREDUMP_GENERATION_FLAGS", TEXT, "", "comma list: skip_global_memory, skip_shared_memory, skip_local_memory, skip_constbank_memory, skip_nonrelocated_elf_images, skip_abort, lightweight") \
    X("CUDA_COREDUMP_SHOW_PROGRESS", CHOICE, "0, 1", "1: tell on stderr when a core dump begins") \
    X("HEDDLE_EXIT_WAIT", COUNT, "0 to 3600000", "milliseconds that exit, cudaDeviceReset and the end of a context wait for running kernels before they cancel them; default: 5000") \
    X("HEDDLE_WATCHDOG", COUNT, "0 to 86400", "seconds for which the threads of a launch may do nothing but wait for each other: then it ends with cudaErrorLaunchTimeout and a message that says who waits where; default: 0, for ever") \
    X("HEDDLE_GDBSERVER", TEXT, "", "where a debugger will connect, `unix:PATH` or `HOST:PORT`: the program waits for it before main(); set by `heddle run --gdbserver` and `heddle gdb`") \
    X("HEDDLE_GDB_LOST", CHOICE, "go-on, end", "what a program does when its debugger goes without a word, or does not come within a minute; default: go-on, and wait for it; set by `heddle gdb`") \
    X("HEDDLE_SIM", CHOICE, "hazards, counts", "what the sim device does besides: hazards: a launch fails where control fields let an instruction read, or overwrite, a register too early; counts: a line in the log for each launch, of the instructions of our own set that it executed") \
    X("HEDDLE_STRICT", CHOICE, "0, 1", "1: kernels may only touch what a discrete GPU could; see docs/core.md") \
    X("HEDDLE_MACHINE", CHOICE, "default, t4, a100, rtx3090, l40, rtx4090, h100, h200, b200, rtx5090", "machine the device identifies as: its compute capability, limits and number of SMs, as in spec/machines.def; default: compute capability 12.0 and an SM per worker thread") \
    X("HEDDLE_MMA", CHOICE, "chain, sm_70, sm_75, sm_80, sm_89, sm_90, sm_100, sm_120", "whose tensor cores' sums matrix instructions have, to the bit, see docs/decisions/0157; default: HEDDLE_MACHINE's, else chain, fused multiply-adds in the order of k") \
    X("HEDDLE_ONEDNN", TEXT, "", "oneDNN's library, for products of matrices of 8 and 16 bits, or `off`; default: libdnnl.so.3 beside libheddle-klib.so, of the Python environment, or where the loader looks; see docs/cublas.md") \
    X("HEDDLE_CLANG", TEXT, "", "clang 19 that `heddle cc` and libnvrtc run; default: the installation's own, else clang++-19 of the path") \
    X("HEDDLE_INCLUDE", TEXT, "", "directory of Heddle's CUDA headers, for `heddle cc` and libnvrtc") \
    X("HEDDLE_PTXAS", TEXT, "", "assembler that runs in place of the vendor's ptxas where a client starts that; set by `heddle run`") \
    X("HEDDLE_TOOL", TEXT, "", "the `heddle` that compiles what a program needs, such as the layer for PyTorch; set by `heddle run`") \
    X("HEDDLE_TORCH", CHOICE, "off, cpu", "off: PyTorch is left as it is, and its operators on cuda fail; default: cpu, they run PyTorch's CPU kernels") \
    X("HEDDLE_ONNX", CHOICE, "off, cpu", "off: ONNX Runtime is left as it is, and its CUDAExecutionProvider fails; default: cpu, it runs ONNX Runtime's CPU kernels") \
    X("HEDDLE_LIBDIR", TEXT, "", "directory of Heddle's libraries, for `heddle cc`, `heddle run` and libnvrtc") \
    X("HEDDLE_SKIP_PASS", TEXT, "", "comma list of passes to leave out: ir_opt_* (HEDDLE_DEBUG=opt names them), gen_* (spec/gen_passes.def), isa_* (spec/codegen_passes.def)") \
    X("HEDDLE_CODEGEN", TEXT, "", "comma list of what code for the sim device may use, for measurements: `counters=5,predicates=6,registers=64`; default: all that there is") \
    X("HEDDLE_PROFILE", TEXT, "", "file that gets how often each block of a kernel ran, for the next compilation; the sim device counts; see docs/pgo.md") \
    X("HEDDLE_PROFILE_USE", TEXT, "", "such a file, from which code for the sim device is made: what ran most is to be fast; default: blocks count by the loops around them") \
    X("HEDDLE_TUNING", TEXT, "", "file of `heddle tune`, from which kernels' code is made as it was found best; see docs/tuning.md") \
    X("HEDDLE_TUNE", TEXT, "", "file that gets what kernels cost, with the points of HEDDLE_TUNING; set by `heddle tune`") \
    X("HEDDLE_REPORT", TEXT, "", "directory for reports about kernels that do not get their fast form; see `heddle replay`") \
    X("HEDDLE_REGISTRY", TEXT, "", "file in which your processes write what they do with devices, for NVML and `heddle smi`, or `off`; default: /dev/shm/heddle-UID.1") \
    X("HEDDLE_PROF", TEXT, "", "what is recorded, and the folder that it goes to; set by `heddle prof`") \
    X("HEDDLE_REQUESTS", TEXT, "", "NVTX ranges that are counted as requests, a comma list of NAME, NAME@DOMAIN and NAME*; `heddle serve` shows them; set by `heddle run --requests`") \
    X("HEDDLE_COUNT", TEXT, "", "whose instructions are counted, and the folder that the counts go to; set by `heddle prof --kernel`") \
    X("HEDDLE_CHECK", TEXT, "", "what is checked while kernels run, and where findings go; set by `heddle check`") \
    X("HEDDLE_FAULT", TEXT, "", "comma list of fault points: what is to fail, for tests; the table is below")
/* clang-format on */

/* Variables of tests, scripts and the corpus; the libraries do not read them. */
#define HD_ENV_TOOL_LIST(X)                                                                        \
    X("HEDDLE_SEED")                                                                               \
    X("HEDDLE_GOLDEN")                                                                             \
    X("HEDDLE_SANITIZER_RUNTIME")                                                                  \
    X("HEDDLE_CORPUS")                                                                             \
    X("HEDDLE_CORPUS_TABLES")

/* Are privileges raised, and the environment that of somebody else? */
bool hd_env_is_foreign(void);
/* Names in the table, in order; NULL behind the last one. */
const char *hd_env_name(size_t index);
/* A variable of the table; NULL when unset or empty. */
const char *hd_env(const char *name);
/* One of the system or of another project, as PATH and HOME, or one for which empty is a value;
 * NULL when unset. */
const char *hd_env_of_system(const char *name);
/*
 * The environment for a program of ours that this process starts: without what was preloaded into
 * this one; empty with raised privileges. hd_free() it, not its strings. NULL: no memory.
 */
char **hd_env_of_child(void);

/* The value of a COUNT or SIZE; false, *out_value untouched, when unset or not allowed. */
bool hd_env_u64(const char *name, uint64_t *out_value);

/*
 * What HEDDLE_DEVICES says, or HEDDLE_DEVICES=1: one entry per device of the HAL, in order. As the
 * program counts them they are the sum of `parts`, at most HD_ENV_DEVICES_MAX.
 */
#define HD_ENV_DEVICES_MAX 64u
struct hd_env_device {
    struct hd_str kind; /* in the environment, or a constant */
    unsigned parts;     /* devices that share it */
};
/* How many entries. */
unsigned hd_env_devices(struct hd_env_device out_devices[HD_ENV_DEVICES_MAX]);

/* True when the table allows the value; otherwise *out_why gets a sentence that says what it
 * allows. */
bool hd_env_allows(const char *name, const char *value, struct hd_buf *out_why);

/* HD_BAD_ARG for the first variable whose value is not allowed. */
enum hd_status hd_env_check(void) HD_MUST_CHECK;

/* Logs a line for each HEDDLE_* variable that is not in the table, with the nearest name, and for
 * each unknown debug flag. One library of a process calls it, once: libcuda. */
void hd_env_warn(void);

#endif
