#include "kernels/rotation.h"

#include "kernels/words.h"

int32 Rotation::rotated(const int32* p, int i) const {
  const int place = (i + 2 * N - exponent) % (2 * N);
  const int32 turned = place < N ? p[place] : negate(p[place - N]);
  return subtract(turned, p[i]);
}

void Rotation::run(input_stream<int32>* accumulators, input_stream<int32>* exponents,
                   output_stream<int32>* first
#if COMPONENTS_PER_STREAM == 2
                   ,
                   output_stream<int32>* second
#endif
) {
  for (int i = 0; i < GROUP; i++) accumulator[i] = readincr(accumulators);
  exponent = readincr(exponents) % (2 * N);
  for (int i = 0; i < N; i++) {
    writeincr(first, rotated(accumulator, i));
#if COMPONENTS_PER_STREAM == 2
    writeincr(second, rotated(accumulator + N, i));
#endif
  }
}
