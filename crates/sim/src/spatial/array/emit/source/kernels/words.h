// Words of 32 bits that wrap around. The types of streams are signed, and overflow of signed words is
// undefined in C++.
#pragma once

#include <adf.h>

inline int32 add(int32 a, int32 b) {
  return static_cast<int32>(static_cast<uint32>(a) + static_cast<uint32>(b));
}

inline int32 subtract(int32 a, int32 b) {
  return static_cast<int32>(static_cast<uint32>(a) - static_cast<uint32>(b));
}

inline int32 negate(int32 a) { return subtract(0, a); }
