/* Gravity between all pairs of bodies, integrated by leapfrog. The positions pass through shared
 * memory, one block's worth at a time. Total energy must stay nearly constant. */
#include "example.h"

#define BODIES    768
#define BLOCK     256
#define STEPS     20
#define DT        0.001f
#define SOFTENING 0.01f

/* xyz: position, w: mass */
__global__ void accelerate(const float4 *pos, float4 *vel, float dt)
{
    __shared__ float4 tile[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float4 me = pos[i], v = vel[i];
    float ax = 0, ay = 0, az = 0;

    for (int first = 0; first < BODIES; first += BLOCK) {
        tile[threadIdx.x] = pos[first + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < BLOCK; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float inv = rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
            float s = tile[j].w * inv * inv * inv;

            ax += s * dx;
            ay += s * dy;
            az += s * dz;
        }
        __syncthreads();
    }
    vel[i] = make_float4(v.x + ax * dt, v.y + ay * dt, v.z + az * dt, 0);
}

__global__ void move(float4 *pos, const float4 *vel)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float4 p = pos[i], v = vel[i];

    pos[i] = make_float4(p.x + v.x * DT, p.y + v.y * DT, p.z + v.z * DT, p.w);
}

static double energy(const float4 *pos, const float4 *vel)
{
    double kinetic = 0, potential = 0;

    for (int i = 0; i < BODIES; i++) {
        const float4 &p = pos[i], &v = vel[i];

        kinetic += 0.5 * p.w * ((double)v.x * v.x + (double)v.y * v.y + (double)v.z * v.z);
        for (int j = 0; j < i; j++) {
            double dx = pos[j].x - p.x, dy = pos[j].y - p.y, dz = pos[j].z - p.z;

            potential -= (double)p.w * pos[j].w / sqrt(dx * dx + dy * dy + dz * dz + SOFTENING);
        }
    }
    return kinetic + potential;
}

int main()
{
    static float4 pos[BODIES], vel[BODIES];
    float4 *dev_pos, *dev_vel;

    for (int i = 0; i < BODIES; i++) { /* a rotating, flattened spiral */
        float angle = 0.37f * i, radius = 0.2f + 0.8f * i / BODIES;

        pos[i] = make_float4(radius * cosf(angle), radius * sinf(angle), 0.1f * sinf(5 * angle),
                             1.0f / BODIES);
        vel[i] = make_float4(-0.7f * sinf(angle), 0.7f * cosf(angle), 0, 0);
    }
    double before = energy(pos, vel);

    CHECK(cudaMalloc(&dev_pos, sizeof(pos)));
    CHECK(cudaMalloc(&dev_vel, sizeof(vel)));
    CHECK(cudaMemcpy(dev_pos, pos, sizeof(pos), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dev_vel, vel, sizeof(vel), cudaMemcpyHostToDevice));
    accelerate<<<BODIES / BLOCK, BLOCK>>>(dev_pos, dev_vel, DT / 2);
    for (int step = 0; step < STEPS; step++) {
        move<<<BODIES / BLOCK, BLOCK>>>(dev_pos, dev_vel);
        accelerate<<<BODIES / BLOCK, BLOCK>>>(dev_pos, dev_vel, step < STEPS - 1 ? DT : DT / 2);
    }
    CHECK_KERNEL();
    CHECK(cudaMemcpy(pos, dev_pos, sizeof(pos), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(vel, dev_vel, sizeof(vel), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(dev_pos));
    CHECK(cudaFree(dev_vel));

    double after = energy(pos, vel), drift = fabs((after - before) / before);

    return verdict(drift < 1e-4, "nbody: %d bodies, %d steps, energy %.6f -> %.6f", BODIES, STEPS,
                   before, after);
}
