/*
 * The products of gemm.cu by oneDNN, b packed beforehand or not, and the attention of attention.cu
 * by its products and softmax: the same output lines.
 * usage: onednn [n] [-r reps -w warmups]      threads from OMP_NUM_THREADS
 *        onednn attention [seq] [-r reps -w warmups -n]
 */
#include "attention.h"
#include <dnnl.h>
#include <initializer_list>

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

/* ---- attention, head by head: scores of f32, weights of bf16 */

static dnnl_memory_desc_t part(long rows, long columns, dnnl_data_type_t type,
                               dnnl_format_tag_t tag)
{
    const dnnl_dims_t dims = {rows, columns};
    dnnl_memory_desc_t desc;

    CK(dnnl_memory_desc_init_by_tag(&desc, 2, dims, type, tag));
    return desc;
}

static dnnl_memory_t memory_at(const dnnl_memory_desc_t *desc, void *p)
{
    dnnl_memory_t m;

    CK(dnnl_memory_create(&m, desc, engine, p));
    return m;
}

static dnnl_primitive_t primitive_of(const_dnnl_op_desc_t op, const_dnnl_primitive_attr_t attr)
{
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;

    CK(dnnl_primitive_desc_create(&desc, op, attr, engine, NULL));
    CK(dnnl_primitive_create(&primitive, desc));
    CK(dnnl_primitive_desc_destroy(desc));
    return primitive;
}

/* c = a * b * scale */
static dnnl_primitive_t product_of(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b,
                                   const dnnl_memory_desc_t *c, float scale)
{
    dnnl_primitive_attr_t attr;
    dnnl_matmul_desc_t op;
    dnnl_primitive_t primitive;

    CK(dnnl_primitive_attr_create(&attr));
    CK(dnnl_primitive_attr_set_output_scales(attr, 1, 0, &scale));
    CK(dnnl_matmul_desc_init(&op, a, b, NULL, c));
    primitive = primitive_of(&op, attr);
    CK(dnnl_primitive_attr_destroy(attr));
    return primitive;
}

static dnnl_primitive_t softmax_of(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to)
{
    dnnl_softmax_v2_desc_t op;

    CK(dnnl_softmax_v2_forward_desc_init(&op, dnnl_forward_inference, dnnl_softmax_accurate, from,
                                         to, 1));
    return primitive_of(&op, NULL);
}

struct attention_steps {
    dnnl_memory_desc_t rows, keys, scores, weights;
    dnnl_primitive_t score, softmax, sum;
    dnnl_memory_t score_memory, weight_memory;
};

static attention_steps attention_prepare(const attention_case &c)
{
    attention_steps s;

    s.rows = part(c.seq, c.d, dnnl_bf16, dnnl_ab), s.keys = part(c.d, c.seq, dnnl_bf16, dnnl_ba);
    s.scores = part(c.seq, c.seq, dnnl_f32, dnnl_ab);
    s.weights = part(c.seq, c.seq, dnnl_bf16, dnnl_ab);
    s.score = product_of(&s.rows, &s.keys, &s.scores, 1 / sqrtf((float)c.d));
    s.softmax = softmax_of(&s.scores, &s.weights);
    s.sum = product_of(&s.weights, &s.rows, &s.rows, 1);
    s.score_memory = memory(&s.scores), s.weight_memory = memory(&s.weights);
    return s;
}

static void step_run(dnnl_primitive_t step, dnnl_memory_t a, dnnl_memory_t b, dnnl_memory_t to)
{
    dnnl_exec_arg_t arg[] = {{DNNL_ARG_SRC, a}, {DNNL_ARG_DST, to}, {DNNL_ARG_WEIGHTS, b}};

    CK(dnnl_primitive_execute(step, stream, b ? 3 : 2, arg));
}

static void head_run(const attention_steps &s, const attention_case &c, size_t first)
{
    dnnl_memory_t q = memory_at(&s.rows, c.q + first), k = memory_at(&s.keys, c.k + first),
                  v = memory_at(&s.rows, c.v + first), out = memory_at(&s.rows, c.out + first);

    step_run(s.score, q, k, s.score_memory);
    step_run(s.softmax, s.score_memory, NULL, s.weight_memory);
    step_run(s.sum, s.weight_memory, v, out);
    CK(dnnl_stream_wait(stream));
    for (dnnl_memory_t m : {q, k, v, out})
        CK(dnnl_memory_destroy(m));
}

static int attention(const char *name, const bench_args &args, int d)
{
    attention_case c = attention_create(args.size[0], d);
    attention_steps s = attention_prepare(c);
    int rc = bench_run(
        name, args, attention_flops(c), bench_no_reset,
        [&] {
            for (int h = 0; h < ATTENTION_HEADS; h++)
                head_run(s, c, (size_t)h * c.seq * c.d);
        },
        [&] { return attention_right(c); });

    printf("\n");
    for (dnnl_primitive_t step : {s.score, s.softmax, s.sum})
        CK(dnnl_primitive_destroy(step));
    CK(dnnl_memory_destroy(s.score_memory));
    CK(dnnl_memory_destroy(s.weight_memory));
    attention_destroy(c);
    return rc;
}

int main(int argc, char **argv)
{
    bench_args args = bench_parse(argc, argv, 1024);

    CK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    CK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    if (argc > 1 && !strcmp(argv[1], "attention")) {
        args = bench_parse(argc - 1, argv + 1, ATTENTION_SEQ);
        int bad = attention("onednn attention d64", args, 64);
        return bad | attention("onednn attention d128", args, 128);
    }
    args.check = 0;
    product("onednn f32", args, dnnl_f32, dnnl_f32, false);
    product("onednn bf16", args, dnnl_bf16, dnnl_f32, false);
    product("onednn bf16 packed", args, dnnl_bf16, dnnl_f32, true);
    product("onednn s8", args, dnnl_s8, dnnl_s32, false);
    return product("onednn s8 packed", args, dnnl_s8, dnnl_s32, true);
}
