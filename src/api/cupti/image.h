/*
 * What passes through a client's hands between the calls of a profiler: which counters are wanted
 * (config image), and what they were in each range (counter data image). A client keeps them in
 * buffers and files of its own, so they are looked at before anything in them is believed.
 *
 * Numbers of the host's byte order. Columns are numbers of metrics (count/metrics.h); `table` tells
 * images of another version's metrics apart.
 *
 *     config image     struct cupti_config_image, columns
 *     counter data     struct cupti_data_image, columns up to a multiple of 8 bytes, max_ranges
 *                      times: struct cupti_range_row, a double for each column
 */
#ifndef HD_API_CUPTI_IMAGE_H
#define HD_API_CUPTI_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "count/metrics.h"

/* Which metrics: those of SUM and TOTAL, in rising order. */
struct cupti_columns {
    uint32_t count;
    uint16_t metric[METRICS_MAX];
};

struct cupti_config_image {
    char magic[8];
    uint32_t version, table;
    uint32_t ncolumns, pad;
    uint16_t columns[];
};
_Static_assert(sizeof(struct cupti_config_image) == 24, "format");

/* Components of a range's name, outermost first, each with its zero. */
#define CUPTI_RANGE_NAME_B 248u
struct cupti_range_row {
    uint64_t duration_ns; /* of all its launches */
    uint64_t nlaunches;
    uint64_t name_B;
    char name[CUPTI_RANGE_NAME_B];
};
_Static_assert(sizeof(struct cupti_range_row) == 272, "format");

struct cupti_data_image {
    char magic[8];
    uint32_t version, table;
    uint64_t size_B; /* of all of it */
    uint32_t ncolumns, max_ranges, nranges, pad;
};
_Static_assert(sizeof(struct cupti_data_image) == 40, "format");

/* ---- config images */

size_t cupti_config_size_B(const struct cupti_columns *columns);
/* `image` has that many bytes. */
void cupti_config_write(const struct cupti_columns *columns, void *image);
/* False: not a config image of this library. Any bytes will do. */
bool cupti_config_read(const void *image, size_t size_B, struct cupti_columns *out_columns)
    HD_MUST_CHECK;

/* ---- counter data images */

enum { CUPTI_RANGES_MAX = 1 << 20 };
/* 0: too many ranges. */
size_t cupti_data_size_B(const struct cupti_columns *columns, uint64_t max_ranges);
/* An image without ranges. `image` has that many bytes. */
void cupti_data_write(const struct cupti_columns *columns, uint32_t max_ranges, void *image);
/* False: not a counter data image of this library. Any bytes will do. */
bool cupti_data_read(const void *image, size_t size_B, struct cupti_data_image *out_head,
                     struct cupti_columns *out_columns) HD_MUST_CHECK;
/* A range of an image that was read; `values` by metric, of metrics without a column NaN. */
void cupti_data_range(const void *image, const struct cupti_columns *columns, uint32_t index,
                      struct cupti_range_row *out_row, double *out_values);
/* Adds a range to one that was read; false: no room. */
bool cupti_data_add(void *image, const struct cupti_columns *columns,
                    const struct cupti_range_row *row, const double *values) HD_MUST_CHECK;

/* "outer/inner" of a row that was read, with `delimiter` in between: for free(). NULL: no memory. */
char *cupti_range_name(const struct cupti_range_row *row, const char *delimiter);

#endif
