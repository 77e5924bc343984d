# The headers of others that most of our files include, parsed once and not once for each file: half of a cold build.
# Not with ccache, which would have to be told to trust a precompiled header; there each file is compiled by itself,
# which also shows a forgotten #include.
set(precompile ON)
set(unity ON)
if("${CMAKE_CXX_COMPILER_LAUNCHER}" MATCHES "cache")
  set(precompile OFF)
  set(unity OFF)
elseif(POOLJIT_FUZZ)
  set(precompile OFF)
endif()
option(POOLJIT_PRECOMPILED_HEADERS "Precompile what most files include" ${precompile})
option(POOLJIT_UNITY "Compile the files of a folder together, up to eight at a time" ${unity})
file(CONFIGURE OUTPUT precompiled.cpp CONTENT "// Has nothing of its own: see cmake/precompiled.cmake.\n")

# pooljit_precompiled(name SETTINGS dependency... HEADERS header...): the object library <name> that others take the
# headers from. SETTINGS are what it shares with all of them: libraries, and compile options, which begin with "-" or "$".
function(pooljit_precompiled name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SETTINGS;HEADERS")
  if(NOT POOLJIT_PRECOMPILED_HEADERS)
    return()
  endif()
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  set(libraries ${arg_SETTINGS})
  list(FILTER libraries EXCLUDE REGEX "^[-$]")
  list(FILTER arg_SETTINGS INCLUDE REGEX "^[-$]")
  target_link_libraries(${name} PRIVATE ${libraries})
  target_compile_options(${name} PRIVATE ${arg_SETTINGS})
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <bit> <charconv> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <numeric>
    <optional> <set> <span> <string> <string_view> <utility> <vector> <fmt/format.h> <tl/expected.hpp> ${arg_HEADERS})
endfunction()

# pooljit_precompile(target name): the files of the target take the headers of pooljit_precompiled(name).
function(pooljit_precompile target name)
  if(NOT POOLJIT_PRECOMPILED_HEADERS)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
  # gcc 12 takes texts of a precompiled <string> for copies onto themselves (its bug 105651, mended in 13).
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endfunction()
