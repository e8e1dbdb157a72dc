/* Of cuFFT: the libraries for CUDA 12 and 13 differ in it. */
#ifndef HD_API_CUFFT_VERSION_H
#define HD_API_CUFFT_VERSION_H

extern const int fft_version[3];

#endif
