/* See image.h. Images may lie at any address, so everything is copied. */
#include "api/cupti/image.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_MAGIC  "HDLCONF"
#define DATA_MAGIC    "HDLDATA"
#define IMAGE_VERSION 1u

/* FNV-1a of the names. */
static uint32_t table_number(void)
{
    uint32_t hash = 2166136261u;

    for (size_t m = 0; m < metrics_count; m++)
        for (const char *p = metrics[m].name;; p++) {
            hash = (hash ^ (uint8_t)*p) * 16777619u;
            if (!*p)
                break;
        }
    return hash;
}

static bool is_counted(uint16_t metric)
{
    return metric < metrics_count &&
           (metrics[metric].kind == METRIC_SUM || metrics[metric].kind == METRIC_TOTAL);
}

/* `count` columns at `from` that are what columns have to be. */
static bool columns_read(const void *from, uint32_t count, struct cupti_columns *out)
{
    assert(count <= METRICS_MAX);
    out->count = count;
    memcpy(out->metric, from, count * sizeof(out->metric[0]));
    for (uint32_t i = 0; i < count; i++)
        if (!is_counted(out->metric[i]) || (i && out->metric[i] <= out->metric[i - 1]))
            return false;
    return true;
}

/* ---- config images */

size_t cupti_config_size_B(const struct cupti_columns *columns)
{
    return sizeof(struct cupti_config_image) + columns->count * sizeof(uint16_t);
}

void cupti_config_write(const struct cupti_columns *columns, void *image)
{
    const struct cupti_config_image head = {.magic = CONFIG_MAGIC,
                                            .version = IMAGE_VERSION,
                                            .table = table_number(),
                                            .ncolumns = columns->count};

    assert(columns->count <= METRICS_MAX);
    memcpy(image, &head, sizeof(head));
    memcpy((char *)image + sizeof(head), columns->metric, columns->count * sizeof(uint16_t));
}

bool cupti_config_read(const void *image, size_t size_B, struct cupti_columns *out_columns)
{
    struct cupti_config_image head;

    if (!image || size_B < sizeof(head))
        return false;
    memcpy(&head, image, sizeof(head));
    return !memcmp(head.magic, CONFIG_MAGIC, sizeof(head.magic)) && head.version == IMAGE_VERSION &&
           head.table == table_number() && head.ncolumns <= METRICS_MAX &&
           size_B - sizeof(head) >= head.ncolumns * sizeof(uint16_t) &&
           columns_read((const char *)image + sizeof(head), head.ncolumns, out_columns);
}

/* ---- counter data images */

static size_t rows_at(uint32_t ncolumns)
{
    return sizeof(struct cupti_data_image) + (ncolumns * sizeof(uint16_t) + 7) / 8 * 8;
}

static size_t row_size_B(uint32_t ncolumns)
{
    return sizeof(struct cupti_range_row) + ncolumns * sizeof(double);
}

static size_t row_at(uint32_t ncolumns, uint32_t index)
{
    return rows_at(ncolumns) + index * row_size_B(ncolumns);
}

size_t cupti_data_size_B(const struct cupti_columns *columns, uint64_t max_ranges)
{
    return max_ranges <= CUPTI_RANGES_MAX ? row_at(columns->count, (uint32_t)max_ranges) : 0;
}

void cupti_data_write(const struct cupti_columns *columns, uint32_t max_ranges, void *image)
{
    const struct cupti_data_image head = {.magic = DATA_MAGIC,
                                          .version = IMAGE_VERSION,
                                          .table = table_number(),
                                          .size_B = row_at(columns->count, max_ranges),
                                          .ncolumns = columns->count,
                                          .max_ranges = max_ranges};

    assert(columns->count <= METRICS_MAX && max_ranges <= CUPTI_RANGES_MAX);
    memset(image, 0, head.size_B);
    memcpy(image, &head, sizeof(head));
    memcpy((char *)image + sizeof(head), columns->metric, columns->count * sizeof(uint16_t));
}

static bool head_is_fine(const struct cupti_data_image *head, size_t size_B)
{
    return !memcmp(head->magic, DATA_MAGIC, sizeof(head->magic)) &&
           head->version == IMAGE_VERSION && head->table == table_number() &&
           head->ncolumns <= METRICS_MAX && head->max_ranges <= CUPTI_RANGES_MAX &&
           head->nranges <= head->max_ranges && head->size_B <= size_B &&
           head->size_B == row_at(head->ncolumns, head->max_ranges);
}

/* Components that end with a zero, and at least one. */
static bool name_is_fine(const struct cupti_range_row *row)
{
    return row->name_B && row->name_B <= sizeof(row->name) && !row->name[row->name_B - 1];
}

bool cupti_data_read(const void *image, size_t size_B, struct cupti_data_image *out_head,
                     struct cupti_columns *out_columns)
{
    if (!image || size_B < sizeof(*out_head))
        return false;
    memcpy(out_head, image, sizeof(*out_head));
    if (!head_is_fine(out_head, size_B) ||
        !columns_read((const char *)image + sizeof(*out_head), out_head->ncolumns, out_columns))
        return false;
    struct cupti_range_row row;
    for (uint32_t i = 0; i < out_head->nranges; i++) {
        memcpy(&row, (const char *)image + row_at(out_head->ncolumns, i), sizeof(row));
        if (!name_is_fine(&row))
            return false;
    }
    return true;
}

void cupti_data_range(const void *image, const struct cupti_columns *columns, uint32_t index,
                      struct cupti_range_row *out_row, double *out_values)
{
    const char *row = (const char *)image + row_at(columns->count, index);

    memcpy(out_row, row, sizeof(*out_row));
    for (size_t m = 0; m < METRICS_MAX; m++)
        out_values[m] = NAN;
    for (uint32_t i = 0; i < columns->count; i++) {
        assert(is_counted(columns->metric[i]));
        memcpy(&out_values[columns->metric[i]], row + sizeof(*out_row) + i * sizeof(double),
               sizeof(double));
    }
}

bool cupti_data_add(void *image, const struct cupti_columns *columns,
                    const struct cupti_range_row *row, const double *values)
{
    struct cupti_data_image head;
    char *to;

    assert(name_is_fine(row));
    memcpy(&head, image, sizeof(head));
    if (head.nranges == head.max_ranges)
        return false;
    to = (char *)image + row_at(columns->count, head.nranges++);
    memcpy(to, row, sizeof(*row));
    for (uint32_t i = 0; i < columns->count; i++)
        memcpy(to + sizeof(*row) + i * sizeof(double), &values[columns->metric[i]], sizeof(double));
    memcpy(image, &head, sizeof(head));
    return true;
}

/* ---- names */

static size_t parts_of(const struct cupti_range_row *row)
{
    size_t n = 0;

    for (uint64_t i = 0; i < row->name_B; i++)
        n += !row->name[i];
    return n;
}

char *cupti_range_name(const struct cupti_range_row *row, const char *delimiter)
{
    const size_t between_B = strlen(delimiter);
    const char *part = row->name, *end = row->name + row->name_B;
    char *text = malloc(row->name_B + parts_of(row) * between_B), *to = text;

    for (; text && part < end; part += strlen(part) + 1) {
        if (part != row->name) {
            memcpy(to, delimiter, between_B);
            to += between_B;
        }
        memcpy(to, part, strlen(part) + 1);
        to += strlen(part);
    }
    return text;
}
