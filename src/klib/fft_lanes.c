/*
 * Fourier transforms of lines: WIDTH at once, or one alone. Compiled for each level of instruction
 * sets, for float and for double (FFT_REAL, FFT_BYTES, FFT_WIDTH, FFT_OPS).
 */
#include "klib/fft_core.h"
#include "klib/halves.h"

static char *cut(char **scratch, size_t size_B)
{
    char *at = *scratch;
    *scratch += (size_B + 63) / 64 * 64;
    return at;
}

static vec *cut_lanes(char **scratch, int64_t numbers)
{
    return (vec *)cut(scratch, (size_t)numbers * 2 * sizeof(vec));
}

/* ---- a line alone */

/* Numbers of one line as a matrix: WIDTH columns of it, or WIDTH numbers of each row. */
static struct side part_of(const struct side *line, int64_t first, int64_t count, int64_t step)
{
    struct side part = *line;

    part.lanes = (int)HD_MIN(count - first, WIDTH);
    for (int l = 0; l < part.lanes; l++)
        part.off[l] = line->off[0] + (first + l) * line->step;
    part.step = line->step * step;
    return part;
}

/* Columns [g WIDTH, ...) to the transposed matrix: blocks of WIDTH of its columns, row by row. */
static void line_columns(const struct fft_line *line, const struct side *from, int64_t g, vec *t,
                         vec *x, vec *y)
{
    struct side part = part_of(from, g * WIDTH, line->n2, line->n2);
    const vec *fixed = line->fixed;
    const real *moving = (const real *)line->moving + g * line->n1 * 2;

    load(x, &part, line->n1);
    const vec *z = core_run(line->columns, x, y);
    for (int64_t k = 0; k < line->n1; k += WIDTH) {
        vec re[WIDTH], im[WIDTH];
        int64_t rows = HD_MIN(line->n1 - k, WIDTH);
        for (int64_t i = 0; i < rows; i++) {
            const vec *f = fixed + 2 * (k + i);
            cv w = {f[0], f[1]}, a = {z[2 * (k + i)], z[2 * (k + i) + 1]};
            if (g)
                w = times(w, all(moving[2 * (k + i)]), all(moving[2 * (k + i) + 1]));
            a = times(a, w.re, w.im);
            re[i] = a.re;
            im[i] = a.im;
        }
        for (int64_t i = rows; i < WIDTH; i++)
            re[i] = im[i] = (vec){0};
        transpose(re);
        transpose(im);
        vec *to = t + 2 * (k / WIDTH * line->n2 + g * WIDTH);
        for (int l = 0; l < part.lanes; l++) {
            to[2 * l] = re[l];
            to[2 * l + 1] = im[l];
        }
    }
}

/* Rows [b WIDTH, ...) of what columns have left. */
static void line_rows(const struct fft_line *line, const struct side *to, int64_t b, vec *t, vec *y)
{
    struct side part = part_of(to, b * WIDTH, line->n1, line->n1);

    store(core_run(line->rows, t + 2 * b * line->n2, y), &part, line->n2);
}

static struct side plain_side(const void *at, bool swapped)
{
    return (struct side){.at = (char *)at,
                         .type = sizeof(real) == 4 ? KLIB_FFT_F32 : KLIB_FFT_F64,
                         .is_complex = true,
                         .swapped = swapped,
                         .step = 2,
                         .im = 1,
                         .lanes = 1};
}

/* To and from complex numbers that lie one after the other. */
static void gather(const struct side *s, real *to, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t i = s->off[0] + k * s->step;
        to[2 * k + s->swapped] = scalar_at(s, i);
        to[2 * k + !s->swapped] = s->is_complex ? scalar_at(s, i + s->im) : 0;
    }
}

static void scatter(const real *from, const struct side *s, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t i = s->off[0] + k * s->step;
        put_scalar(s, i, from[2 * k + s->swapped]);
        if (s->is_complex)
            put_scalar(s, i + s->im, from[2 * k + !s->swapped]);
    }
}

static void numbers_times(real *restrict x, const real *restrict w, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        real re = x[2 * k], im = x[2 * k + 1];
        x[2 * k] = re * w[2 * k] - im * w[2 * k + 1];
        x[2 * k + 1] = re * w[2 * k + 1] + im * w[2 * k];
    }
}

