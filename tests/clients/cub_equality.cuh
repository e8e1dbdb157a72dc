/* CUB's comparison up to CUDA 12, by its old name: CUDA 13's CUB has it only as cuda::std::equal_to<>. To be included
 * before a source that names it (-include). */
#pragma once
#include <cuda/std/functional>

namespace cub {
using Equality = ::cuda::std::equal_to<>;
}
