// The steps of a bootstrapping that the processor does beside the array.
#pragma once

#include <cstdint>
#include <vector>

using Words = std::vector<std::uint32_t>;

// Rounds a sample to exponents in [0, 2N): those of the mask, then that of the body.
Words modulus_switch(const Words& sample);

// The first accumulator: mask 0, and the test polynomial times X^-exponent.
Words accumulator(const Words& test, std::uint32_t exponent);

// The sample of the constant coefficient of an accumulator.
Words extract(const Words& accumulator);

// The sample of dimension `LWE_DIMENSION` of one of dimension `RANK * N`. The key has a sample for
// each word of the mask and each digit.
Words key_switch(const Words& sample, const Words& key);
