/* MD5 of the 8 hexadecimal digits of `key`, fully unrolled: one text for CUDA C++, OpenCL C and C.
 * The including file defines MD5_U (a 32-bit unsigned type) and MD5_ROL(x, s). RFC 1321.
 * The message is 8 digits (w0, w1), the padding bit 0x80 (w2) and the length in bits 64 (w14);
 * all other words are 0. */
#define MD5_F(b, c, d) (((b) & (c)) | (~(b) & (d)))
#define MD5_G(b, c, d) (((d) & (b)) | (~(d) & (c)))
#define MD5_H(b, c, d) ((b) ^ (c) ^ (d))
#define MD5_I(b, c, d) ((c) ^ ((b) | ~(d)))

/* One step: function, four state words, message word, constant, rotation. */
#define MD5_ST(f, a, b, c, d, w, k, s)                                                             \
    a += f(b, c, d) + (k) + (w);                                                                   \
    a = (b) + MD5_ROL(a, s);

/* Four nibbles, one per byte -> ASCII digits: '0' + v, and 39 more for a to f. */
#define MD5_HEX4(v) ((v) + 0x30303030u + ((((v) + 0x06060606u) >> 4) & 0x01010101u) * 39u)
#define MD5_SPREAD(x)                                                                              \
    ((((x) >> 12) & 15u) | ((((x) >> 8) & 15u) << 8) | ((((x) >> 4) & 15u) << 16) |                \
     (((x) & 15u) << 24))

