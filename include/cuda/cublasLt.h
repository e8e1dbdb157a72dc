/*
 * Heddle has no cuBLASLt: this is the vendor's header, of a folder behind this one or of the wheels
 * that PyTorch came with, whose headers' folder is theirs to be found from.
 */
#if __has_include_next(<cublasLt.h>)
#include_next <cublasLt.h>
#elif __has_include(<../../nvidia/cu13/include/cublasLt.h>)
#include <../../nvidia/cu13/include/cublasLt.h>
#elif __has_include(<../../nvidia/cublas/include/cublasLt.h>)
#include <../../nvidia/cublas/include/cublasLt.h>
#else
#error "cublasLt.h: Heddle has no cuBLASLt; name the folder of the vendor's header (-I)"
#endif
