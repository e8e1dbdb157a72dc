/*
 * In front of libcu++'s own header, which it includes. For NVRTC that asserts a member's offset by the
 * address of a member of null, which is no constant to clang. Its assertions are left out.
 */
#pragma GCC system_header
#if defined(__CUDACC_RTC__)
#pragma push_macro("static_assert")
#undef static_assert
#define static_assert(...) _Static_assert(true, "")
#include_next <cuda/__barrier/barrier_block_scope.h>
#pragma pop_macro("static_assert")
#else
#include_next <cuda/__barrier/barrier_block_scope.h>
#endif
