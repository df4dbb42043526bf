#include "kernels/merge.h"

void Merge::run(input_stream<int32>* one, input_stream<int32>* other,
                output_stream<int32>* both) {
  for (uint32 i = 0; i < first; i++) writeincr(both, readincr(one));
  for (uint32 i = 0; i < second; i++) writeincr(both, readincr(other));
}
