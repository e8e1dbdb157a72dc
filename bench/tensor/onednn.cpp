/*
 * The products of gemm.cu by oneDNN, b packed beforehand or not: the same output lines.
 * usage: onednn [n] [-r reps -w warmups]      threads from OMP_NUM_THREADS
 */
#include "../common/bench.h"
#include <dnnl.h>

#define CK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != dnnl_success) {                                                              \
            fprintf(stderr, "%s:%d: %s failed\n", __FILE__, __LINE__, #call);                      \
            exit(2);                                                                               \
        }                                                                                          \
    } while (0)

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static dnnl_memory_desc_t matrix(long n, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    const dnnl_dims_t dims = {n, n};
    dnnl_memory_desc_t desc;

    CK(dnnl_memory_desc_init_by_tag(&desc, 2, dims, type, tag));
    return desc;
}

/* Its library allocates it; zeroed, which no time depends on. */
static dnnl_memory_t memory(const dnnl_memory_desc_t *desc)
{
    dnnl_memory_t m;
    void *p;

    CK(dnnl_memory_create(&m, desc, engine, DNNL_MEMORY_ALLOCATE));
    CK(dnnl_memory_get_data_handle(m, &p));
    memset(p, 0, dnnl_memory_desc_get_size(desc));
    return m;
}

/* packed: b in the layout that the library likes best. */
static int product(const char *name, const bench_args &args, dnnl_data_type_t type,
                   dnnl_data_type_t sum, bool packed)
{
    const long n = args.size[0];
    dnnl_memory_desc_t a = matrix(n, type, dnnl_ab),
                       b = matrix(n, type, packed ? dnnl_format_tag_any : dnnl_ba),
                       c = matrix(n, sum, dnnl_ab);
    dnnl_matmul_desc_t op;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;

    CK(dnnl_matmul_desc_init(&op, &a, &b, NULL, &c));
    if (dnnl_primitive_desc_create(&desc, &op, NULL, engine, NULL) != dnnl_success) {
        printf("%s,,,SKIP\n", name);
        return 0;
    }
    CK(dnnl_primitive_create(&primitive, desc));
    const dnnl_memory_desc_t *inner = dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    dnnl_exec_arg_t arg[] = {
        {DNNL_ARG_SRC, memory(&a)}, {DNNL_ARG_WEIGHTS, memory(inner)}, {DNNL_ARG_DST, memory(&c)}};
    int rc = bench_run(
        name, args, 2.0 * n * n * n, bench_no_reset,
        [&] {
            CK(dnnl_primitive_execute(primitive, stream, 3, arg));
            CK(dnnl_stream_wait(stream));
        },
        [] { return 1; });
    printf("\n");
    for (dnnl_exec_arg_t &x : arg)
        CK(dnnl_memory_destroy(x.memory));
    CK(dnnl_primitive_destroy(primitive));
    CK(dnnl_primitive_desc_destroy(desc));
    return rc;
}

int main(int argc, char **argv)
{
    bench_args args = bench_parse(argc, argv, 1024);

    CK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    CK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    args.check = 0;
    product("onednn f32", args, dnnl_f32, dnnl_f32, false);
    product("onednn bf16", args, dnnl_bf16, dnnl_f32, false);
    product("onednn bf16 packed", args, dnnl_bf16, dnnl_f32, true);
    product("onednn s8", args, dnnl_s8, dnnl_s32, false);
    return product("onednn s8 packed", args, dnnl_s8, dnnl_s32, true);
}