static void line_run(const struct fft_line *line, const struct side *from, const struct side *to,
                     char *scratch)
{
    if (!line->inner) {
        int64_t blocks = fft_ceil(line->n1, WIDTH);
        vec *t = cut_lanes(&scratch, blocks * line->n2);
        int64_t span = HD_MAX(line->n1, line->n2);
        vec *x = cut_lanes(&scratch, span), *y = cut_lanes(&scratch, span);
        for (int64_t g = 0; g < fft_ceil(line->n2, WIDTH); g++)
            line_columns(line, from, g, t, x, y);
        for (int64_t b = 0; b < blocks; b++)
            line_rows(line, to, b, t, y);
        return;
    }
    const struct fft_line *inner = line->inner;
    real *u = (real *)cut(&scratch, (size_t)inner->n * 2 * sizeof(real));
    struct side plain = plain_side(u, false), swapped = plain_side(u, true);
    gather(from, u, line->n);
    numbers_times(u, line->chirp, line->n);
    memset(u + 2 * line->n, 0, (size_t)(inner->n - line->n) * 2 * sizeof(real));
    line_run(inner, &plain, &plain, scratch);
    numbers_times(u, line->filter, inner->n);
    line_run(inner, &swapped, &swapped, scratch);
    numbers_times(u, line->chirp, line->n);
    scatter(u, to, line->n);
}

/* ---- real numbers: of even n a transform of n / 2 pairs, and what this makes of it */

/* Numbers [first, last) of the transform of n real ones from z, of n / 2 complex ones. */
static void halves_forward(const real *restrict z, const real *restrict w, const struct side *to,
                           int64_t h, int64_t first, int64_t last)
{
    for (int64_t k = first; k < last; k++) {
        int64_t a = k == h ? 0 : k, b = k == 0 ? 0 : h - k;
        real even_re = (z[2 * a] + z[2 * b]) / 2, even_im = (z[2 * a + 1] - z[2 * b + 1]) / 2;
        real odd_re = (z[2 * a + 1] + z[2 * b + 1]) / 2, odd_im = (z[2 * b] - z[2 * a]) / 2;
        real re = even_re + odd_re * w[2 * k] - odd_im * w[2 * k + 1];
        real im = even_im + odd_re * w[2 * k + 1] + odd_im * w[2 * k];
        int64_t i = to->off[0] + k * to->step;
        put_scalar(to, i, re);
        put_scalar(to, i + to->im, im);
    }
}

/* Numbers [first, last) of z, whose parts change places, from the n / 2 + 1 that there are. */
static void halves_inverse(const struct side *from, const real *restrict w, real *restrict z,
                           int64_t h, int64_t first, int64_t last)
{
    for (int64_t k = first; k < last; k++) {
        int64_t a = from->off[0] + k * from->step, b = from->off[0] + (h - k) * from->step;
        real a_re = scalar_at(from, a), b_re = scalar_at(from, b);
        /* those of number 0 and of number h are 0, whatever is there */
        real a_im = k ? scalar_at(from, a + from->im) : 0;
        real b_im = k ? scalar_at(from, b + from->im) : 0;
        real even_re = a_re + b_re, even_im = a_im - b_im;
        real odd_re = a_re - b_re, odd_im = a_im + b_im;
        real re = odd_re * w[2 * k] + odd_im * w[2 * k + 1];
        real im = odd_im * w[2 * k] - odd_re * w[2 * k + 1];
        z[2 * k + 1] = even_re - im;
        z[2 * k] = even_im + re;
    }
}

static void lanes_forward(const vec *restrict z, const real *restrict w, vec *restrict to,
                          int64_t h)
{
    for (int64_t k = 0; k <= h; k++) {
        int64_t a = k == h ? 0 : k, b = k == 0 ? 0 : h - k;
        vec a_re = z[2 * a], a_im = z[2 * a + 1], b_re = z[2 * b], b_im = z[2 * b + 1];
        cv odd =
            times((cv){(a_im + b_im) / 2, (b_re - a_re) / 2}, all(w[2 * k]), all(w[2 * k + 1]));
        to[2 * k] = (a_re + b_re) / 2 + odd.re;
        to[2 * k + 1] = (a_im - b_im) / 2 + odd.im;
    }
}