/* clang-format off */
#define MD5_BODY(key, A, B, C, D) { \
    MD5_U w0 = MD5_HEX4(MD5_SPREAD((key) >> 16)); \
    MD5_U w1 = MD5_HEX4(MD5_SPREAD((key) & 0xffffu)); \
    MD5_U a = 0x67452301u, b = 0xefcdab89u, c = 0x98badcfeu, d = 0x10325476u; \
    MD5_ST(MD5_F, a, b, c, d, w0, 0xd76aa478u, 7) \
    MD5_ST(MD5_F, d, a, b, c, w1, 0xe8c7b756u, 12) \
    MD5_ST(MD5_F, c, d, a, b, 0x80u, 0x242070dbu, 17) \
    MD5_ST(MD5_F, b, c, d, a, 0u, 0xc1bdceeeu, 22) \
    MD5_ST(MD5_F, a, b, c, d, 0u, 0xf57c0fafu, 7) \
    MD5_ST(MD5_F, d, a, b, c, 0u, 0x4787c62au, 12) \
    MD5_ST(MD5_F, c, d, a, b, 0u, 0xa8304613u, 17) \
    MD5_ST(MD5_F, b, c, d, a, 0u, 0xfd469501u, 22) \
    MD5_ST(MD5_F, a, b, c, d, 0u, 0x698098d8u, 7) \
    MD5_ST(MD5_F, d, a, b, c, 0u, 0x8b44f7afu, 12) \
    MD5_ST(MD5_F, c, d, a, b, 0u, 0xffff5bb1u, 17) \
    MD5_ST(MD5_F, b, c, d, a, 0u, 0x895cd7beu, 22) \
    MD5_ST(MD5_F, a, b, c, d, 0u, 0x6b901122u, 7) \
    MD5_ST(MD5_F, d, a, b, c, 0u, 0xfd987193u, 12) \
    MD5_ST(MD5_F, c, d, a, b, 64u, 0xa679438eu, 17) \
    MD5_ST(MD5_F, b, c, d, a, 0u, 0x49b40821u, 22) \
    MD5_ST(MD5_G, a, b, c, d, w1, 0xf61e2562u, 5) \
    MD5_ST(MD5_G, d, a, b, c, 0u, 0xc040b340u, 9) \
    MD5_ST(MD5_G, c, d, a, b, 0u, 0x265e5a51u, 14) \
    MD5_ST(MD5_G, b, c, d, a, w0, 0xe9b6c7aau, 20) \
    MD5_ST(MD5_G, a, b, c, d, 0u, 0xd62f105du, 5) \
    MD5_ST(MD5_G, d, a, b, c, 0u, 0x02441453u, 9) \
    MD5_ST(MD5_G, c, d, a, b, 0u, 0xd8a1e681u, 14) \
    MD5_ST(MD5_G, b, c, d, a, 0u, 0xe7d3fbc8u, 20) \
    MD5_ST(MD5_G, a, b, c, d, 0u, 0x21e1cde6u, 5) \
    MD5_ST(MD5_G, d, a, b, c, 64u, 0xc33707d6u, 9) \
    MD5_ST(MD5_G, c, d, a, b, 0u, 0xf4d50d87u, 14) \
    MD5_ST(MD5_G, b, c, d, a, 0u, 0x455a14edu, 20) \
    MD5_ST(MD5_G, a, b, c, d, 0u, 0xa9e3e905u, 5) \
    MD5_ST(MD5_G, d, a, b, c, 0x80u, 0xfcefa3f8u, 9) \
    MD5_ST(MD5_G, c, d, a, b, 0u, 0x676f02d9u, 14) \
    MD5_ST(MD5_G, b, c, d, a, 0u, 0x8d2a4c8au, 20) \
    MD5_ST(MD5_H, a, b, c, d, 0u, 0xfffa3942u, 4) \
    MD5_ST(MD5_H, d, a, b, c, 0u, 0x8771f681u, 11) \
    MD5_ST(MD5_H, c, d, a, b, 0u, 0x6d9d6122u, 16) \
    MD5_ST(MD5_H, b, c, d, a, 64u, 0xfde5380cu, 23) \
    MD5_ST(MD5_H, a, b, c, d, w1, 0xa4beea44u, 4) \
    MD5_ST(MD5_H, d, a, b, c, 0u, 0x4bdecfa9u, 11) \
    MD5_ST(MD5_H, c, d, a, b, 0u, 0xf6bb4b60u, 16) \
    MD5_ST(MD5_H, b, c, d, a, 0u, 0xbebfbc70u, 23) \
    MD5_ST(MD5_H, a, b, c, d, 0u, 0x289b7ec6u, 4) \
    MD5_ST(MD5_H, d, a, b, c, w0, 0xeaa127fau, 11) \
    MD5_ST(MD5_H, c, d, a, b, 0u, 0xd4ef3085u, 16) \
    MD5_ST(MD5_H, b, c, d, a, 0u, 0x04881d05u, 23) \
    MD5_ST(MD5_H, a, b, c, d, 0u, 0xd9d4d039u, 4) \
    MD5_ST(MD5_H, d, a, b, c, 0u, 0xe6db99e5u, 11) \
    MD5_ST(MD5_H, c, d, a, b, 0u, 0x1fa27cf8u, 16) \
    MD5_ST(MD5_H, b, c, d, a, 0x80u, 0xc4ac5665u, 23) \
    MD5_ST(MD5_I, a, b, c, d, w0, 0xf4292244u, 6) \
    MD5_ST(MD5_I, d, a, b, c, 0u, 0x432aff97u, 10) \
    MD5_ST(MD5_I, c, d, a, b, 64u, 0xab9423a7u, 15) \
    MD5_ST(MD5_I, b, c, d, a, 0u, 0xfc93a039u, 21) \
    MD5_ST(MD5_I, a, b, c, d, 0u, 0x655b59c3u, 6) \
    MD5_ST(MD5_I, d, a, b, c, 0u, 0x8f0ccc92u, 10) \
    MD5_ST(MD5_I, c, d, a, b, 0u, 0xffeff47du, 15) \
    MD5_ST(MD5_I, b, c, d, a, w1, 0x85845dd1u, 21) \
    MD5_ST(MD5_I, a, b, c, d, 0u, 0x6fa87e4fu, 6) \
    MD5_ST(MD5_I, d, a, b, c, 0u, 0xfe2ce6e0u, 10) \
    MD5_ST(MD5_I, c, d, a, b, 0u, 0xa3014314u, 15) \
    MD5_ST(MD5_I, b, c, d, a, 0u, 0x4e0811a1u, 21) \
    MD5_ST(MD5_I, a, b, c, d, 0u, 0xf7537e82u, 6) \
    MD5_ST(MD5_I, d, a, b, c, 0u, 0xbd3af235u, 10) \
    MD5_ST(MD5_I, c, d, a, b, 0x80u, 0x2ad7d2bbu, 15) \
    MD5_ST(MD5_I, b, c, d, a, 0u, 0xeb86d391u, 21) \
    A = a + 0x67452301u; \
    B = b + 0xefcdab89u; \
    C = c + 0x98badcfeu; \
    D = d + 0x10325476u; }
/* clang-format on */
