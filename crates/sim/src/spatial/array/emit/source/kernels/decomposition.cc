#include "kernels/decomposition.h"

void Decomposition::run(input_stream<int32>* words, output_stream<int32>* digits) {
  constexpr uint32 base = uint32{1} << BASE_LOG;
  for (int i = 0; i < N; i++) {
    const uint32 raised = ((static_cast<uint32>(readincr(words)) + offset) >> shift) & (base - 1);
    writeincr(digits, static_cast<int32>(raised - base / 2));
  }
}
