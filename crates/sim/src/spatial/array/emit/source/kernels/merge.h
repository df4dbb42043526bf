// Passes on the products of two components, one after the other.
#pragma once

#include <adf.h>

class Merge {
 public:
  Merge(uint32 first, uint32 second) : first(first), second(second) {}

  void run(input_stream<int32>* one, input_stream<int32>* other, output_stream<int32>* both);

  static void registerKernelClass() { REGISTER_FUNCTION(Merge::run); }

 private:
  const uint32 first;
  const uint32 second;
};
