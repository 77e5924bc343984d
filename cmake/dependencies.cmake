# What is taken from others, by the part that needs it. Every entry has its reason in scripts/packages.txt.

find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
find_package(Threads REQUIRED)

# --- jit: the assembler, the disassembler, LLVM
find_package(xbyak REQUIRED)
find_package(zydis REQUIRED)
add_library(pooljit_deps_jit INTERFACE)
target_link_libraries(pooljit_deps_jit INTERFACE xbyak::xbyak Zydis::Zydis)
if(POOLJIT_LLVM)
  find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
  target_include_directories(pooljit_deps_jit SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
  target_link_libraries(pooljit_deps_jit INTERFACE LLVM)
  target_compile_definitions(pooljit_deps_jit INTERFACE POOLJIT_LLVM)
endif()

# --- runtime: the default thread pool (its package has no CMake files)
find_path(PTHREADPOOL_INCLUDE_DIR pthreadpool.h REQUIRED)
find_library(PTHREADPOOL_LIBRARY pthreadpool REQUIRED)
add_library(pooljit_deps_runtime INTERFACE)
target_include_directories(pooljit_deps_runtime SYSTEM INTERFACE ${PTHREADPOOL_INCLUDE_DIR})
target_link_libraries(pooljit_deps_runtime INTERFACE ${PTHREADPOOL_LIBRARY} Threads::Threads)

# --- tools: the command line, npy files, JSON reports
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(xtensor REQUIRED)
add_library(pooljit_deps_tools INTERFACE)
target_link_libraries(pooljit_deps_tools INTERFACE CLI11::CLI11 nlohmann_json::nlohmann_json xtensor)
