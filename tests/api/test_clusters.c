/* Launches with clusters: which sizes are taken, what kernels see of them, and occupancy. */
#include "api/driver/cuda_abi.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

/* out[4 * block ..]: rank, blocks of the cluster, cluster's number .x + 16 .y, what the next rank
 * has in shared memory. */
#define BODY                                                                                       \
    "{ .reg .b64 %d<5>; .reg .b32 %r<12>; .reg .pred %p; .shared .u32 own;\n"                      \
    "  ld.param.u64 %d1, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y;\n"                   \
    "  mov.u32 %r3, %nctaid.x; mad.lo.u32 %r1, %r2, %r3, %r1; st.shared.u32 [own], %r1;\n"         \
    "  barrier.cluster.arrive; mov.u32 %r4, %cluster_ctarank; mov.u32 %r5, %cluster_nctarank;\n"   \
    "  add.u32 %r6, %r4, 1; setp.eq.u32 %p, %r6, %r5; selp.u32 %r6, 0, %r6, %p;\n"                 \
    "  mov.u32 %r7, own; mapa.shared::cluster.u32 %r7, %r7, %r6; barrier.cluster.wait;\n"          \
    "  ld.shared::cluster.u32 %r8, [%r7]; mov.u32 %r9, %clusterid.x; mov.u32 %r10, "               \
    "%clusterid.y;\n"                                                                              \
    "  mad.lo.u32 %r9, %r10, 16, %r9; mul.wide.u32 %d2, %r1, 16; add.u64 %d3, %d1, %d2;\n"         \
    "  st.global.v4.u32 [%d3], {%r4, %r5, %r9, %r8}; ret; }\n"
#define KERNEL(name, directives) ".visible .entry " name "(.param .u64 out) " directives "\n" BODY

static const char text[] = ".version 9.0\n.target sm_90\n.address_size 64\n" KERNEL("any", "")
    KERNEL("fours", ".reqnctapercluster 2, 2") KERNEL("says", ".explicitcluster")
        KERNEL("few", ".maxclusterrank 2")
            KERNEL("whole", ".blocksareclusters .reqntid 32 .reqnctapercluster "
                            "2") ".visible .entry far(.param .u64 out) { .reg "
                                 ".b32 %r<4>; .shared .u32 own;\n"
                                 "  mov.u32 %r1, own; mapa.shared::cluster.u32 "
                                 "%r2, %r1, 3;\n"
                                 "  ld.shared::cluster.u32 %r3, [%r2]; "
                                 "st.shared.u32 [own], %r3; ret; }\n";

enum { BLOCKS = 32 };

static CUmodule module;
static CUdeviceptr out;
static uint32_t host[BLOCKS][4];

static CUfunction function(const char *name)
{
    CUfunction func = NULL;

    success(cuModuleGetFunction(&func, module, name), "%s", name);
    return func;
}

struct size {
    unsigned x, y, z;
};

static CUlaunchConfig config_of(struct size grid, CUlaunchAttribute *attribute, struct size cluster)
{
    *attribute = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                     .value.clusterDim = {cluster.x, cluster.y, cluster.z}};
    return (CUlaunchConfig){.gridDimX = grid.x,
                            .gridDimY = grid.y,
                            .gridDimZ = grid.z,
                            .blockDimX = 1,
                            .blockDimY = 1,
                            .blockDimZ = 1,
                            .attrs = attribute,
                            .numAttrs = cluster.x ? 1 : 0};
}

static CUresult launch(CUfunction func, struct size grid, struct size cluster)
{
    CUlaunchAttribute attribute;
    CUlaunchConfig config = config_of(grid, &attribute, cluster);
    void *params[] = {&out};
    CUresult result;

    memset(host, 0xff, sizeof(host));
    success(cuMemcpyHtoD_v2(out, host, sizeof(host)), "clear");
    result = cuLaunchKernelEx(&config, func, params, NULL);
    if (result == CUDA_SUCCESS)
        success(cuMemcpyDtoH_v2(host, out, sizeof(host)), "results");
    return result;
}

/* Did every block of the grid see such clusters? */
static void seen(const char *what, struct size grid, struct size n)
{
    unsigned wrong = 0;

    for (unsigned y = 0; y < grid.y; y++) {
        for (unsigned x = 0; x < grid.x; x++) {
            const uint32_t *got = host[y * grid.x + x];
            uint32_t ctas = n.x * n.y, rank = y % n.y * n.x + x % n.x, next = (rank + 1) % ctas;
            uint32_t nx = x / n.x * n.x + next % n.x, ny = y / n.y * n.y + next / n.x;
            wrong += got[0] != rank || got[1] != ctas || got[2] != x / n.x + 16 * (y / n.y) ||
                     got[3] != ny * grid.x + nx;
        }
    }
    eq_u64(wrong, 0, "%s: what blocks see", what);
    for (unsigned i = 0; wrong && i < grid.x * grid.y; i++)
        diag("block %u: %u %u %u %u", i, host[i][0], host[i][1], host[i][2], host[i][3]);
}

