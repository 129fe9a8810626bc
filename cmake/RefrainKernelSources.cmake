# Writes the headers that generated kernels include as a source of the library, so that it needs no files when it runs.
# Called with -DOUT=... -DROOT=... -DHEADERS=a.hpp,b.hpp.

string(REPLACE "," ";" headers "${HEADERS}")
set(text "#include \"jit/cuda_source.hpp\"\n\nnamespace refrain::jit {\n\n")
string(APPEND text "std::span<const KernelSource> kernel_sources() {\n  static constexpr KernelSource all[] = {\n")
foreach(header IN LISTS headers)
  file(READ "${ROOT}/${header}" content)
  string(APPEND text "{\"${header}\", R\"refrain(${content})refrain\"},\n")
endforeach()
string(APPEND text "  };\n  return all;\n}\n\n}  // namespace refrain::jit\n")
file(WRITE "${OUT}" "${text}")
