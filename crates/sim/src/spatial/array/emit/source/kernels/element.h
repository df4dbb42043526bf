// An element of a multiplier: coefficients `before ..` of a product by definition.
//
// It receives both operands and passes them on, computes its block of the product, passes on the
// blocks of the elements before it, and sends its own. The last element of a chain passes no operand
// on.
#pragma once

#include <adf.h>

#include "parameters.h"

class Block {
 public:
  explicit Block(uint32 before) : before(before) {}

 protected:
  void receive(int i, int32 digit, int32 word);
  void compute();
  void send(input_stream<int32>* blocks_in, output_stream<int32>* blocks_out);

 private:
  // A loop over `V` vectors of results.
  template <int V>
  void loop(int first);

  const uint32 before;
  alignas(32) int32 digits[N];
  // `-b`, then `b`: `b_i` is at `N + i`, for `-N <= i < N`.
  alignas(32) int32 extended[2 * N];
  alignas(32) int32 results[BLOCK];
};

class Element : public Block {
 public:
  using Block::Block;

  // The streams of digits carry blocks of results after the digits.
  void run(input_stream<int32>* digits_in, input_stream<int32>* words_in,
           output_stream<int32>* digits_out, output_stream<int32>* words_out);

  static void registerKernelClass() { REGISTER_FUNCTION(Element::run); }
};

class LastElement : public Block {
 public:
  using Block::Block;

  void run(input_stream<int32>* digits_in, input_stream<int32>* words_in,
           output_stream<int32>* blocks_out);

  static void registerKernelClass() { REGISTER_FUNCTION(LastElement::run); }
};
