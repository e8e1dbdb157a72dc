/*
 * Trees in shared memory: between two barriers the first threads read words at places that their
 * numbers and constants make, compute, and write others. A compiler that keeps such words in
 * registers from barrier to barrier must come to what a loop over the threads comes to.
 *
 * Kernels are random; each step reads one half of the shared words and writes the other, or is a
 * step of a sum in place, so that threads do not meet.
 */
#include <math.h>

#include "launch_job.h"

enum { WORDS = 640, HALF = WORDS / 2, STEPS_MAX = 12, KERNELS = 24 };

/* Which word of a half: `scale` times the thread's number, and more. */
struct place {
    uint32_t scale, plus, flip; /* (scale * t + plus) ^ flip */
    bool padded;                /* a word more for every 32 */
};

enum compute { ADD, XOR, MIN, FLOAT_ADD, NCOMPUTE };

struct step {
    uint32_t threads;  /* that take part */
    unsigned test;     /* how that is written */
    bool in_place;     /* a step of a sum: s[j] += s[i], or that and s[i] = s[j] with `moves` */
    bool moves, tells; /* the first thread writes what it found to global memory */
    struct place from[2], to[2];
    enum compute compute;
};

struct kernel {
    struct step steps[STEPS_MAX];
    unsigned nsteps;
    uint32_t threads;
    uint32_t value, block; /* numbers given so far */
    struct hd_buf text;
};

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* ---- what comes out */

static uint32_t place_at(const struct place *p, uint32_t t)
{
    uint32_t i = (p->scale * t + p->plus) ^ p->flip;
    return p->padded ? i + (i >> 5) : i;
}

static uint32_t float_sum(uint32_t a, uint32_t b)
{
    float x, y;
    memcpy(&x, &a, 4);
    memcpy(&y, &b, 4);
    volatile float sum = x + y;
    float z = sum;
    uint32_t bits;
    memcpy(&bits, &z, 4);
    return isnan(z) ? 0x7fffffffu : bits;
}

static uint32_t compute(enum compute op, uint32_t a, uint32_t b)
{
    switch (op) {
    case ADD:
        return a + b;
    case XOR:
        return a ^ b;
    case MIN:
        return a < b ? a : b;
    default:
        return float_sum(a, b);
    }
}

static void step_run(const struct step *s, uint32_t *words, unsigned number, uint32_t threads,
                     uint32_t *told)
{
    uint32_t *from = words + (number % 2 ? HALF : 0);
    uint32_t *to = s->in_place ? from : words + (number % 2 ? 0 : HALF);
    for (uint32_t t = 0; t < threads && t < s->threads; t++) {
        uint32_t x = from[place_at(&s->from[0], t)], y = from[place_at(&s->from[1], t)];
        if (s->moves)
            to[place_at(&s->to[1], t)] = y;
        to[place_at(&s->to[0], t)] = compute(s->compute, x, y);
        if (s->tells)
            *told = x;
    }
}

/* ---- kernels */

/* Below HALF for all threads that take part. */
static bool fits(const struct place *p, uint32_t threads)
{
    for (uint32_t t = 0; t < threads; t++) {
        if (place_at(p, t) >= HALF)
            return false;
    }
    return true;
}

static struct place place_random(uint32_t threads, uint32_t scale)
{
    static const uint32_t flips[] = {0, 0, 0, 1, 3, 4, 8};
    struct place p = {scale, below(9), flips[below(HD_COUNT_OF(flips))], below(3) == 0};
    while (!fits(&p, threads))
        p = (struct place){p.scale > 1 ? p.scale / 2 : 1, 0, p.flip / 2, false};
    return p;
}

static void step_random(struct step *s)
{
    static const uint32_t threads[] = {1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 20, 7};
    uint32_t n = threads[below(HD_COUNT_OF(threads))];
    *s = (struct step){.threads = n, .test = below(6), .compute = (enum compute)below(NCOMPUTE)};
    s->in_place = below(3) == 0 && n <= 64;
    s->moves = below(2);
    s->tells = n == 1;
    for (unsigned i = 0; i < 2; i++)
        s->from[i] = place_random(n, 1u << below(6));
    s->to[0] = place_random(n, 2u << below(3));
    s->to[1] = s->to[0];
    s->to[1].flip ^= 1; /* words that to[0], which goes in even steps, leaves out */
    if (s->to[0].scale % 2 || s->to[0].padded || !fits(&s->to[1], n))
        s->moves = false;
    if (!s->in_place)
        return;
    s->from[0] = s->to[1] = (struct place){256 / HD_MAX(n, 4u) & ~1u, 0, 0, n & 1};
    s->from[1] = s->to[0] = s->from[0];
    s->from[1].plus = s->to[0].plus = s->from[0].scale / 2;
}

static uint32_t put(struct kernel *k, const char *type, const char *operation, uint32_t a,
                    uint32_t b)
{
    hd_buf_printf(&k->text, "  %%%u:%s = %s %%%u, %%%u\n", k->value, type, operation, a, b);
    return k->value++;
}

static uint32_t put_constant(struct kernel *k, uint32_t c)
{
    hd_buf_printf(&k->text, "  %%%u:b32 = const.b32 0x%x\n", k->value, c);
    return k->value++;
}

/* The address of a word; %2: thread number, %4: 4, %6: the shared words. */
static uint32_t put_place(struct kernel *k, const struct place *p, uint32_t half)
{
    uint32_t i = put(k, "b32", "mul.u32", 2, put_constant(k, p->scale));
    i = put(k, "b32", "add.u32", i, put_constant(k, p->plus));
    if (p->flip)
        i = put(k, "b32", "xor.b32", i, put_constant(k, p->flip));
    if (p->padded)
        i = put(k, "b32", "add.u32", i, put(k, "b32", "shr.u32", i, put_constant(k, 5)));
    i = put(k, "b32", "add.u32", i, put_constant(k, half));
    return put(k, "b64", "add.u64", put(k, "b64", "mulwide.u32", i, 4), 6);
}

