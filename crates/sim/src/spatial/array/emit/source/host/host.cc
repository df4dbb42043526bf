// What the processor does before and after the blind rotation on the array.
//
//   host before   sample, test polynomial -> exponents and first accumulator
//   host after    last accumulator -> sample: extraction and key switch
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "host/steps.h"
#include "parameters.h"

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::cerr << "error: " << what << '\n';
  std::exit(1);
}

void expect(const std::string& file, std::size_t found, std::size_t expected) {
  if (found == expected) return;
  fail(std::to_string(found) + " words in " + file + ", expected " + std::to_string(expected));
}

// The words of a text file, one in a line.
Words read(const std::string& file, std::size_t expected) {
  std::ifstream from(file);
  Words words;
  for (std::int32_t word; from >> word;) words.push_back(static_cast<std::uint32_t>(word));
  expect(file, words.size(), expected);
  return words;
}

// The words of a file of bytes, the low byte first.
Words read_bytes(const std::string& file, std::size_t expected) {
  std::ifstream from(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(from), {}};
  expect(file, bytes.size() / 4, expected);
  Words words(expected);
  for (std::size_t i = 0; i < bytes.size() / 4 * 4; i++) {
    words[i / 4] |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * (i % 4));
  }
  return words;
}

void write(const std::string& file, const Words& words) {
  std::ofstream to(file);
  for (std::uint32_t word : words) to << static_cast<std::int32_t>(word) << '\n';
  if (!to.flush()) fail(file + " cannot be written");
}

}  // namespace

int main(int count, char** arguments) {
  const std::string step = count == 2 ? arguments[1] : "";
  if (step == "before") {
    Words exponents = modulus_switch(read("data/sample.txt", LWE_DIMENSION + 1));
    write("out/in0.txt", accumulator(read("data/test.txt", N), exponents.back()));
    exponents.pop_back();
    write("out/exponents.txt", exponents);
  } else if (step == "after") {
    const Words sample = extract(read("out/out0.txt", (RANK + 1) * N));
    const std::size_t rows = RANK * N * SWITCH_LEVELS;
    const Words key = read_bytes("data/switch_key.bin", rows * (LWE_DIMENSION + 1));
    write("out/sample.txt", key_switch(sample, key));
  } else {
    fail("expected `host before` or `host after`");
  }
}
