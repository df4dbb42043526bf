// Runs the blind rotation once, on the words of the files in data/ and out/.
#include "graph.h"

BlindRotation rotation;

int main() {
  rotation.init();
  rotation.run(ITERATIONS);
  rotation.end();
  return 0;
}
