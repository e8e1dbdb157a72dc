/* A kernel that launches.cu launches and launches_part.cu defines. */
struct alignas(16) wide {
    int n[5];
    bool flag;
};

__global__ void elsewhere(wide w, float4 v, bool b, short h, double d, int *out);
