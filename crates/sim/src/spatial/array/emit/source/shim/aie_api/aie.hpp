// The meaning of the vector intrinsics that the kernels use, for an ordinary compiler.
//
// Lanes of an accumulator have 80 bits on an AI engine and 128 here. A sum of N products of words
// needs 62 bits and those of N, so both have the same low words.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

// The accumulator of products of words.
struct acc80 {};

namespace aie {

template <class T, unsigned LANES>
class vector {
 public:
  T operator[](unsigned lane) const { return lanes[lane]; }
  void set(T value, unsigned lane) { lanes[lane] = value; }

  // Moves every lane up by one, and puts `value` into lane 0.
  void push(T value) {
    for (unsigned lane = LANES - 1; lane > 0; lane--) lanes[lane] = lanes[lane - 1];
    lanes[0] = value;
  }

 private:
  std::array<T, LANES> lanes{};
};

template <class Tag, unsigned LANES>
class accum {
 public:
  __extension__ typedef __int128 lane_type;

  // The low word of each lane without its low `shift` bits. It wraps: the saturation mode is none.
  template <class T>
  vector<T, LANES> to_vector(int shift) const {
    vector<T, LANES> out;
    for (unsigned lane = 0; lane < LANES; lane++) out.set(static_cast<T>(lanes[lane] >> shift), lane);
    return out;
  }

  std::array<lane_type, LANES> lanes{};
};

template <class Tag, unsigned LANES>
accum<Tag, LANES> zeros() {
  return {};
}

template <class T, unsigned LANES>
vector<T, LANES> broadcast(T value) {
  vector<T, LANES> out;
  for (unsigned lane = 0; lane < LANES; lane++) out.set(value, lane);
  return out;
}

// Adds the product of each pair of lanes.
template <class Tag, unsigned LANES>
accum<Tag, LANES> mac(accum<Tag, LANES> sum, const vector<std::int32_t, LANES>& a,
                      const vector<std::int32_t, LANES>& b) {
  for (unsigned lane = 0; lane < LANES; lane++) {
    sum.lanes[lane] += static_cast<std::int64_t>(a[lane]) * b[lane];
  }
  return sum;
}

// Vectors are loaded and stored at multiples of their size.
template <unsigned LANES, class T>
void expect_aligned(const T* at) {
  if (reinterpret_cast<std::uintptr_t>(at) % (LANES * sizeof(T)) == 0) return;
  std::fprintf(stderr, "a vector at %p, expected a multiple of %zu bytes\n",
               static_cast<const void*>(at), LANES * sizeof(T));
  std::abort();
}

template <unsigned LANES, class T>
vector<T, LANES> load_v(const T* from) {
  expect_aligned<LANES>(from);
  vector<T, LANES> out;
  for (unsigned lane = 0; lane < LANES; lane++) out.set(from[lane], lane);
  return out;
}

template <class T, unsigned LANES>
void store_v(T* to, const vector<T, LANES>& words) {
  expect_aligned<LANES>(to);
  for (unsigned lane = 0; lane < LANES; lane++) to[lane] = words[lane];
}

}  // namespace aie
