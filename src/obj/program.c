/* See program.h. */
#include "obj/program.h"

#include <assert.h>
#include <ctype.h>
#include <elf.h>
#include <string.h>

bool obj_is_runtime_name(struct hd_str name)
{
    size_t at = hd_str_starts(name, "__cuda") ? 6 : hd_str_starts(name, "cuda") ? 4 : 0;
    return at && name.len > at && isupper((unsigned char)name.ptr[at]);
}

bool obj_is_driver_name(struct hd_str name)
{
    return name.len > 2 && hd_str_starts(name, "cu") && isupper((unsigned char)name.ptr[2]);
}

const char *obj_runtime_text(enum obj_runtime runtime)
{
    static const char *const texts[] = {
#define X(name, text) text,
        OBJ_RUNTIME_LIST(X)
#undef X
    };
    assert((size_t)runtime < HD_COUNT_OF(texts));
    return texts[runtime];
}

static bool imports_runtime(const struct obj_elf *elf)
{
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol;
    if (!obj_elf_symbols(elf, OBJ_ELF_DYNSYM, &table))
        return false;
    for (size_t i = 0; i < table.len; i++)
        if (obj_elf_symbol(&table, i, &symbol) && symbol.section == SHN_UNDEF &&
            obj_is_runtime_name(symbol.name))
            return true;
    return false;
}

/* cudaRuntimeGetVersion is one of the functions that come with any part of the static library. */
static bool defines_function(const struct obj_elf *elf, const char *name)
{
    const struct hd_str text = hd_str_from(name);
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol;
    if (!obj_elf_symbols(elf, OBJ_ELF_SYMTAB, &table))
        return false;
    for (size_t i = 0; i < table.len; i++)
        if (obj_elf_symbol_named(&table, i, text) && obj_elf_symbol(&table, i, &symbol) &&
            symbol.section != SHN_UNDEF && symbol.type == STT_FUNC)
            return true;
    return false;
}

enum obj_runtime obj_program_embedded(const struct obj_elf *elf)
{
    struct obj_elf_section section;
    if (obj_elf_needs(elf, "libcudart.so"))
        return OBJ_RUNTIME_SHARED;
    if (defines_function(elf, "cudaRuntimeGetVersion"))
        return OBJ_RUNTIME_EMBEDDED;
    if (!obj_elf_section_find(elf, ".nvFatBinSegment", &section))
        return OBJ_RUNTIME_NONE;
    return imports_runtime(elf) ? OBJ_RUNTIME_SHARED : OBJ_RUNTIME_STRIPPED;
}

enum obj_runtime obj_program_runtime(const struct obj_elf *elf)
{
    enum obj_runtime runtime = obj_program_embedded(elf);
    return runtime == OBJ_RUNTIME_NONE && imports_runtime(elf) ? OBJ_RUNTIME_SHARED : runtime;
}

static unsigned embedded_version(const struct obj_elf *elf)
{
    if (defines_function(elf, "__cudaRegisterTexture"))
        return 11;
    return defines_function(elf, "cudaThreadSynchronize") ? 12 : 13;
}

unsigned obj_program_cuda_version(const struct obj_elf *elf)
{
    struct hd_str library;
    for (size_t n = 0; obj_elf_needed(elf, n, &library); n++) {
        static const char prefix[] = "libcudart.so.";
        if (!hd_str_starts(library, prefix))
            continue;
        const char *digits = library.ptr + sizeof(prefix) - 1;
        size_t len = strspn(digits, "0123456789");
        uint64_t version;
        return hd_str_to_u64((struct hd_str){digits, len}, 10, &version) ? (unsigned)version : 0;
    }
    return obj_program_runtime(elf) == OBJ_RUNTIME_EMBEDDED ? embedded_version(elf) : 0;
}

/* Prefixes that begin with another one come before that. */
static const struct obj_vendor_library vendors[] = {
    {"libcublasLt.so", "cuBLASLt", "cublasLt"},
    {"libcublas.so", "cuBLAS", "cublas"},
    {"libnvblas.so", "NVBLAS", "nvblas"},
    {"libcusparseLt.so", "cuSPARSELt", "cusparseLt"},
    {"libcusparse.so", "cuSPARSE", "cusparse"},
    {"libcusolverMg.so", "cuSOLVER for several GPUs", "cusolverMg"},
    {"libcusolver.so", "cuSOLVER", "cusolver"},
    {"libcufft.so", "cuFFT", "cufft"},
    {"libcufftw.so", "cuFFTW", "fftw"},
    {"libcurand.so", "cuRAND", "curand"},
    {"libcudnn", "cuDNN", "cudnn"},
    {"libcutensor", "cuTENSOR", "cutensor"},
    {"libnccl.so", "NCCL", "nccl"},
    {"libnvshmem", "NVSHMEM", "nvshmem"},
    {"libnvrtc.so", "NVRTC", "nvrtc"},
    {"libnvJitLink.so", "nvJitLink", "nvJitLink"},
    {"libnvjpeg.so", "nvJPEG", "nvjpeg"},
    {"libnpp", "NPP", "npp"},
    {"libcupti.so", "CUPTI", "cupti"},
    {"libnvidia-ml.so", "NVML", "nvml"},
    {"libcufile.so", "cuFile", "cuFile"},
    {"libnvToolsExt.so", "NVTX", "nvtx"},
};

const struct obj_vendor_library *obj_vendor_library(struct hd_str path)
{
    const char *slash = memrchr(path.ptr ? path.ptr : "", '/', path.len);
    if (slash)
        path = (struct hd_str){slash + 1, path.len - (size_t)(slash + 1 - path.ptr)};
    for (size_t i = 0; i < HD_COUNT_OF(vendors); i++)
        if (hd_str_starts(path, vendors[i].soname))
            return &vendors[i];
    return NULL;
}

const struct obj_vendor_library *obj_vendor_function(struct hd_str name)
{
    const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] != '_' && !(name.ptr[i] >= '0' && name.ptr[i] <= '9') &&
            !((name.ptr[i] | 32) >= 'a' && (name.ptr[i] | 32) <= 'z'))
            return NULL;
    for (size_t i = 0; i < HD_COUNT_OF(vendors); i++) {
        size_t len = strlen(vendors[i].functions);
        if (name.len > len && hd_str_starts(name, vendors[i].functions) &&
            strchr(letters, name.ptr[len]))
            return &vendors[i];
    }
    return NULL;
}
