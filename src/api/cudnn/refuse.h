/* What libcudnn does not have: said once, and kept for cudnnGetLastErrorString(). */
#ifndef HD_API_CUDNN_REFUSE_H
#define HD_API_CUDNN_REFUSE_H

#include <stdbool.h>

#include "api/cudnn/dnn.h"

/* CUDNN_STATUS_NOT_SUPPORTED. `said` is the caller's, for this name. */
cudnnStatus_t cudnn_refuse(const char *name, _Atomic bool *said);

#endif
