/*
 * Heddle has no cuSOLVER: this is the vendor's header, of a folder behind this one or of the wheels
 * that PyTorch came with, whose headers' folder is theirs to be found from.
 */
#if __has_include_next(<cusolver_common.h>)
#include_next <cusolver_common.h>
#elif __has_include(<../../nvidia/cu13/include/cusolver_common.h>)
#include <../../nvidia/cu13/include/cusolver_common.h>
#elif __has_include(<../../nvidia/cusolver/include/cusolver_common.h>)
#include <../../nvidia/cusolver/include/cusolver_common.h>
#else
#error "cusolver_common.h: Heddle has no cuSOLVER; name the folder of the vendor's header (-I)"
#endif
