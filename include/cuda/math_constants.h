/* Mathematical constants under the names of the CUDA toolkit. */
#ifndef HEDDLE_CUDA_MATH_CONSTANTS_H
#define HEDDLE_CUDA_MATH_CONSTANTS_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define __MATH_CONSTANTS_H__

/* Single precision. */
#if defined(__CUDA__)
#define CUDART_INF_F        __int_as_float(0x7f800000)
#define CUDART_NAN_F        __int_as_float(0x7fffffff)
#define CUDART_MIN_DENORM_F __int_as_float(0x00000001)
#define CUDART_MAX_NORMAL_F __int_as_float(0x7f7fffff)
#define CUDART_NEG_ZERO_F   __int_as_float(0x80000000)
#define CUDART_INF          __longlong_as_double(0x7ff0000000000000LL)
#define CUDART_NAN          __longlong_as_double(0xfff8000000000000LL)
#define CUDART_NEG_ZERO     __longlong_as_double(0x8000000000000000ULL)
#define CUDART_MIN_DENORM   __longlong_as_double(0x0000000000000001LL)
#else
#define CUDART_INF_F        __builtin_inff()
#define CUDART_NAN_F        __builtin_nanf("0x3fffff")
#define CUDART_MIN_DENORM_F 1.4012984643e-45f
#define CUDART_MAX_NORMAL_F 3.402823466e+38f
#define CUDART_NEG_ZERO_F   -0.0f
#define CUDART_INF          __builtin_inf()
#define CUDART_NAN          __builtin_nan("")
#define CUDART_NEG_ZERO     -0.0
#define CUDART_MIN_DENORM   4.9406564584124654e-324
#endif
#define CUDART_ZERO_F        0.0f
#define CUDART_ONE_F         1.0f
#define CUDART_SQRT_HALF_F   0.707106781f
#define CUDART_SQRT_TWO_F    1.41421356f
#define CUDART_THIRD_F       0.333333333f
#define CUDART_PIO4_F        0.785398163f
#define CUDART_PIO2_F        1.57079633f
#define CUDART_3PIO4_F       2.35619449f
#define CUDART_2_OVER_PI_F   0.636619772f
#define CUDART_PI_F          3.14159265f
#define CUDART_L2E_F         1.44269504f
#define CUDART_L2T_F         3.32192809f
#define CUDART_LG2_F         0.301029996f
#define CUDART_LGE_F         0.434294482f
#define CUDART_LN2_F         0.693147181f
#define CUDART_LNT_F         2.30258509f
#define CUDART_LNPI_F        1.14472989f
#define CUDART_SQRT_2OPI_F   0.797884561f
#define CUDART_SQRT_PIO2_F   1.25331414f
#define CUDART_TWO_TO_M126_F 1.17549435e-38f
#define CUDART_TWO_TO_8_F    256.0f
#define CUDART_TWO_TO_12_F   4096.0f
#define CUDART_TWO_TO_13_F   8192.0f
#define CUDART_TWO_TO_18_F   262144.0f
#define CUDART_TWO_TO_20_F   1048576.0f
#define CUDART_TWO_TO_22_F   4194304.0f
#define CUDART_TWO_TO_23_F   8388608.0f
#define CUDART_TWO_TO_24_F   16777216.0f
#define CUDART_TWO_TO_31_F   2147483648.0f
#define CUDART_TWO_TO_32_F   4294967296.0f
#define CUDART_TWO_TO_126_F  85070591730234615865843651857942052864.0f
#define CUDART_NORM_HUGE_F   3.402823466e38f
#define CUDART_TRIG_PLOSS_F  105615.0f

/* Double precision. */
#define CUDART_ZERO           0.0
#define CUDART_ONE            1.0
#define CUDART_SQRT_HALF      0.7071067811865475244
#define CUDART_SQRT_TWO       1.4142135623730950488
#define CUDART_THIRD          0.33333333333333333333
#define CUDART_PIO4           0.78539816339744830962
#define CUDART_PIO2           1.5707963267948966192
#define CUDART_3PIO4          2.3561944901923449288
#define CUDART_2_OVER_PI      0.63661977236758134308
#define CUDART_PI             3.1415926535897932385
#define CUDART_L2E            1.4426950408889634074
#define CUDART_L2T            3.3219280948873623479
#define CUDART_LG2            0.30102999566398119521
#define CUDART_LGE            0.43429448190325182765
#define CUDART_LN2            0.69314718055994530942
#define CUDART_LNT            2.302585092994045684
#define CUDART_LNPI           1.1447298858494001741
#define CUDART_SQRT_2OPI      0.79788456080286535588
#define CUDART_SQRT_PIO2      1.2533141373155002512
#define CUDART_SIXTH          0.16666666666666666667
#define CUDART_TWOTHIRD       0.66666666666666666667
#define CUDART_SQRT_PI        1.7724538509055160273
#define CUDART_SQRT_2PI       2.5066282746310005024
#define CUDART_2_OVER_SQRT_PI 1.1283791670955125739
#define CUDART_TWO_TO_23      8388608.0
#define CUDART_TWO_TO_52      4503599627370496.0
#define CUDART_TWO_TO_53      9007199254740992.0
#define CUDART_TWO_TO_54      18014398509481984.0
#define CUDART_NORM_HUGE      1.7976931348623157e308

#endif
