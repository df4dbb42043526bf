#include "kernels/accumulation.h"

#include "kernels/words.h"

void Accumulation::run(input_stream<int32>* products, input_stream<int32>* chain_in,
                       output_stream<int32>* accumulators, output_stream<int32>* chain_out) {
  const bool last = iteration + 1 == ITERATIONS;
  if (iteration == 0) {
    for (int i = 0; i < GROUP; i++) accumulator[i] = readincr(chain_in);
    for (uint32 i = 0; i < after; i++) writeincr(chain_out, readincr(chain_in));
    for (int i = 0; i < GROUP; i++) writeincr(accumulators, accumulator[i]);
  }
  for (int i = 0; i < GROUP; i++) {
    accumulator[i] = add(accumulator[i], readincr(products));
    if (!last) writeincr(accumulators, accumulator[i]);
  }
  if (last) {
    for (uint32 i = 0; i < before; i++) writeincr(chain_out, readincr(chain_in));
    for (int i = 0; i < GROUP; i++) writeincr(chain_out, accumulator[i]);
  }
  iteration = last ? 0 : iteration + 1;
}
