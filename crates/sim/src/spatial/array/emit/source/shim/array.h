// Kernels as threads, and streams as queues. See adf.h.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

template <class T>
struct input_stream;
template <class T>
struct output_stream;

namespace emulated {

class Task;

constexpr int SHIM = -1;  // The row of shim tiles.

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  std::_Exit(1);
}

// Thrown in a task that waits for a word when all others have ended.
struct End {};

// The words between a writer and one of its readers.
class Queue {
 public:
  int room = 16;

  Queue(Task* writer, Task* reader) : writer(writer), reader(reader) {}
  inline int32 read();
  inline void write(int32 word);
  bool full() const { return count == room; }
  void allocate() { words.resize(room); }
  int left() const { return count; }

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

// A kernel, or a channel with its file.
class Task {
 public:
  std::string name, source;
  double ratio = 0;
  int column = -1, row = SHIM;
  std::vector<std::unique_ptr<Output>> outputs;
  std::vector<Queue*> inputs;
  bool is_kernel = false, done = false;

  template <class Class, class... Arguments>
  static Task* of_object(Arguments... arguments);
  template <class Class, class... Streams>
  static void registered(void (Class::*run)(Streams...));
  inline static Task* of_file(const char* name, const char* file);
  inline static Task* to_file(const char* name, const char* file);

  inline void place(int column, int row);
  // Lets the other tasks run until `resume`.
  inline void wait();
  inline void resume();
  inline void start(int count);
  void write_file() {
    if (at_end) at_end();
  }

 private:
  friend void run(int count);
  inline void pass_on();

  std::shared_ptr<void> object;
  std::function<void()> turn;    // What one run of the graph does.
  std::function<void()> at_end;  // What is done after all runs.
  std::binary_semaphore go{0};
  std::thread thread;
};

// All tasks of the program, and those that can run.
struct Array {
  std::vector<std::unique_ptr<Task>> tasks;
  std::deque<Task*> ready;
  std::binary_semaphore idle{0};
  Task* registering = nullptr;

  Task* add() {
    tasks.push_back(std::make_unique<Task>());
    return tasks.back().get();
  }
};

inline Array& array() {
  static Array array;
  return array;
}

inline void Task::wait() {
  pass_on();
  go.acquire();
}

inline void Task::resume() { array().ready.push_back(this); }

inline void Task::pass_on() {
  auto& ready = array().ready;
  if (ready.empty()) {
    array().idle.release();
    return;
  }
  Task* next = ready.front();
  ready.pop_front();
  next->go.release();
}

inline int32 Queue::read() {
  if (count == 0) {
    reader_waits = true;
    reader->wait();
    if (count == 0) throw End();
  }
  const int32 word = words[first];
  first = first + 1 == room ? 0 : first + 1;
  count--;
  if (writer_waits) {
    writer_waits = false;
    writer->resume();
  }
  return word;
}

inline void Queue::write(int32 word) {
  if (full()) {
    writer_waits = true;
    writer->wait();
  }
  const int end = first + count;
  words[end < room ? end : end - room] = word;
  count++;
  if (reader_waits) {
    reader_waits = false;
    reader->resume();
  }
}

// Connects an output with an input. An output may have several readers, and an input has one stream.
inline Queue* join(Task* from, int output, Task* to, int input) {
  if (output >= static_cast<int>(from->outputs.size())) fail(from->name + " has no such output");
  if (input >= static_cast<int>(to->inputs.size())) fail(to->name + " has no such input");
  if (to->inputs[input]) fail("two streams for one input of " + to->name);
  auto& readers = from->outputs[output]->readers;
  readers.push_back(std::make_unique<Queue>(from, to));
  return to->inputs[input] = readers.back().get();
}

inline void Task::place(int column, int row) {
  for (auto& other : array().tasks) {
    if (other.get() != this && other->column == column && other->row == row) {
      fail("two kernels or channels in column " + std::to_string(column));
    }
  }
  this->column = column;
  this->row = row;
  if (is_kernel) name = "the tile (" + std::to_string(column) + ", " + std::to_string(row) + ")";
}

inline void Task::start(int count) {
  for (auto* input : inputs) {
    if (!input) fail("an input of " + name + " is not connected");
  }
  if (column < 0) fail(name + " has no place");
  for (auto& output : outputs) {
    if (output->readers.empty()) fail("an output of " + name + " is not connected");
    for (auto& reader : output->readers) reader->allocate();
  }
  thread = std::thread([this, count] {
    go.acquire();
    try {
      for (int i = 0; i < (is_kernel ? count : 1); i++) turn();
      done = true;
    } catch (End) {
    }
    pass_on();
  });
  resume();
}

// Runs every kernel `count` times.
inline void run(int count) {
  auto& all = array();
  for (auto& task : all.tasks) task->start(count);
  Task* first = all.ready.front();
  all.ready.pop_front();
  first->go.release();
  all.idle.acquire();
  for (auto& task : all.tasks) {
    if (!task->done && !task->outputs.empty()) fail(task->name + " waits forever");
    for (auto* input : task->inputs) {
      if (task->is_kernel && input->left()) fail(task->name + " has words left over");
    }
  }
  for (auto& task : all.tasks) {
    // A channel out of the array waits for more words.
    if (!task->done) {
      task->go.release();
      all.idle.acquire();
    }
    task->thread.join();
  }
}

}  // namespace emulated