static void lanes_inverse(vec *restrict from, const real *restrict w, vec *restrict z, int64_t h)
{
    from[1] = from[2 * h + 1] = (vec){0};
    for (int64_t k = 0; k < h; k++) {
        const vec *a = from + 2 * k, *b = from + 2 * (h - k);
        cv odd = times((cv){a[0] - b[0], a[1] + b[1]}, all(w[2 * k]), all(-w[2 * k + 1]));
        z[2 * k + 1] = a[0] + b[0] - odd.im;
        z[2 * k] = a[1] - b[1] + odd.re;
    }
}

/* ---- lines of a pass */

/* Both sides of some lines: whole numbers, or pairs of real ones where n is even. */
struct sides {
    struct side in, out;
    bool is_half;
};

static struct sides sides_of(const struct klib_fft *p)
{
    const struct klib_fft_plan *plan = p->plan;
    bool in_real = plan->kind == KLIB_FFT_R2C, out_real = plan->kind == KLIB_FFT_C2R;
    struct sides s = {.is_half = plan->length != plan->n};

    s.in = (struct side){.at = (char *)p->in, .type = plan->type};
    s.in.is_complex = !in_real || s.is_half;
    s.in.im = in_real ? p->in_stride : 1;
    s.in.step = p->in_stride * (in_real && !s.is_half ? 1 : 2);
    s.out = (struct side){.at = p->out, .type = plan->type};
    s.out.is_complex = !out_real || s.is_half;
    s.out.im = out_real ? p->out_stride : 1;
    s.out.step = p->out_stride * (out_real && !s.is_half ? 1 : 2);
    s.in.swapped = s.out.swapped = p->inverse;
    return s;
}

static void find_lines(const struct klib_fft *p, int64_t first, int lanes, struct sides *s)
{
    int64_t in_size = p->plan->kind == KLIB_FFT_R2C ? 1 : 2;
    int64_t out_size = p->plan->kind == KLIB_FFT_C2R ? 1 : 2;
    int64_t i = first % p->counts[0], j = first / p->counts[0] % p->counts[1];
    int64_t k = first / p->counts[0] / p->counts[1];

    s->in.lanes = s->out.lanes = lanes;
    for (int l = 0; l < lanes; l++) {
        s->in.off[l] = in_size * (i * p->in_steps[0] + j * p->in_steps[1] + k * p->in_steps[2]);
        s->out.off[l] =
            out_size * (i * p->out_steps[0] + j * p->out_steps[1] + k * p->out_steps[2]);
        if (++i == p->counts[0]) {
            i = 0;
            if (++j == p->counts[1]) {
                j = 0;
                k++;
            }
        }
    }
}

static void in_lanes(const struct klib_fft *p, struct sides *s, char *scratch)
{
    const struct klib_fft_plan *plan = p->plan;
    int64_t n = plan->n, length = plan->length, span = HD_MAX(plan->core->span, length + 1);
    vec *x = cut_lanes(&scratch, span), *y = cut_lanes(&scratch, span), *z;

    switch ((enum klib_fft_kind)plan->kind) {
    case KLIB_FFT_C2C:
        load(x, &s->in, n);
        store(core_run(plan->core, x, y), &s->out, n);
        break;
    case KLIB_FFT_R2C:
        load(x, &s->in, length);
        z = core_run(plan->core, x, y);
        if (s->is_half) {
            vec *to = z == x ? y : x;
            lanes_forward(z, plan->half, to, length);
            z = to;
        }
        store(z, &s->out, n / 2 + 1);
        break;
    case KLIB_FFT_C2R:
        if (s->is_half) {
            s->in.swapped = false;
            load(y, &s->in, length + 1);
            lanes_inverse(y, plan->half, x, length);
        } else {
            load(x, &s->in, n / 2 + 1);
            /* the others are conjugates; parts have changed places, and that of number 0 is 0 */
            x[0] = (vec){0};
            for (int64_t k = 1; k <= n / 2; k++) {
                x[2 * (n - k)] = -x[2 * k];
                x[2 * (n - k) + 1] = x[2 * k + 1];
            }
        }
        store(core_run(plan->core, x, y), &s->out, length);
        break;
    }
}

