// Streams as queues, and the tasks that read and write them. See adf.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

using int32 = std::int32_t;
using uint32 = std::uint32_t;

namespace emulated {

// A kernel, or a channel with its file.
struct Task;

constexpr int SHIM = -1;  // The row of shim tiles.

// Lets other tasks run until `resume` of this one.
void wait(Task* task);
void resume(Task* task);

// Thrown in a task that waits for a word when all others have ended.
struct End {};

// The words between a writer and one of its readers.
class Queue {
 public:
  int room = 16;

  Queue(Task* writer, Task* reader) : writer(writer), reader(reader) {}

  int32 read() {
    if (count == 0) {
      reader_waits = true;
      wait(reader);
      if (count == 0) throw End();
    }
    const int32 word = words[first];
    first = first + 1 == room ? 0 : first + 1;
    count--;
    if (writer_waits) {
      writer_waits = false;
      resume(writer);
    }
    return word;
  }

  void write(int32 word) {
    if (count == room) {
      writer_waits = true;
      wait(writer);
    }
    const int end = first + count;
    words[end < room ? end : end - room] = word;
    count++;
    if (reader_waits) {
      reader_waits = false;
      resume(reader);
    }
  }

  void allocate() { words.resize(room); }
  bool empty() const { return count == 0; }

 private:
  Task *writer, *reader;
  bool reader_waits = false, writer_waits = false;
  std::vector<int32> words;
  int first = 0, count = 0;
};

// An output with all its readers. It counts and hashes its words: FNV-1a by words.
struct Output {
  std::vector<std::unique_ptr<Queue>> readers;
  std::uint64_t words = 0, hash = 0xcbf29ce484222325;

  void write(int32 word) {
    words++;
    hash = (hash ^ static_cast<uint32>(word)) * 0x100000001b3;
    for (auto& reader : readers) reader->write(word);
  }
};

// The object of a kernel class, and one run of its function.
struct Object {
  virtual ~Object() = default;
  virtual void run() = 0;
  std::vector<Queue*> inputs;
  std::vector<std::unique_ptr<Output>> outputs;
};

Task* of_object(std::unique_ptr<Object> object);
// A channel into the array, with the words of a file, one in a line.
Task* of_file(const char* name, const char* file);
// A channel out of the array. It takes all words that come.
Task* to_file(const char* name, const char* file);

// Connects an output with an input. An output may have several readers, and an input has one stream.
Queue* join(Task* from, int output, Task* to, int input);
void place(Task* task, int column, int row);

// Runs every kernel `count` times.
void run(int count);
// Writes the files of the channels, and out/streams.txt: a line for each output of a kernel with
// column, row, output, number of words, and their hash.
void write_files();

}  // namespace emulated
