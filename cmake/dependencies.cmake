# What is taken from others, by the part that needs it. Every entry has its reason in scripts/packages.txt.

find_package(fmt REQUIRED)
find_package(Boost REQUIRED)  # headers only
find_package(tl-expected REQUIRED)
find_package(Threads REQUIRED)

# --- jit: the assembler, the disassembler; LLVM, which only libpooljit-llvm.so is linked with
find_package(xbyak REQUIRED)
find_package(zydis REQUIRED)
add_library(pooljit_deps_jit INTERFACE)
target_link_libraries(pooljit_deps_jit INTERFACE xbyak::xbyak Zydis::Zydis ${CMAKE_DL_LIBS})
if(POOLJIT_LLVM)
  # Debian keeps each version in a folder of its own; the newest of those that the back end
  # is written for wins.
  set(POOLJIT_LLVM_VERSION "" CACHE STRING "LLVM's major version; empty: the newest of 15 to 19")
  foreach(version 19.1 18.1 17.0 16.0 15.0)
    string(REGEX MATCH "^[0-9]+" major ${version})
    if(POOLJIT_LLVM_VERSION AND NOT POOLJIT_LLVM_VERSION EQUAL major)
      continue()
    endif()
    find_package(LLVM ${version} QUIET CONFIG HINTS /usr/lib/llvm-${major}/lib/cmake/llvm)
    if(LLVM_FOUND)
      break()
    endif()
  endforeach()
  if(NOT LLVM_FOUND)
    message(FATAL_ERROR "LLVM ${POOLJIT_LLVM_VERSION} (of 15 to 19) is not there (Debian: llvm-19-dev); -DPOOLJIT_LLVM=OFF builds without it")
  endif()
  message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")
  add_library(pooljit_deps_llvm INTERFACE)
  target_include_directories(pooljit_deps_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
  target_link_libraries(pooljit_deps_llvm INTERFACE LLVM)  # the shared libLLVM
  target_compile_definitions(pooljit_deps_jit INTERFACE POOLJIT_WITH_LLVM=1)
endif()

# --- runtime: threads
add_library(pooljit_deps_runtime INTERFACE)
target_link_libraries(pooljit_deps_runtime INTERFACE Threads::Threads)

# --- tools: the command line, JSON reports
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
add_library(pooljit_deps_tools INTERFACE)
target_link_libraries(pooljit_deps_tools INTERFACE CLI11::CLI11 nlohmann_json::nlohmann_json)
if(POOLJIT_ONNX)
  find_package(Protobuf QUIET)
  find_package(ONNX QUIET CONFIG)
  if(ONNX_FOUND AND Protobuf_FOUND)
    target_link_libraries(pooljit_deps_tools INTERFACE onnx)
    target_compile_definitions(pooljit_deps_tools INTERFACE POOLJIT_WITH_ONNX=1)
  else()
    message(STATUS "No ONNX (Debian: libonnx-dev, libprotobuf-dev): the command has no onnx and onnx-test")
    set(POOLJIT_ONNX OFF)
  endif()
endif()

# --- bindings/python: of Debian's Python, which has Debian's packages, unless another is asked for
if(POOLJIT_PYTHON)
  if(NOT Python_EXECUTABLE AND EXISTS /usr/bin/python3)
    set(Python_EXECUTABLE /usr/bin/python3)
  endif()
  find_package(Python QUIET COMPONENTS Interpreter Development.Module)
  find_package(pybind11 QUIET CONFIG)
  find_path(DLPACK_INCLUDE_DIR dlpack/dlpack.h)
  if(NOT Python_FOUND OR NOT pybind11_FOUND OR NOT DLPACK_INCLUDE_DIR)
    message(STATUS "No Python package (Debian: python3-dev, pybind11-dev, libdlpack-dev)")
    set(POOLJIT_PYTHON OFF)
  endif()
endif()
