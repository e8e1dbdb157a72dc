/* Operators of CUDA that PyTorch's CPU has no kernel for. */
#pragma once
namespace heddle {
inline void adapters_register() {}
} // namespace heddle
