/* Conway's game of life on a torus, with two buffers that swap roles. A glider must arrive,
 * unchanged, where it belongs
 * after 4 generations per cell of the way; a random soup must match the host. */
#include "example.h"

#define SIZE        128
#define GENERATIONS 200

__host__ __device__ inline unsigned char next_state(const unsigned char *world, int x, int y)
{
    int alive = 0;

    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy)
                alive += world[(y + dy + SIZE) % SIZE * SIZE + (x + dx + SIZE) % SIZE];
    return alive == 3 || (alive == 2 && world[y * SIZE + x]);
}

__global__ void generation(const unsigned char *now, unsigned char *next)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

    next[y * SIZE + x] = next_state(now, x, y);
}

static void run(unsigned char *world)
{
    dim3 block(32, 8), grid(SIZE / 32, SIZE / 8);
    unsigned char *now, *next;

    CHECK(cudaMalloc(&now, SIZE * SIZE));
    CHECK(cudaMalloc(&next, SIZE * SIZE));
    CHECK(cudaMemcpy(now, world, SIZE * SIZE, cudaMemcpyHostToDevice));
    for (int g = 0; g < GENERATIONS; g++) {
        unsigned char *old = now;

        generation<<<grid, block>>>(now, next);
        now = next;
        next = old;
    }
    CHECK_KERNEL();
    CHECK(cudaMemcpy(world, now, SIZE * SIZE, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(now));
    CHECK(cudaFree(next));
}

static void place_glider(unsigned char *world, int x, int y)
{
    static const int cells[5][2] = {{1, 0}, {2, 1}, {0, 2}, {1, 2}, {2, 2}};

    for (int i = 0; i < 5; i++)
        world[(y + cells[i][1]) % SIZE * SIZE + (x + cells[i][0]) % SIZE] = 1;
}

int main()
{
    static unsigned char world[SIZE * SIZE], want[SIZE * SIZE], temp[SIZE * SIZE];
    int population = 0;

    place_glider(world, 100, 100);
    place_glider(want, 100 + GENERATIONS / 4, 100 + GENERATIONS / 4);
    run(world);
    bool glider = !memcmp(world, want, sizeof(world));

    for (int i = 0; i < SIZE * SIZE; i++)
        world[i] = want[i] = ((unsigned)i * 2654435761u >> 28) < 5;
    run(world);
    for (int g = 0; g < GENERATIONS; g++) {
        for (int i = 0; i < SIZE * SIZE; i++)
            temp[i] = next_state(want, i % SIZE, i / SIZE);
        memcpy(want, temp, sizeof(want));
    }
    for (int i = 0; i < SIZE * SIZE; i++)
        population += world[i];
    return verdict(glider && !memcmp(world, want, sizeof(world)),
                   "life: %d generations, %d cells alive, glider %s", GENERATIONS, population,
                   glider ? "arrived" : "lost");
}
