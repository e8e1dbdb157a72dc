/* libcudadevrt.a: build systems link it. What it would define for kernels is the loader's. */
extern const char heddle_device_runtime[];
const char heddle_device_runtime[] = "in the module loader";
