// The meaning of the names of the ADF library that graph and kernels use, for an ordinary compiler.
//
// Streams are queues of bounded room. Every kernel is a thread, but only one of them runs at a time:
// until it lacks a word or room. Nothing depends on their order (a Kahn network).
#pragma once

#include "array.h"

template <class T>
struct input_stream {
  emulated::Queue* queue = nullptr;
};

template <class T>
struct output_stream {
  emulated::Output* output = nullptr;
};

inline int32 readincr(input_stream<int32>* from) { return from->queue->read(); }

inline void writeincr(output_stream<int32>* to, int32 word) { to->output->write(word); }

#include "object.h"

namespace adf {

struct ratio {};
struct stream {};
enum plio_type { plio_32_bits };

struct tile {
  int column, row;
  tile(int column, int row) : column(column), row(row) {}
};

struct shim {
  int column;
  explicit shim(int column) : column(column) {}
};

// One end of a connection: a port of a kernel, or a channel.
struct port {
  emulated::Task* task;
  int index;
};

struct ports {
  emulated::Task* task = nullptr;
  port operator[](int index) const { return {task, index}; }
};

struct kernel {
  emulated::Task* task = nullptr;
  ports in, out;

  kernel() = default;
  explicit kernel(emulated::Task* task) : task(task), in{task}, out{task} {}

  template <class Class, class... Arguments>
  static kernel create_object(Arguments... arguments) {
    return kernel(emulated::of_object<Class>(arguments...));
  }
};

struct PLIO {
  emulated::Task* task = nullptr;
};

struct input_plio : PLIO {
  ports out;
  static input_plio create(const char* name, plio_type, const char* file, double) {
    input_plio plio;
    plio.task = plio.out.task = emulated::of_file(name, file);
    return plio;
  }
};

struct output_plio : PLIO {
  ports in;
  static output_plio create(const char* name, plio_type, const char* file, double) {
    output_plio plio;
    plio.task = plio.in.task = emulated::to_file(name, file);
    return plio;
  }
};

template <class>
struct connect {
  emulated::Queue* queue;
  connect(port from, port to) : queue(emulated::join(from.task, from.index, to.task, to.index)) {}
};

template <class Kind>
int& fifo_depth(const connect<Kind>& of) {
  return of.queue->room;
}

// Which file has a kernel, and its share of a tile's time, matter to AMD's compiler alone.
struct ignored {
  void operator=(const char*) const {}
  void operator=(double) const {}
};

inline ignored source(const kernel&) { return {}; }

template <class>
ignored runtime(const kernel&) {
  return {};
}

// Takes the place of a kernel or a channel.
struct place {
  emulated::Task* task;
  void operator=(tile at) const { emulated::place(task, at.column, at.row); }
  void operator=(shim at) const { emulated::place(task, at.column, emulated::SHIM); }
};

template <class>
place location(const kernel& of) {
  return {of.task};
}

template <class>
place location(const PLIO& of) {
  return {of.task};
}

// Runs the kernels that were created. There is one graph in a program.
class graph {
 public:
  void init() {}
  void run(int count) { emulated::run(count); }
  void end() { emulated::write_files(); }
};

}  // namespace adf

#define REGISTER_FUNCTION(function) ::emulated::registered(&function)
