/* The parts of cuDNN are one library; each has its name, for programs that open a part. */
#include <cudnn.h>

/* What the linker needs the whole for. */
__attribute__((used)) static size_t (*const whole)(void) = cudnnGetVersion;
