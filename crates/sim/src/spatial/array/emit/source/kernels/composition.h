// Adds the words of two streams.
#pragma once

#include <adf.h>

class Composition {
 public:
  explicit Composition(uint32 words) : words(words) {}

  void run(input_stream<int32>* one, input_stream<int32>* other, output_stream<int32>* sums);

  static void registerKernelClass() { REGISTER_FUNCTION(Composition::run); }

 private:
  const uint32 words;
};
