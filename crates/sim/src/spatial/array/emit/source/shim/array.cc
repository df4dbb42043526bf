#include "array.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <semaphore>
#include <string>
#include <thread>

namespace emulated {

struct Task {
  std::string name;
  std::unique_ptr<Object> object;
  bool is_kernel = false, done = false;
  int column = -1, row = SHIM;
  std::binary_semaphore go{0};
  std::thread thread;
};

namespace {

// All tasks of the program, and those that can run.
struct Array {
  std::vector<std::unique_ptr<Task>> tasks;
  std::deque<Task*> ready;
  std::binary_semaphore idle{0};
};

Array& array() {
  static Array array;
  return array;
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  std::_Exit(1);
}

// Lets the next task run, or the caller of `run` if there is none.
void pass_on() {
  auto& ready = array().ready;
  if (ready.empty()) {
    array().idle.release();
    return;
  }
  Task* next = ready.front();
  ready.pop_front();
  next->go.release();
}

struct FromFile : Object {
  std::string file;

  explicit FromFile(std::string file) : file(std::move(file)) {
    outputs.push_back(std::make_unique<Output>());
  }

  void run() override {
    std::ifstream from(file);
    if (!from) fail(file + " cannot be read");
    for (int32 word; from >> word;) outputs[0]->write(word);
    if (!from.eof()) fail(file + " has something else than words");
  }
};

struct ToFile : Object {
  std::string file;
  std::vector<int32> words;

  explicit ToFile(std::string file) : file(std::move(file)) { inputs.push_back(nullptr); }

  void run() override {
    for (;;) words.push_back(inputs[0]->read());
  }

  void write() const {
    std::ofstream to(file);
    for (int32 word : words) to << word << '\n';
    if (!to.flush()) fail(file + " cannot be written");
  }
};

Task* add(std::string name, std::unique_ptr<Object> object) {
  auto& tasks = array().tasks;
  tasks.push_back(std::make_unique<Task>());
  tasks.back()->name = std::move(name);
  tasks.back()->object = std::move(object);
  return tasks.back().get();
}

void start(Task* task, int count) {
  if (task->column < 0) fail(task->name + " has no place");
  for (Queue* input : task->object->inputs) {
    if (!input) fail("an input of " + task->name + " is not connected");
  }
  for (auto& output : task->object->outputs) {
    if (output->readers.empty()) fail("an output of " + task->name + " is not connected");
    for (auto& reader : output->readers) reader->allocate();
  }
  task->thread = std::thread([task, count] {
    task->go.acquire();
    try {
      for (int i = 0; i < (task->is_kernel ? count : 1); i++) task->object->run();
      task->done = true;
    } catch (End) {
    }
    pass_on();
  });
  resume(task);
}

}  // namespace

void wait(Task* task) {
  pass_on();
  task->go.acquire();
}

void resume(Task* task) { array().ready.push_back(task); }

Task* of_object(std::unique_ptr<Object> object) {
  Task* task = add("a kernel", std::move(object));
  task->is_kernel = true;
  return task;
}

Task* of_file(const char* name, const char* file) {
  return add(name, std::make_unique<FromFile>(file));
}

Task* to_file(const char* name, const char* file) {
  return add(name, std::make_unique<ToFile>(file));
}

Queue* join(Task* from, int output, Task* to, int input) {
  auto& outputs = from->object->outputs;
  auto& inputs = to->object->inputs;
  if (output >= static_cast<int>(outputs.size())) fail(from->name + " has no such output");
  if (input >= static_cast<int>(inputs.size())) fail(to->name + " has no such input");
  if (inputs[input]) fail("two streams for one input of " + to->name);
  auto& readers = outputs[output]->readers;
  readers.push_back(std::make_unique<Queue>(from, to));
  return inputs[input] = readers.back().get();
}

void place(Task* task, int column, int row) {
  const std::string at = "(" + std::to_string(column) + ", " + std::to_string(row) + ")";
  for (auto& other : array().tasks) {
    if (other->column == column && other->row == row) fail("two kernels or channels at " + at);
  }
  task->column = column;
  task->row = row;
  if (task->is_kernel) task->name = "the tile at " + at;
}

void run(int count) {
  for (auto& task : array().tasks) start(task.get(), count);
  pass_on();
  array().idle.acquire();
  for (auto& task : array().tasks) {
    const bool takes_all = task->object->outputs.empty();
    if (!task->done && !takes_all) fail(task->name + " waits forever");
    for (Queue* input : task->object->inputs) {
      if (!input->empty()) fail(task->name + " has words left over");
    }
  }
  for (auto& task : array().tasks) {
    if (!task->done) {
      task->go.release();
      array().idle.acquire();
    }
    task->thread.join();
  }
}

void write_files() {
  std::ofstream to("out/streams.txt");
  for (auto& task : array().tasks) {
    if (auto* channel = dynamic_cast<ToFile*>(task->object.get())) channel->write();
    for (std::size_t i = 0; task->is_kernel && i < task->object->outputs.size(); i++) {
      const Output& output = *task->object->outputs[i];
      char line[80];
      std::snprintf(line, sizeof line, "%d %d %zu %llu %016llx\n", task->column, task->row, i,
                    static_cast<unsigned long long>(output.words),
                    static_cast<unsigned long long>(output.hash));
      to << line;
    }
  }
  if (!to.flush()) fail("out/streams.txt cannot be written");
}

}  // namespace emulated
