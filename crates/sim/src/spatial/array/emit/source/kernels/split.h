// Sends the first words of a row of keys to a multiplier, and passes the rest on.
#pragma once

#include <adf.h>

class Split {
 public:
  Split(uint32 first, uint32 rest) : first(first), rest(rest) {}

  void run(input_stream<int32>* words, output_stream<int32>* own, output_stream<int32>* others);

  static void registerKernelClass() { REGISTER_FUNCTION(Split::run); }

 private:
  const uint32 first;
  const uint32 rest;
};
