/*
 * Direction vectors and scramble constants of Sobol's sequences.
 *
 * Vectors follow from a polynomial and a few initial numbers (Bratley and Fox, Algorithm 659);
 * spec/sobol.def has them for RAND_DIMENSIONS. Scrambled ones are those times a random lower
 * triangular matrix of bits (Matousek, "On the L2-discrepancy for anchored boxes", 1998), and begin
 * at a random constant. cuRAND's matrices and constants are not published: these are our own.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "api/curand/rand.h"

static const struct initial {
    uint16_t polynomial, numbers[13];
} initials[] = {
#include "sobol.def"
};
_Static_assert(HD_COUNT_OF(initials) == RAND_DIMENSIONS - 1, "the first dimension has none");

enum { LISTED = 20000 }; /* dimensions that cuRAND's arrays have */

/* 32 and 64 bits; plain and scrambled. */
static void *tables[2][2], *constants[2];
static bool is_made;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014). */
static uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* Vector k has its number m_k at the top of 64 bits. */
static void make_vectors(int dimension, uint64_t v[64])
{
    const struct initial *from = &initials[dimension ? dimension - 1 : 0];
    int degree = dimension ? 31 - __builtin_clz(from->polynomial) : 0;

    for (int k = 0; k < 64; k++) {
        if (!dimension) {
            v[k] = 1ull << (63 - k);
            continue;
        }
        if (k < degree) {
            v[k] = (uint64_t)from->numbers[k] << (63 - k);
            continue;
        }
        v[k] = v[k - degree] ^ v[k - degree] >> degree;
        for (int i = 1; i < degree; i++)
            if (from->polynomial >> (degree - i) & 1)
                v[k] ^= v[k - i];
    }
}

/* Row i of the matrix, for bit i from the top: random bits above it, and its own. */
static void scramble(int dimension, uint64_t v[64])
{
    uint64_t state = (uint64_t)dimension, rows[64];

    for (int i = 0; i < 64; i++) {
        uint64_t above = i ? ~0ull << (64 - i) : 0;
        rows[i] = (mix(&state) & above) | 1ull << (63 - i);
    }
    for (int k = 0; k < 64; k++) {
        uint64_t x = 0;
        for (int i = 0; i < 64; i++)
            x |= (uint64_t)__builtin_parityll(rows[i] & v[k]) << (63 - i);
        v[k] = x;
    }
}

/* For LISTED rows, of which those after RAND_DIMENSIONS cannot be read. */
static void *rows_of(size_t row_B)
{
    size_t size_B = LISTED * row_B, used_B = (RAND_DIMENSIONS * row_B + 4095) / 4096 * 4096;
    char *rows = mmap(NULL, size_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (rows == MAP_FAILED || mprotect(rows, used_B, PROT_READ | PROT_WRITE))
        return NULL;
    return rows;
}

static void make(void)
{
    uint32_t *words[2], *words_constants;
    uint64_t *longs[2], *longs_constants, state = 0xc0ffee;

    for (int i = 0; i < 2; i++) {
        tables[0][i] = words[i] = rows_of(32 * sizeof(uint32_t));
        tables[1][i] = longs[i] = rows_of(64 * sizeof(uint64_t));
        if (!words[i] || !longs[i])
            return;
    }
    constants[0] = words_constants = rows_of(sizeof(uint32_t));
    constants[1] = longs_constants = rows_of(sizeof(uint64_t));
    if (!words_constants || !longs_constants)
        return;
    for (int d = 0; d < RAND_DIMENSIONS; d++) {
        uint64_t v[64];
        make_vectors(d, v);
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < 64; k++) {
                longs[i][d * 64 + k] = v[k];
                if (k < 32)
                    words[i][d * 32 + k] = (uint32_t)(v[k] >> 32);
            }
            scramble(d, v);
        }
        longs_constants[d] = mix(&state);
        words_constants[d] = (uint32_t)(longs_constants[d] >> 32);
    }
    is_made = true;
}

const void *rand_vectors(int bits, bool is_scrambled)
{
    (void)pthread_once(&once, make);
    return is_made ? tables[bits == 64][is_scrambled] : NULL;
}

const void *rand_constants(int bits)
{
    (void)pthread_once(&once, make);
    return is_made ? constants[bits == 64] : NULL;
}

static curandStatus_t get(const void *table, void *out)
{
    if (!table)
        return CURAND_STATUS_ALLOCATION_FAILED;
    *(const void **)out = table;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t *vectors[],
                                           curandDirectionVectorSet_t set)
{
    bool is_scrambled = set == CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6;

    if (!vectors || (!is_scrambled && set != CURAND_DIRECTION_VECTORS_32_JOEKUO6))
        return CURAND_STATUS_OUT_OF_RANGE;
    return get(rand_vectors(32, is_scrambled), vectors);
}

curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t *vectors[],
                                           curandDirectionVectorSet_t set)
{
    bool is_scrambled = set == CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6;

    if (!vectors || (!is_scrambled && set != CURAND_DIRECTION_VECTORS_64_JOEKUO6))
        return CURAND_STATUS_OUT_OF_RANGE;
    return get(rand_vectors(64, is_scrambled), vectors);
}

curandStatus_t curandGetScrambleConstants32(unsigned int **out)
{
    return out ? get(rand_constants(32), out) : CURAND_STATUS_OUT_OF_RANGE;
}

curandStatus_t curandGetScrambleConstants64(unsigned long long **out)
{
    return out ? get(rand_constants(64), out) : CURAND_STATUS_OUT_OF_RANGE;
}