static uint32_t put_load(struct kernel *k, uint32_t at)
{
    hd_buf_printf(&k->text, "  %%%u:b32 = ld.b32.shared [%%%u]\n", k->value, at);
    return k->value++;
}

static void put_store(struct kernel *k, const char *space, uint32_t at, uint32_t x)
{
    hd_buf_printf(&k->text, "  st.b32.%s [%%%u], %%%u\n", space, at, x);
}

/* The first threads of a step go to the block that follows, the others beyond it. */
static void put_test(struct kernel *k, const struct step *s)
{
    static const char *const tests[] = {"setp.u32.lt", "setp.s32.lt", "setp.u32.ge",
                                        "setp.s32.gt", "setp.s32.le", "setp.u32.gt"};
    bool last = s->test == 3 || s->test == 4, swapped = s->test == 5;
    bool leaves = s->test == 2 || s->test == 3;
    uint32_t c = put_constant(k, s->threads - last);
    uint32_t p =
        swapped ? put(k, "pred", tests[s->test], c, 2) : put(k, "pred", tests[s->test], 2, c);
    uint32_t work = ++k->block, past = ++k->block;
    hd_buf_printf(&k->text, "  cbr %%%u, bb%u, bb%u\nbb%u:\n", p, leaves ? past : work,
                  leaves ? work : past, work);
}

static void put_step(struct kernel *k, const struct step *s, unsigned number)
{
    static const char *const operations[] = {"add.u32", "xor.b32", "min.u32", "fadd.f32.rn"};
    uint32_t from = number % 2 ? HALF : 0, to = s->in_place ? from : HALF - from;
    hd_buf_puts(&k->text, "  bar.sync\n");
    put_test(k, s);
    uint32_t x = put_load(k, put_place(k, &s->from[0], from));
    uint32_t y = put_load(k, put_place(k, &s->from[1], from));
    if (s->moves)
        put_store(k, "shared", put_place(k, &s->to[1], to), y);
    put_store(k, "shared", put_place(k, &s->to[0], to),
              put(k, "b32", operations[s->compute], x, y));
    if (s->tells)
        put_store(k, "global", 8, x);
    hd_buf_printf(&k->text, "  br bb%u\nbb%u:\n", k->block, k->block);
}

/* All threads fill the words, and read them at the end; word w is of thread w % threads. */
static void put_copies(struct kernel *k, bool out)
{
    for (uint32_t first = 0; first < WORDS; first += k->threads) {
        uint32_t i = put(k, "b32", "add.u32", 2, put_constant(k, first));
        uint32_t word = put(k, "b64", "mulwide.u32", i, 4);
        uint32_t shared = put(k, "b64", "add.u64", word, 6);
        uint32_t global = put(k, "b64", "add.u64", word, 1);
        if (out) {
            put_store(k, "global", global, put_load(k, shared));
            continue;
        }
        hd_buf_printf(&k->text, "  %%%u:b32 = ld.b32.global [%%%u]\n", k->value, global);
        put_store(k, "shared", shared, k->value++);
    }
}

static void kernel_write(struct kernel *k)
{
    k->value = 9;
    hd_buf_puts(&k->text, HEAD "var @s shared internal align 4 size 4096\n"
                               "kernel @k visible {\n" PARAMS PROLOGUE
                               "  %6:b64 = varaddr @s\n  %7:b64 = const.b64 0x8\n"
                               "  %8:b64 = ld.b64.param [%7]\n");
    put_copies(k, false);
    for (unsigned i = 0; i < k->nsteps; i++)
        put_step(k, &k->steps[i], i);
    hd_buf_puts(&k->text, "  bar.sync\n");
    put_copies(k, true);
    hd_buf_puts(&k->text, "  ret\n}\n");
}

static void words_fill(uint32_t *words, uint32_t n)
{
    static const uint32_t special[] = {0x7f800000, 0xff800000, 0x7fc01234, 0x80000000, 1};
    for (uint32_t i = 0; i < n; i++)
        words[i] = below(16) ? 0x3f800000 + below(1 << 24) : special[below(HD_COUNT_OF(special))];
}

static void test_kernel(uint64_t number)
{
    static const uint32_t threads[] = {128, 128, 160, 256, 64, 100, 32};
    static uint32_t want[WORDS + 1024], words[WORDS + 1024];
    uint32_t told = 0, want_told = 0;
    struct kernel k = {0};
    seed = number;
    k.nsteps = 3 + below(STEPS_MAX - 2);
    k.threads = threads[below(HD_COUNT_OF(threads))];
    const void *params[] = {words, &told};
    hd_buf_init(&k.text);
    words_fill(want, HD_COUNT_OF(want));
    memcpy(words, want, sizeof(words));
    for (unsigned i = 0; i < k.nsteps; i++) {
        step_random(&k.steps[i]);
        step_run(&k.steps[i], want, i, k.threads, &want_told);
    }
    kernel_write(&k);
    bool ran = run(&(struct job){k.text.ptr, 1, k.threads, .params = params}) == HD_OK;
    bool same = !memcmp(words, want, WORDS * sizeof(*words)) && told == want_told;
    ok(ran && same, "tree %llu: %u steps, %u threads", (unsigned long long)number, k.nsteps,
       k.threads);
    if (!same)
        diag("%s", k.text.ptr);
    hd_buf_fini(&k.text);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : KERNELS;
    hd_buf_init(&printed);
    for (uint64_t i = first; i < first + n; i++)
        test_kernel(i);
    hd_buf_fini(&printed);
    return done();
}
