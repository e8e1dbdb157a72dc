/* Private to the tensor copies of src/model: the rows of a box, in the order of shared memory. */
#ifndef HD_MODEL_TENSOR_WALK_H
#define HD_MODEL_TENSOR_WALK_H

#include <string.h>

#include "model/tensor_copy.h"

#define IR_TENSOR_ROW_MAX_B (IR_TENSOR_BOX_MAX * 32) /* a row of slices */

/* Elements of dimension `d` that a tile has. */
uint32_t ir_tensor_count(const struct ir_tensor_copy *c, unsigned d);

/* Row number `row` in shared memory begins at these coordinates. False ends the walk. */
typedef bool ir_tensor_visit(void *user, uint32_t row, const int64_t *at);
bool ir_tensor_walk(const struct ir_tensor_copy *c, ir_tensor_visit *visit, void *user);

#endif
