// Objects of kernel classes, with a stream for each parameter of their function.
#pragma once

#include <tuple>
#include <type_traits>

#include "array.h"

namespace emulated {

// An object whose function takes these streams.
template <class Class, class... Pointers>
struct ObjectOf : Object {
  using Function = void (Class::*)(Pointers...);

  std::unique_ptr<Class> object;
  Function function;

  ObjectOf(std::unique_ptr<Class> object, Function function)
      : object(std::move(object)), function(function) {
    (count(static_cast<Pointers>(nullptr)), ...);
  }

  void run() override {
    std::tuple<std::remove_pointer_t<Pointers>...> streams;
    std::size_t input = 0, output = 0;
    const auto connect = [&](auto& stream) {
      if constexpr (std::is_same_v<decltype(stream), input_stream<int32>&>) {
        stream.queue = inputs[input++];
      } else {
        stream.output = outputs[output++].get();
      }
    };
    std::apply([&](auto&... stream) { (connect(stream), ...); }, streams);
    std::apply([&](auto&... stream) { (object.get()->*function)(&stream...); }, streams);
  }

 private:
  void count(const input_stream<int32>*) { inputs.push_back(nullptr); }
  void count(const output_stream<int32>*) { outputs.push_back(std::make_unique<Output>()); }
};

// The object that is created, before its class has registered a function, and after.
inline void* unregistered = nullptr;
inline std::unique_ptr<Object> registered_object;

template <class Class, class... Pointers>
void registered(void (Class::*function)(Pointers...)) {
  std::unique_ptr<Class> object(static_cast<Class*>(unregistered));
  registered_object = std::make_unique<ObjectOf<Class, Pointers...>>(std::move(object), function);
}

template <class Class, class... Arguments>
Task* of_object(Arguments... arguments) {
  unregistered = new Class(arguments...);
  Class::registerKernelClass();
  return of_object(std::move(registered_object));
}

}  // namespace emulated
