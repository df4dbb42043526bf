#include "kernels/split.h"

void Split::run(input_stream<int32>* words, output_stream<int32>* own,
                output_stream<int32>* others) {
  for (uint32 i = 0; i < first; i++) writeincr(own, readincr(words));
  for (uint32 i = 0; i < rest; i++) writeincr(others, readincr(words));
}
