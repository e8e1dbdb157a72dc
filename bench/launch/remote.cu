/* What a device in a process of its own costs: the same calls on every device, in turns, medians in
 * microseconds. Run with HEDDLE_DEVICES=cpu,remote-cpu.
 *   launch_sync   launch and synchronise an empty kernel
 *   back_to_back  time per launch of 256 launches and one synchronisation
 *   copy_4k       4 KiB from pageable memory, and back
 *   copy_4m       the same of 4 MiB
 *   event         record an event and wait for it
 * output: name,device,us */
#include "../cuda/cu.h"

enum { SAMPLES = 201, MANY = 256, DEVICES_MAX = 8, COSTS = 5 };

static const char *const names[COSTS] = {"launch_sync", "back_to_back", "copy_4k", "copy_4m", "event"};

__global__ void empty()
{
}

static double us[COSTS][DEVICES_MAX][SAMPLES];
static char *memory[DEVICES_MAX], *pageable;
static cudaEvent_t events[DEVICES_MAX];

static void copy(char *device, size_t size_B)
{
    CK(cudaMemcpy(device, pageable, size_B, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(pageable, device, size_B, cudaMemcpyDeviceToHost));
}

static double cost_ms(int cost, int device)
{
    double t0 = now_ms();

    switch (cost) {
    case 0:
        empty<<<1, 32>>>();
        CK(cudaDeviceSynchronize());
        return now_ms() - t0;
    case 1:
        for (int i = 0; i < MANY; i++)
            empty<<<1, 32>>>();
        CK(cudaDeviceSynchronize());
        return (now_ms() - t0) / MANY;
    case 2:
        copy(memory[device], 4 << 10);
        return now_ms() - t0;
    case 3:
        copy(memory[device], 4 << 20);
        return now_ms() - t0;
    default:
        CK(cudaEventRecord(events[device], 0));
        CK(cudaEventSynchronize(events[device]));
        return now_ms() - t0;
    }
}

int main()
{
    int devices;

    CK(cudaGetDeviceCount(&devices));
    devices = devices < DEVICES_MAX ? devices : DEVICES_MAX;
    pageable = (char *)calloc(1, 4 << 20);
    for (int d = 0; d < devices; d++) {
        CK(cudaSetDevice(d));
        CK(cudaMalloc(&memory[d], 4 << 20));
        CK(cudaEventCreate(&events[d]));
        for (int c = 0; c < COSTS; c++)
            cost_ms(c, d);
    }
    for (int i = 0; i < SAMPLES; i++)
        for (int d = 0; d < devices; d++) {
            CK(cudaSetDevice(d));
            for (int c = 0; c < COSTS; c++)
                us[c][d][i] = cost_ms(c, d) * 1e3;
        }
    for (int c = 0; c < COSTS; c++)
        for (int d = 0; d < devices; d++) {
            qsort(us[c][d], SAMPLES, sizeof(double), bench_compare_double);
            printf("%s,%d,%.2f\n", names[c], d, us[c][d][SAMPLES / 2]);
        }
    return 0;
}
