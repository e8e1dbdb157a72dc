/*
 * CTC by the forward-backward algorithm, in logarithms and doubles. A path goes through the labels
 * with a blank (0) between, before and behind them; at each step it stays, or goes on by one, or by
 * two over a blank between labels that differ.
 */
#include "klib/dnn_ctc.h"

#include <math.h>
#include <stdlib.h>

#include "klib/dnn_rows.h"

static double log_sum(double a, double b)
{
    double most = fmax(a, b);

    return isinf(most) ? most : most + log1p(exp(fmin(a, b) - most));
}

/* What the path may have at s, an odd one a label. */
static int label_at(const int *labels, int64_t s)
{
    return s % 2 ? labels[s / 2] : 0;
}

static bool may_skip(const int *labels, int64_t s)
{
    return s % 2 && s >= 3 && labels[s / 2] != labels[s / 2 - 1];
}

bool klib_ctc(const struct klib_dnn_op *op, int64_t sample)
{
    const struct klib_tensor *in = &op->t[1], *grad = &op->t[0];
    const int *labels = op->p[1], *lengths = op->p[2];
    int64_t length = lengths[sample], time = ((const int *)op->p[3])[sample], letters = in->dims[2];
    int64_t states = 2 * length + 1, repeats = 0;
    double cost = 0;

    for (int64_t i = 0; i < sample; i++)
        labels += lengths[i];
    for (int64_t i = 1; i < length; i++)
        repeats += labels[i] == labels[i - 1];
    time = time < in->dims[0] ? time : in->dims[0];
    bool can_be = length + repeats <= time;
    double *logs = malloc((size_t)(time * letters + 2 * time * states + letters) * sizeof(double));
    double *a = logs + time * letters, *b = a + time * states, *row = b + time * states;
    if (!logs)
        return false;
    for (int64_t t = 0; t < time; t++) {
        double *p = logs + t * letters, most = -INFINITY, sum = 0;
        dnn_load_f64(p, in->address, in->type, t * in->strides[0] + sample * in->strides[1],
                     in->strides[2], letters);
        for (int64_t k = 0; k < letters; k++)
            most = fmax(most, p[k]);
        for (int64_t k = 0; k < letters; k++)
            sum += exp(p[k] - most);
        for (int64_t k = 0; k < letters; k++)
            p[k] = op->mode ? p[k] - most - log(sum) : log(p[k]);
    }
    for (int64_t t = 0; can_be && t < time; t++)
        for (int64_t s = 0; s < states; s++) {
            double sum = -INFINITY;
            if (!t)
                sum = s < 2 ? 0 : -INFINITY;
            if (t) {
                const double *last = a + (t - 1) * states;
                sum = last[s];
                if (s > 0)
                    sum = log_sum(sum, last[s - 1]);
                if (may_skip(labels, s))
                    sum = log_sum(sum, last[s - 2]);
            }
            a[t * states + s] = sum + logs[t * letters + label_at(labels, s)];
        }
    for (int64_t t = time - 1; can_be && t >= 0; t--)
        for (int64_t s = states - 1; s >= 0; s--) {
            double sum = s >= states - 2 ? 0 : -INFINITY;
            if (t < time - 1) {
                const double *next = b + (t + 1) * states, *p = logs + (t + 1) * letters;
                sum = next[s] + p[label_at(labels, s)];
                if (s + 1 < states)
                    sum = log_sum(sum, next[s + 1] + p[label_at(labels, s + 1)]);
                if (s + 2 < states && may_skip(labels, s + 2))
                    sum = log_sum(sum, next[s + 2] + p[label_at(labels, s + 2)]);
            }
            b[t * states + s] = sum;
        }
    if (can_be && time) {
        const double *last = a + (time - 1) * states;
        cost = -(states > 1 ? log_sum(last[states - 1], last[states - 2]) : last[0]);
    }
    dnn_store_f64(&cost, op->p[0], in->type, sample, 1, 1);
    for (int64_t t = 0; grad->address && t < in->dims[0]; t++) {
        bool is_there = can_be && t < time;
        if (!can_be && op->n[0])
            break; /* as they are */
        for (int64_t k = 0; k < letters; k++)
            row[k] = is_there ? exp(logs[t * letters + k]) : 0;
        for (int64_t s = 0; is_there && s < states; s++)
            row[label_at(labels, s)] -= exp(a[t * states + s] + b[t * states + s] + cost);
        dnn_store_f64(row, grad->address, grad->type,
                      t * grad->strides[0] + sample * grad->strides[1], grad->strides[2], letters);
    }
    free(logs);
    return true;
}
