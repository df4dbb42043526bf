#include "kernels/composition.h"

#include "kernels/words.h"

void Composition::run(input_stream<int32>* one, input_stream<int32>* other,
                      output_stream<int32>* sums) {
  for (uint32 i = 0; i < words; i++) {
    const int32 left = readincr(one);
    writeincr(sums, add(left, readincr(other)));
  }
}