static void test_sizes(void)
{
    const struct size none = {0, 0, 0}, wide = {8, 4, 1}, row = {16, 2, 1};
    CUfunction any = function("any");

    success(launch(any, wide, none), "no cluster");
    seen("none", wide, (struct size){1, 1, 1});
    success(launch(any, wide, (struct size){2, 4, 1}), "clusters of 8");
    seen("(2,4,1)", wide, (struct size){2, 4, 1});
    success(launch(any, wide, (struct size){1, 1, 1}), "clusters of 1");
    seen("(1,1,1)", wide, (struct size){1, 1, 1});
    eq_u64(launch(any, wide, (struct size){3, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE,
           "the grid is no multiple");
    eq_u64(launch(any, wide, (struct size){2, 0, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE,
           "no blocks in a dimension");
    eq_u64(launch(any, row, (struct size){16, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE,
           "more than portable");
    success(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
            "allow it");
    success(launch(any, row, (struct size){16, 1, 1}), "clusters of 16");
    seen("(16,1,1)", row, (struct size){16, 1, 1});
    eq_u64(launch(any, row, (struct size){16, 2, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE,
           "32 are too many");
    eq_u64(launch(function("few"), wide, (struct size){4, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE,
           "more than the kernel's .maxclusterrank");
    success(launch(function("few"), wide, (struct size){1, 2, 1}), "as many");
}

static void test_required(void)
{
    const struct size none = {0, 0, 0}, wide = {8, 4, 1};
    CUfunction any = function("any"), fours = function("fours");
    int value = -1;

    success(launch(fours, wide, none), "the kernel's own size");
    seen("fours", wide, (struct size){2, 2, 1});
    success(launch(fours, wide, (struct size){2, 2, 1}), "the same again");
    eq_u64(launch(fours, wide, (struct size){4, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE, "another");
    success(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, fours), "height");
    eq_u64((unsigned)value, 2, "is 2");
    eq_u64(launch(function("says"), wide, none), CUDA_ERROR_INVALID_CLUSTER_SIZE, "says none");
    success(launch(function("says"), wide, (struct size){4, 1, 1}), "says one");
    seen("says", wide, (struct size){4, 1, 1});
    for (int i = 0; i < 3; i++)
        success(cuFuncSetAttribute(
                    any, (CUfunction_attribute)(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i),
                    i ? 1 : 4),
                "the program requires");
    success(launch(any, wide, none), "a size of the program");
    seen("any", wide, (struct size){4, 1, 1});
    success(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 0), "not in z");
    eq_u64(launch(any, wide, none), CUDA_ERROR_INVALID_CLUSTER_SIZE, "in all dimensions or none");
    for (int i = 0; i < 3; i++)
        success(cuFuncSetAttribute(
                    any, (CUfunction_attribute)(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i), 0),
                "the program does not");
}

/* Its grid counts clusters, and (1,1,1) stands for its blocks. */
static void test_whole(void)
{
    success(launch(function("whole"), (struct size){4, 4, 1}, (struct size){0, 0, 0}),
            "blocks are clusters");
    seen("whole", (struct size){8, 4, 1}, (struct size){2, 1, 1});
}

static void test_occupancy(void)
{
    CUlaunchAttribute attribute;
    CUlaunchConfig config = config_of((struct size){16, 1, 1}, &attribute, (struct size){8, 1, 1});
    int value = -1, clusters = -1;

    success(cuOccupancyMaxPotentialClusterSize(&value, function("few"), &config), "largest");
    eq_u64((unsigned)value, 2, "of a kernel that says 2");
    success(cuOccupancyMaxPotentialClusterSize(&value, function("fours"), &config), "largest");
    eq_u64((unsigned)value, 4, "of a kernel that requires 4");
    success(cuOccupancyMaxActiveClusters(&clusters, function("any"), &config), "at once");
    config.numAttrs = 0;
    success(cuOccupancyMaxActiveClusters(&value, function("any"), &config), "blocks at once");
    eq_u64((unsigned)clusters, (unsigned)value / 8, "an eighth as many");
    config.numAttrs = 1;
    eq_u64(cuOccupancyMaxActiveClusters(&clusters, function("few"), &config),
           CUDA_ERROR_INVALID_CLUSTER_SIZE, "too many blocks");
    eq_u64(cuOccupancyMaxActiveClusters(&clusters, function("few"), NULL), CUDA_ERROR_INVALID_VALUE,
           "no configuration");
    success(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0), "attribute");
    eq_u64((unsigned)value, 1, "the device has clusters");
}

/* The last: it ends the context. */
static void test_fault(void)
{
    CUlaunchAttribute attribute;
    CUlaunchConfig config = config_of((struct size){4, 1, 1}, &attribute, (struct size){2, 1, 1});
    void *params[] = {&out};

    (void)cuLaunchKernelEx(&config, function("far"), params, NULL);
    eq_u64(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS, "there is no rank 3");
}

int main(void)
{
    CUcontext ctx;

    success(cuInit(0), "init");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    success(cuModuleLoadData(&module, text), "module");
    success(cuMemAlloc_v2(&out, sizeof(host)), "memory");
    test_sizes();
    test_required();
    test_whole();
    test_occupancy();
    test_fault();
    return done();
}
