#include "host/steps.h"

#include "parameters.h"

namespace {

using Word = std::uint32_t;

Word half_of(int dropped) { return Word{1} << (dropped - 1); }

// Half of a sum of rests, rounded down: they are subtracted from the body.
Word half(std::int64_t rests) { return static_cast<Word>(rests >> 1); }

// The rest that rounding to the high bits leaves of a word, in [-half, half).
std::int64_t rest_of(Word word, int dropped) {
  const Word raised = word + half_of(dropped);
  const Word low = raised & (2 * half_of(dropped) - 1);
  return static_cast<std::int64_t>(low) - half_of(dropped);
}

}  // namespace

Words modulus_switch(const Words& sample) {
  constexpr int DROPPED = 32 - LOG_2N;
  Words out;
  std::int64_t rests = 0;
  for (std::size_t i = 0; i < LWE_DIMENSION; i++) {
    out.push_back((sample[i] + half_of(DROPPED)) >> DROPPED);
    rests += rest_of(sample[i], DROPPED);
  }
  out.push_back((sample[LWE_DIMENSION] - half(rests)) >> DROPPED);
  return out;
}

Words accumulator(const Words& test, Word exponent) {
  Words out(RANK * N, 0);
  for (std::size_t i = 0; i < N; i++) {
    const std::size_t place = (i + exponent) % (2 * N);
    out.push_back(place < N ? test[place] : -test[place - N]);
  }
  return out;
}

Words extract(const Words& accumulator) {
  Words out;
  for (std::size_t component = 0; component < RANK; component++) {
    const Word* poly = &accumulator[component * N];
    out.push_back(poly[0]);
    for (std::size_t i = N - 1; i > 0; i--) out.push_back(-poly[i]);
  }
  out.push_back(accumulator[RANK * N]);
  return out;
}

Words key_switch(const Words& sample, const Words& key) {
  constexpr int DROPPED = 32 - SWITCH_BASE_LOG * SWITCH_LEVELS;
  constexpr Word BASE = Word{1} << SWITCH_BASE_LOG;
  // Half of the base at every level, and half of what is dropped: with it, digits come out plus BASE / 2.
  Word offset = half_of(DROPPED);
  for (int level = 1; level <= SWITCH_LEVELS; level++) {
    offset += BASE / 2 << (32 - level * SWITCH_BASE_LOG);
  }
  Words out(LWE_DIMENSION + 1, 0);
  std::int64_t rests = 0;
  const Word* row = key.data();
  for (std::size_t i = 0; i < RANK * N; i++) {
    rests += rest_of(sample[i], DROPPED);
    for (int level = 1; level <= SWITCH_LEVELS; level++) {
      const Word raised = (sample[i] + offset) >> (32 - level * SWITCH_BASE_LOG);
      const Word digit = (raised & (BASE - 1)) - BASE / 2;
      for (Word& word : out) word -= digit * *row++;
    }
  }
  out[LWE_DIMENSION] += sample[RANK * N] - half(rests);
  return out;
}
