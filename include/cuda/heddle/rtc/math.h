/* The C library's macros; the functions are the device's. */
/* No guard: heddle/rtc.h takes them away again. */
#define HUGE_VAL     __builtin_huge_val()
#define HUGE_VALF    __builtin_huge_valf()
#define HUGE_VALL    __builtin_huge_val()
#define INFINITY     __builtin_inff()
#define NAN          __builtin_nanf("")
#define FP_NAN       0
#define FP_INFINITE  1
#define FP_ZERO      2
#define FP_SUBNORMAL 3
#define FP_NORMAL    4
