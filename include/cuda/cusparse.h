/*
 * Heddle has no cuSPARSE: this is the vendor's header, of a folder behind this one or of the wheels
 * that PyTorch came with, whose headers' folder is theirs to be found from.
 */
#if __has_include_next(<cusparse.h>)
#include_next <cusparse.h>
#elif __has_include(<../../nvidia/cu13/include/cusparse.h>)
#include <../../nvidia/cu13/include/cusparse.h>
#elif __has_include(<../../nvidia/cusparse/include/cusparse.h>)
#include <../../nvidia/cusparse/include/cusparse.h>
#else
#error "cusparse.h: Heddle has no cuSPARSE; name the folder of the vendor's header (-I)"
#endif
