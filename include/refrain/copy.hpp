#pragma once

#include <refrain/array.hpp>
#include <refrain/dtype.hpp>
#include <refrain/source_location.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace refrain {

/// Memory of the caller's that a copy reads or writes when it runs, not when it is issued: made by `borrowed`.
struct Borrowed {
  void* target = nullptr;  ///< null: may only be read
  const void* source = nullptr;
  std::int64_t size = 0;  ///< elements
  DType dtype = DType::float32;
};

/// Lends host memory to a copy. It must stay where it is until the copy is done; in a capture, as long as the graph may
/// be replayed: each replay reads or writes what is there then. What else reads and writes it is the caller's to order:
/// synchronise with the stream first. On CUDA, eager copies with memory that is not page-locked are done at once: the
/// call waits for the elements, or takes the bytes.
template <class T>
Borrowed borrowed(std::span<T> memory) {
  return {memory.data(), memory.data(), static_cast<std::int64_t>(memory.size()), dtype_of<T>()};
}
template <class T>
Borrowed borrowed(std::span<const T> memory) {
  return {nullptr, memory.data(), static_cast<std::int64_t>(memory.size()), dtype_of<T>()};
}

/// The array on another device: a copy, or the array itself where it is there already. Between devices of one kind the
/// copy is ordered with the current streams of both. A copy from CUDA to the host does not wait, reading its values
/// does; in a capture each replay makes it anew. A copy of a host array to CUDA waits for its values and takes the
/// bytes at once; in a capture the graph owns them.
/// @throws Error(Errc::no_device), illegal_state when a host array has no values yet
Array to_device(const Array& array, Device device, SourceLocation where = SourceLocation::current());

/// Copies the elements, row-major, on the current stream of the array's device.
/// @throws Error(Errc::invalid_value) when size or dtype differ, or the memory may only be read
void copy_to(const Array& array, Borrowed target, SourceLocation where = SourceLocation::current());
/// Overwrites the elements, on the current stream of the array's device.
/// @throws Error(Errc::invalid_value) when size or dtype differ
void copy_from(Array& array, Borrowed source, SourceLocation where = SourceLocation::current());

/// Marks an array made in a capture as an output of its graph: it keeps a block of its own and its values, whoever
/// holds it when the graph is instantiated. Other arrays stay as they are. Returns the array.
const Array& keep(const Array& array, SourceLocation where = SourceLocation::current());

}  // namespace refrain
