// Keeps a group of the accumulator, and sends X^a ACC - ACC, one component to each output.
#pragma once

#include <adf.h>

#include "parameters.h"

class Rotation {
 public:
#if COMPONENTS_PER_STREAM == 2
  void run(input_stream<int32>* accumulators, input_stream<int32>* exponents,
           output_stream<int32>* first, output_stream<int32>* second);
#else
  void run(input_stream<int32>* accumulators, input_stream<int32>* exponents,
           output_stream<int32>* first);
#endif

  static void registerKernelClass() { REGISTER_FUNCTION(Rotation::run); }

 private:
  // Coefficient `i` of `X^a p - p`.
  int32 rotated(const int32* p, int i) const;

  alignas(32) int32 accumulator[GROUP];
  int exponent = 0;
};
