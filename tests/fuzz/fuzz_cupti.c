/*
 * Images that clients of libcupti's profilers keep: whatever became of one, it is refused, or
 * everything in it can be read, and a range added to it. The first byte says which image; the rest
 * is what it was damaged with (three bytes each: where, and by what), or all of it as it is.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/cupti/image.h"
#include "fuzz/fuzz.h"

enum { RANGES = 3, IMAGE_MAX_B = 1 << 14 };

static uint8_t image[IMAGE_MAX_B];

/* Every other sum. */
static struct cupti_columns some_columns(void)
{
    struct cupti_columns columns = {0};

    for (size_t m = 0; m < metrics_count; m += 2)
        if (metrics[m].kind == METRIC_SUM)
            columns.metric[columns.count++] = (uint16_t)m;
    return columns;
}

static void use_config(size_t size_B)
{
    uint8_t again[sizeof(struct cupti_config_image) + METRICS_MAX * sizeof(uint16_t)];
    struct cupti_columns columns, same;

    if (!cupti_config_read(image, size_B, &columns))
        return;
    assert(columns.count <= METRICS_MAX && cupti_config_size_B(&columns) <= size_B);
    cupti_config_write(&columns, again);
    bool is_read = cupti_config_read(again, cupti_config_size_B(&columns), &same);
    assert(is_read && same.count == columns.count);
    (void)is_read;
}

static void use_ranges(const struct cupti_columns *columns, uint32_t n)
{
    double values[METRICS_MAX];
    struct cupti_range_row row;

    for (uint32_t i = 0; i < n; i++) {
        cupti_data_range(image, columns, i, &row, values);
        char *name = cupti_range_name(&row, " / ");
        assert(name && strlen(name) < sizeof(row.name) * 3);
        free(name);
        for (size_t m = metrics_count; m < METRICS_MAX; m++)
            assert(isnan(values[m]));
    }
}

static void use_data(size_t size_B)
{
    const double values[METRICS_MAX] = {0};
    const struct cupti_range_row row = {.name_B = 2, .name = "x"};
    struct cupti_data_image head;
    struct cupti_columns columns;

    if (!cupti_data_read(image, size_B, &head, &columns))
        return;
    assert(head.nranges <= head.max_ranges);
    use_ranges(&columns, head.nranges);
    bool is_added = cupti_data_add(image, &columns, &row, values);
    assert(is_added == (head.nranges < head.max_ranges));
    bool is_read = cupti_data_read(image, size_B, &head, &columns);
    assert(is_read);
    (void)is_added, (void)is_read;
}

/* A good image with two ranges; its size. */
static size_t data_make(void)
{
    const struct cupti_columns columns = some_columns();
    const double values[METRICS_MAX] = {1, 2, 3};
    const struct cupti_range_row row = {.name_B = 12, .name = "outer\0inner"};
    size_t size_B = cupti_data_size_B(&columns, RANGES);

    assert(size_B <= sizeof(image));
    cupti_data_write(&columns, RANGES, image);
    for (int i = 0; i < RANGES - 1; i++) {
        bool is_added = cupti_data_add(image, &columns, &row, values);
        assert(is_added);
        (void)is_added;
    }
    return size_B;
}

static size_t config_make(void)
{
    const struct cupti_columns columns = some_columns();

    cupti_config_write(&columns, image);
    return cupti_config_size_B(&columns);
}

static void damage(const uint8_t *by, size_t n, size_t size_B)
{
    for (; n >= 3; n -= 3, by += 3)
        image[(by[0] | (size_t)by[1] << 8) % size_B] ^= by[2];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t size_B = 0;

    if (!size || size > sizeof(image))
        return 0;
    memset(image, 0, sizeof(image));
    if (*data & 2) {
        size_B = size - 1;
        memcpy(image, data + 1, size_B);
    } else {
        size_B = *data & 1 ? data_make() : config_make();
        damage(data + 1, size - 1, size_B);
    }
    if (*data & 1)
        use_data(size_B);
    else
        use_config(size_B);
    return 0;
}
