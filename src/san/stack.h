/* Host stacks, inside of san: record.h has what tools use. */
#ifndef HD_SAN_STACK_H
#define HD_SAN_STACK_H

#include "base/text/json.h"
#include "san/record.h"

/* Once, before the first stack is taken; it may allocate. */
void san_stack_start(void);
/*
 * Appends an array of frames, innermost first: pc (an address in the module's file), module, and
 * the function where the module exports it. `program` is the path of the executable. NULL: nothing.
 */
void san_stack_write(struct hd_json *j, const char *key, const struct san_stack *stack,
                     const char *program);

/* The entry of the API as the program's source has it: without what its compiler and headers make
 * of the name. */
void san_call_name(const char *symbol, char *out, size_t cap);

#endif
