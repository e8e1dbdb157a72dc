/*
 * What stands for a module's machine code, which modules of Heddle do not have: the head of an ELF
 * file for CUDA without sections, and the 16 bytes that identify the module's content. Clients
 * keep it, number it and give it back to find source lines, which are those of the samples that
 * this process was told of.
 */
#include <assert.h>
#include <elf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/cupti/sampler.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

struct cubin {
    Elf64_Ehdr head;
    char magic[8];
    uint8_t image[CUPTI_IMAGE_B];
};
_Static_assert(sizeof(struct cubin) == CUPTI_CUBIN_B, "sampler.h says so");

#define CUBIN_MAGIC "HDLIMAG"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(lock, lock);
static struct hd_map kept;  /* cubins by image */
static struct hd_map lines; /* struct line by image, kernel and instruction */
static _Atomic(CUpti_ComputeCrcCallbackFunc) client_crc;

struct line {
    uint32_t number;
    char file[];
};

/* ---- cubins */

static void cubin_fill(struct cubin *c, const uint8_t image[CUPTI_IMAGE_B])
{
    *c = (struct cubin){.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                             ELFDATA2LSB, EV_CURRENT},
                                 .e_type = ET_EXEC,
                                 .e_machine = EM_CUDA,
                                 .e_version = EV_CURRENT,
                                 .e_ehsize = sizeof(Elf64_Ehdr)},
                        .magic = CUBIN_MAGIC};
    memcpy(c->image, image, CUPTI_IMAGE_B);
}

const void *cupti_cubin_keep(const uint8_t image[CUPTI_IMAGE_B])
{
    const struct hd_str key = {(const char *)image, CUPTI_IMAGE_B};
    struct cubin *c;

    pthread_mutex_lock(&lock);
    c = hd_map_get(&kept, key);
    if (!c) {
        c = hd_new(struct cubin);
        if (c) {
            cubin_fill(c, image);
            if (!hd_map_put(&kept, (struct hd_str){(const char *)c->image, CUPTI_IMAGE_B}, c)) {
                hd_free(c);
                c = NULL;
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return c;
}

static bool cubin_read(const void *bytes, size_t size_B, uint8_t out_image[CUPTI_IMAGE_B])
{
    struct cubin c;

    if (size_B < sizeof(c))
        return false;
    memcpy(&c, bytes, sizeof(c));
    memcpy(out_image, c.image, CUPTI_IMAGE_B);
    return !memcmp(c.magic, CUBIN_MAGIC, sizeof(c.magic));
}

/* FNV-1a */
static uint64_t number_of(const void *bytes, size_t size_B)
{
    const uint8_t *p = bytes;
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < size_B; i++)
        hash = (hash ^ p[i]) * UINT64_C(1099511628211);
    return hash;
}

uint64_t cupti_cubin_crc(const uint8_t image[CUPTI_IMAGE_B])
{
    CUpti_ComputeCrcCallbackFunc own = atomic_load(&client_crc);
    struct cubin c;
    uint64_t crc = 0;

    cubin_fill(&c, image);
    if (!own)
        return number_of(&c, sizeof(c));
    own(&c, sizeof(c), &crc);
    return crc;
}

CUPTI_EXPORT(cuptiRegisterComputeCrcCallback)
CUptiResult cuptiRegisterComputeCrcCallback(CUpti_ComputeCrcCallbackFunc funcComputeCubinCrc)
{
    if (!funcComputeCubinCrc)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    atomic_store(&client_crc, funcComputeCubinCrc);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiGetCubinCrc)
CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams *pParams)
{
    if (!CUPTI_HAS_SIZE(pParams, cubinCrc) || !pParams->cubin || !pParams->cubinSize)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    pParams->cubinCrc = number_of(pParams->cubin, pParams->cubinSize);
    return CUPTI_SUCCESS;
}

/* ---- lines */

static char *key_make(const uint8_t image[CUPTI_IMAGE_B], const char *kernel, uint32_t instr,
                      struct hd_str *out_key)
{
    const size_t name_B = strlen(kernel), size_B = CUPTI_IMAGE_B + sizeof(instr) + name_B;
    char *bytes = hd_alloc(size_B);

    if (!bytes)
        return NULL;
    memcpy(bytes, image, CUPTI_IMAGE_B);
    memcpy(bytes + CUPTI_IMAGE_B, &instr, sizeof(instr));
    memcpy(bytes + CUPTI_IMAGE_B + sizeof(instr), kernel, name_B);
    *out_key = (struct hd_str){bytes, size_B};
    return bytes;
}

void cupti_line_note(const struct heddle_sample *s)
{
    const size_t file_B = s->file ? strlen(s->file) + 1 : 0;
    struct hd_str key;
    char *bytes = s->line && s->file ? key_make(s->image, s->kernel, s->instr, &key) : NULL;
    struct line *line = bytes ? hd_alloc(sizeof(*line) + file_B) : NULL;
    bool is_kept = false;

    if (line) {
        line->number = s->line;
        memcpy(line->file, s->file, file_B);
        pthread_mutex_lock(&lock);
        is_kept = !hd_map_get(&lines, key) && hd_map_put(&lines, key, line);
        pthread_mutex_unlock(&lock);
    }
    if (is_kept)
        return;
    hd_free(line);
    hd_free(bytes);
}

static const struct line *line_find(const uint8_t image[CUPTI_IMAGE_B], const char *kernel,
                                    uint32_t instr)
{
    const struct line *line = NULL;
    struct hd_str key;
    char *bytes = key_make(image, kernel, instr, &key);

    if (!bytes)
        return NULL;
    pthread_mutex_lock(&lock);
    line = hd_map_get(&lines, key);
    pthread_mutex_unlock(&lock);
    hd_free(bytes);
    return line;
}

static CUptiResult line_fill(const struct line *line, CUpti_GetSassToSourceCorrelationParams *p)
{
    const char *slash = strrchr(line->file, '/'), *name = slash ? slash + 1 : line->file;

    assert(line->number);
    p->lineNumber = line->number;
    /* For the client's free(). */
    p->fileName = strdup(name);
    p->dirName = strndup(line->file, slash ? (size_t)(slash - line->file) : 0);
    if (p->fileName && p->dirName)
        return CUPTI_SUCCESS;
    free(p->fileName);
    free(p->dirName);
    return CUPTI_ERROR_OUT_OF_MEMORY;
}

CUPTI_EXPORT(cuptiGetSassToSourceCorrelation)
CUptiResult cuptiGetSassToSourceCorrelation(CUpti_GetSassToSourceCorrelationParams *pParams)
{
    uint8_t image[CUPTI_IMAGE_B];
    const struct line *line;

    if (!CUPTI_HAS_SIZE(pParams, dirName) || !pParams->cubin || !pParams->cubinSize ||
        !pParams->functionName)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    if (!cubin_read(pParams->cubin, pParams->cubinSize, image))
        return cupti_result(CUPTI_ERROR_INVALID_MODULE);
    line = pParams->pcOffset % CUPTI_INSTR_B || pParams->pcOffset / CUPTI_INSTR_B > UINT32_MAX
               ? NULL
               : line_find(image, pParams->functionName,
                           (uint32_t)(pParams->pcOffset / CUPTI_INSTR_B));
    return cupti_result(line ? line_fill(line, pParams) : CUPTI_ERROR_UNKNOWN);
}
