// The digits of one level, by an addition, a shift, a mask and a subtraction for each word.
#pragma once

#include <adf.h>

#include "parameters.h"

class Decomposition {
 public:
  // `offset` is half of the base at every level, and half of the part that is rounded away.
  Decomposition(uint32 offset, uint32 shift) : offset(offset), shift(shift) {}

  void run(input_stream<int32>* words, output_stream<int32>* digits);

  static void registerKernelClass() { REGISTER_FUNCTION(Decomposition::run); }

 private:
  const uint32 offset;
  const uint32 shift;
};
