/* */
#pragma once
namespace heddle {
inline void sparse_register(Adapters &a) {}
}
