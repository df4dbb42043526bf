#include "kernels/element.h"

#include <aie_api/aie.hpp>

#include "kernels/words.h"

namespace {
constexpr int LANES = 8;
constexpr int ACCUMULATORS = 4;
}  // namespace

void Block::receive(int i, int32 digit, int32 word) {
  digits[i] = digit;
  extended[i] = negate(word);
  extended[N + i] = word;
}

template <int V>
void Block::loop(int first) {
  const int32* start = extended + N + before + first;
  aie::vector<int32, LANES> operands[V];
  aie::accum<acc80, LANES> sums[V];
  for (int v = 0; v < V; v++) {
    operands[v] = aie::load_v<LANES>(start + v * LANES);
    sums[v] = aie::zeros<acc80, LANES>();
  }
  for (int t = 0; t < N; t++) {
    const aie::vector<int32, LANES> digit = aie::broadcast<int32, LANES>(digits[t]);
    for (int v = 0; v < V; v++) {
      sums[v] = aie::mac(sums[v], operands[v], digit);
      // The last push brings in words that no product reads.
      operands[v].push(start[v * LANES - 1 - t]);
    }
  }
  for (int v = 0; v < V; v++) {
    aie::store_v(results + first + v * LANES, sums[v].template to_vector<int32>(0));
  }
}

void Block::compute() {
  constexpr int STEP = LANES * ACCUMULATORS;
  constexpr int REST = BLOCK % STEP;
  for (int first = 0; first + STEP <= BLOCK; first += STEP) loop<ACCUMULATORS>(first);
  if constexpr (REST > 0) loop<REST / LANES>(BLOCK - REST);
}

void Block::send(input_stream<int32>* blocks_in, output_stream<int32>* blocks_out) {
  for (uint32 i = 0; i < before; i++) writeincr(blocks_out, readincr(blocks_in));
  for (int i = 0; i < BLOCK; i++) writeincr(blocks_out, results[i]);
}

void Element::run(input_stream<int32>* digits_in, input_stream<int32>* words_in,
                  output_stream<int32>* digits_out, output_stream<int32>* words_out) {
  for (int i = 0; i < N; i++) {
    const int32 digit = readincr(digits_in);
    const int32 word = readincr(words_in);
    receive(i, digit, word);
    writeincr(digits_out, digit);
    writeincr(words_out, word);
  }
  compute();
  send(digits_in, digits_out);
}

void LastElement::run(input_stream<int32>* digits_in, input_stream<int32>* words_in,
                      output_stream<int32>* blocks_out) {
  for (int i = 0; i < N; i++) {
    const int32 digit = readincr(digits_in);
    receive(i, digit, readincr(words_in));
  }
  compute();
  send(digits_in, blocks_out);
}
