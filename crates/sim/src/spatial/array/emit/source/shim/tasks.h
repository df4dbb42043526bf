// The two kinds of tasks: objects of kernel classes, and channels with their files.
#pragma once

#include <fstream>

#include "array.h"

namespace emulated {

// Gives each parameter of a kernel's function the next stream of its direction.
class Streams {
 public:
  explicit Streams(Task* task) : task(task) {}

  void set(input_stream<int32>& stream) { stream.queue = task->inputs[input++]; }
  void set(output_stream<int32>& stream) { stream.output = task->outputs[output++].get(); }

 private:
  Task* task;
  int input = 0, output = 0;
};

inline void count_port(Task* task, const input_stream<int32>*) { task->inputs.push_back(nullptr); }

inline void count_port(Task* task, const output_stream<int32>*) {
  task->outputs.push_back(std::make_unique<Output>());
}

template <class Class, class... Arguments>
Task* Task::of_object(Arguments... arguments) {
  Task* task = array().add();
  task->is_kernel = true;
  task->name = "a kernel";
  task->object = std::make_shared<Class>(arguments...);
  array().registering = task;
  Class::registerKernelClass();
  return task;
}

template <class Class, class... Pointers>
void Task::registered(void (Class::*run)(Pointers...)) {
  Task* task = array().registering;
  (count_port(task, static_cast<Pointers>(nullptr)), ...);
  task->turn = [task, run] {
    std::tuple<std::remove_pointer_t<Pointers>...> streams;
    Streams next(task);
    std::apply([&](auto&... stream) { (next.set(stream), ...); }, streams);
    auto* object = static_cast<Class*>(task->object.get());
    std::apply([&](auto&... stream) { (object->*run)(&stream...); }, streams);
  };
}

// A channel into the array: the words of a file, one in a line.
Task* Task::of_file(const char* name, const char* file) {
  Task* task = array().add();
  task->name = name;
  task->outputs.push_back(std::make_unique<Output>());
  task->turn = [task, file = std::string(file)] {
    std::ifstream from(file);
    if (!from) fail(file + " cannot be read");
    int32 word;
    while (from >> word) task->outputs[0]->write(word);
    if (!from.eof()) fail(file + " has something else than words");
  };
  return task;
}

// A channel out of the array. It takes all words that come, and writes them at the end.
Task* Task::to_file(const char* name, const char* file) {
  Task* task = array().add();
  task->name = name;
  task->inputs.push_back(nullptr);
  auto words = std::make_shared<std::vector<int32>>();
  task->turn = [task, words] {
    for (;;) words->push_back(task->inputs[0]->read());
  };
  task->at_end = [words, file = std::string(file)] {
    std::ofstream to(file);
    for (int32 word : *words) to << word << '\n';
    if (!to.flush()) fail(file + " cannot be written");
  };
  return task;
}

// Writes the files of the channels, and a line for each output of a tile: column, row, output, number
// of words, and their hash.
inline void write_files() {
  std::FILE* to = std::fopen("out/streams.txt", "w");
  if (!to) fail("out/streams.txt cannot be written");
  for (auto& task : array().tasks) {
    task->write_file();
    for (std::size_t i = 0; task->is_kernel && i < task->outputs.size(); i++) {
      const Output& output = *task->outputs[i];
      std::fprintf(to, "%d %d %zu %llu %016llx\n", task->column, task->row, i,
                   static_cast<unsigned long long>(output.words),
                   static_cast<unsigned long long>(output.hash));
    }
  }
  if (std::fclose(to)) fail("out/streams.txt cannot be written");
}

}  // namespace emulated
