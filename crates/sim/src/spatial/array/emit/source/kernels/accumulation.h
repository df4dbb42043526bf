// Keeps a group of the accumulator, adds the products, and sends it to the rotation.
//
// The first run receives the accumulators of all groups on a chain and keeps its own, the last run
// sends them on the same chain.
#pragma once

#include <adf.h>

#include "parameters.h"

class Accumulation {
 public:
  // Words of the groups before and after this one on the chain.
  Accumulation(uint32 before, uint32 after) : before(before), after(after) {}

  void run(input_stream<int32>* products, input_stream<int32>* chain_in,
           output_stream<int32>* accumulators, output_stream<int32>* chain_out);

  static void registerKernelClass() { REGISTER_FUNCTION(Accumulation::run); }

 private:
  const uint32 before;
  const uint32 after;
  int iteration = 0;
  alignas(32) int32 accumulator[GROUP];
};
