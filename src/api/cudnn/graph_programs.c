/* Programs of graphs: those that are alike are one, which is kept while anyone needs it. */
#include "api/cudnn/graph.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"

enum { BUCKETS = 1024 };

struct kept {
    struct kept *next;
    struct dnn_program *program;
};

static struct {
    pthread_mutex_t lock;
    struct kept *buckets[BUCKETS];
    size_t waiting; /* programs without owners, for launches */
} programs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t hash_of(const struct dnn_program *p)
{
    const unsigned char *byte = (const unsigned char *)(p + 1);
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */

    for (size_t i = 0; i < p->size_B - sizeof(*p); i++)
        hash = (hash ^ byte[i]) * 0x100000001b3;
    return hash;
}

/* Frees what has no owners, and nothing of which is left to run. */
static void free_waiting_locked(void)
{
    programs.waiting = 0;
    for (size_t b = 0; b < BUCKETS; b++)
        for (struct kept **at = &programs.buckets[b]; *at;) {
            struct kept *kept = *at;
            struct dnn_program *p = kept->program;
            bool waits = !p->owners && !p->is_captured;
            if (waits &&
                atomic_load_explicit(&p->done, memory_order_acquire) == atomic_load(&p->launched)) {
                *at = kept->next;
                hd_free(p);
                hd_free(kept);
                continue;
            }
            programs.waiting += waits;
            at = &kept->next;
        }
}

struct dnn_program *graph_intern(const struct dnn_program *program)
{
    uint64_t hash = hash_of(program);
    struct kept **at = &programs.buckets[hash % BUCKETS], *kept;
    struct dnn_program *found = NULL;

    (void)pthread_mutex_lock(&programs.lock);
    for (kept = *at; kept && !found; kept = kept->next)
        if (kept->program->hash == hash && kept->program->size_B == program->size_B &&
            !memcmp(kept->program + 1, program + 1, program->size_B - sizeof(*program)))
            found = kept->program;
    if (!found) {
        kept = hd_new(struct kept);
        if (kept && !(kept->program = hd_alloc(program->size_B))) {
            hd_free(kept);
            kept = NULL;
        }
        if (kept) {
            memcpy((void *)kept->program, program, program->size_B);
            kept->program->hash = hash;
            kept->next = *at;
            *at = kept;
            found = kept->program;
        }
    }
    if (found)
        found->owners++;
    if (programs.waiting)
        free_waiting_locked();
    (void)pthread_mutex_unlock(&programs.lock);
    return found;
}

void graph_disown(struct dnn_program *program)
{
    if (!program)
        return;
    (void)pthread_mutex_lock(&programs.lock);
    if (!--program->owners && !program->is_captured) {
        programs.waiting++;
        free_waiting_locked();
    }
    (void)pthread_mutex_unlock(&programs.lock);
}

struct dnn_program *graph_own(struct dnn_program *program)
{
    (void)pthread_mutex_lock(&programs.lock);
    program->owners++;
    (void)pthread_mutex_unlock(&programs.lock);
    return program;
}

void graph_captured(struct dnn_program *program)
{
    (void)pthread_mutex_lock(&programs.lock);
    program->is_captured = true;
    (void)pthread_mutex_unlock(&programs.lock);
}