static void alone(const struct klib_fft *p, struct sides *s, char *scratch)
{
    const struct klib_fft_plan *plan = p->plan;
    int64_t n = plan->n, length = plan->length;

    if (plan->kind == KLIB_FFT_C2C) {
        line_run(plan->line, &s->in, &s->out, scratch);
        return;
    }
    real *u = (real *)cut(&scratch, (size_t)(length + 1) * 2 * sizeof(real));
    if (plan->kind == KLIB_FFT_R2C) {
        struct side plain = plain_side(u, false);
        line_run(plan->line, &s->in, &plain, scratch);
        if (s->is_half)
            halves_forward(u, plan->half, &s->out, length, 0, length + 1);
        else
            scatter(u, &s->out, n / 2 + 1);
        return;
    }
    struct side swapped = plain_side(u, false); /* as it lies: they have changed places */
    if (s->is_half) {
        s->in.swapped = false;
        halves_inverse(&s->in, plan->half, u, length, 0, length);
    } else {
        gather(&s->in, u, n / 2 + 1);
        u[0] = 0; /* as in lanes */
        for (int64_t k = 1; k <= n / 2; k++) {
            u[2 * (n - k)] = -u[2 * k];
            u[2 * (n - k) + 1] = u[2 * k + 1];
        }
    }
    line_run(plan->line, &swapped, &s->out, scratch);
}

static void lines(const struct klib_fft *p, int64_t first, int64_t last, void *scratch)
{
    int most = p->plan->has_line ? 1 : WIDTH;
    struct sides s = sides_of(p);

    for (; first < last; first += most) {
        struct sides some = s;
        find_lines(p, first, (int)HD_MIN(last - first, most), &some);
        if (p->plan->has_line)
            alone(p, &some, scratch);
        else
            in_lanes(p, &some, scratch);
    }
}

/* ---- parts of a line alone, of several threads */

static vec *transposed(const struct klib_fft *p)
{
    return (vec *)((char *)p->work + fft_exchange_B(p->plan));
}

static void columns(const struct klib_fft *p, int64_t first, int64_t last, void *scratch)
{
    const struct fft_line *line = p->plan->line;
    char *at = scratch;
    vec *x = cut_lanes(&at, line->n1), *y = cut_lanes(&at, line->n1);
    struct sides s = sides_of(p);

    find_lines(p, 0, 1, &s);
    if (p->plan->kind == KLIB_FFT_C2R)
        s.in = plain_side(p->work, false);
    for (int64_t g = first; g < last; g++)
        line_columns(line, &s.in, g, transposed(p), x, y);
}

static void rows(const struct klib_fft *p, int64_t first, int64_t last, void *scratch)
{
    const struct fft_line *line = p->plan->line;
    char *at = scratch;
    vec *y = cut_lanes(&at, line->n2);
    struct sides s = sides_of(p);

    find_lines(p, 0, 1, &s);
    if (p->plan->kind == KLIB_FFT_R2C)
        s.out = plain_side(p->work, false);
    for (int64_t b = first; b < last; b++)
        line_rows(line, &s.out, b, transposed(p), y);
}

static void halves(const struct klib_fft *p, int64_t first, int64_t last)
{
    struct sides s = sides_of(p);
    int64_t h = p->plan->length;

    find_lines(p, 0, 1, &s);
    if (p->plan->kind == KLIB_FFT_R2C)
        halves_forward(p->work, p->plan->half, &s.out, h, first, HD_MIN(last, h + 1));
    else
        halves_inverse(&s.in, p->plan->half, p->work, h, first, HD_MIN(last, h));
}

static void line_of_numbers(const struct fft_line *line, const void *from, void *to, void *scratch)
{
    struct side in = plain_side(from, false), out = plain_side(to, false);

    line_run(line, &in, &out, scratch);
}

const struct fft_ops FFT_OPS = {.width = WIDTH,
                                .real_B = sizeof(real),
                                .lines = lines,
                                .columns = columns,
                                .rows = rows,
                                .halves = halves,
                                .line = line_of_numbers};
