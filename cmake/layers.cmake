# A layer is a folder: its sources are what lies in it, so that a new file needs no edit here. main.cpp is left out.

function(pooljit_sources folder result)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  foreach(inner jit/llvm lab/schedules)  # layers of their own
    if(NOT folder STREQUAL inner)
      list(FILTER sources EXCLUDE REGEX "/${inner}/")
    endif()
  endforeach()
  # In libraries of their own, which others take without the command.
  list(FILTER sources EXCLUDE REGEX "/tools/(plain_loop|fuzz/(axes|divergence_rules|explain|fault_rules|random_pools|random_spec|seen_before|window_facts))[.]cpp$")
  if(NOT POOLJIT_ONNX)
    list(FILTER sources EXCLUDE REGEX "/tools/onnx/")
  endif()
  list(FILTER sources EXCLUDE REGEX "/main[.]cpp$")
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# pooljit_layer(folder dependency...): the static library pooljit_<folder>, for jit/llvm pooljit_llvm, for lab/schedules
# pooljit_schedules.
function(pooljit_layer folder)
  pooljit_sources(${folder} sources)
  get_filename_component(folder ${folder} NAME)
  if(NOT sources)
    add_library(pooljit_${folder} INTERFACE)
    target_link_libraries(pooljit_${folder} INTERFACE ${ARGN})
    return()
  endif()
  add_library(pooljit_${folder} STATIC ${sources})
  target_link_libraries(pooljit_${folder} PUBLIC pooljit_fmt tl::expected ${ARGN})
  target_compile_definitions(pooljit_${folder} PUBLIC POOLJIT_VERSION="${PROJECT_VERSION}")
  # So that a program with libpooljit.a and --gc-sections keeps what it calls.
  target_compile_options(pooljit_${folder} PRIVATE -ffunction-sections -fdata-sections)
endfunction()

# pooljit_own_options(file... OPTIONS option...): compile options of single files, which therefore share no headers.
function(pooljit_own_options)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "OPTIONS")
  set_source_files_properties(${arg_UNPARSED_ARGUMENTS} PROPERTIES
    COMPILE_OPTIONS "${arg_OPTIONS}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# pooljit_unity(target [AT_MOST files] [EXCEPT regex]): the files of each folder are compiled together, so many at a time (8):
# our own headers and the templates of all are compiled once for them. Files with options of their own stay alone.
function(pooljit_unity target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "AT_MOST;EXCEPT" "")
  if(NOT POOLJIT_UNITY)
    return()
  endif()
  if(NOT arg_AT_MOST)
    set(arg_AT_MOST 8)
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cpp$")
  if(arg_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "${arg_EXCEPT}")
  endif()
  set(folders)
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(group ${source} UNITY_GROUP)
    if(NOT options AND NOT group)
      get_filename_component(folder ${source} ABSOLUTE)
      get_filename_component(folder ${folder} DIRECTORY)
      list(APPEND folders ${folder})
      list(APPEND "files_${folder}" ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(LENGTH "files_${folder}" count)
    math(EXPR groups "(${count} + ${arg_AT_MOST} - 1) / ${arg_AT_MOST}")
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${folder})
    string(REPLACE "/" "_" name "${name}")
    set(index 0)
    foreach(source IN LISTS "files_${folder}")
      math(EXPR group "${index} * ${groups} / ${count}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${group})
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# pooljit_command_sources(folder): its cmd_*.cpp, and what adds options to them, are compiled as a few files. What they
# read the command line with is all headers, which takes each of them 5 seconds, and several together hardly more.
function(pooljit_command_sources folder)
  get_target_property(sources pooljit_${folder} SOURCES)
  list(FILTER sources INCLUDE REGEX "/(cmd_[a-z_]+|engine|against_options)[.]cpp$")
  list(LENGTH sources count)
  math(EXPR last "${count} - 1")
  foreach(index RANGE ${last})
    list(GET sources ${index} source)
    math(EXPR group "${index} % 3")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP commands_${group})
  endforeach()
  set_target_properties(pooljit_${folder} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# pooljit_command(folder): the `pooljit` command, main.cpp of a layer.
function(pooljit_command folder)
  set(main ${PROJECT_SOURCE_DIR}/${folder}/main.cpp)
  if(EXISTS ${main})
    add_executable(pooljit_command ${main})
    set_target_properties(pooljit_command PROPERTIES OUTPUT_NAME pooljit RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    target_link_libraries(pooljit_command PRIVATE pooljit_${folder})
  endif()
endfunction()

# pooljit_llvm_module(): libpooljit-llvm.so, what the layer jit loads when LLVM is first asked for. It exports one symbol.
function(pooljit_llvm_module)
  add_library(pooljit_llvm_module MODULE $<TARGET_OBJECTS:pooljit_llvm>)
  target_link_libraries(pooljit_llvm_module PRIVATE pooljit_jit pooljit_deps_llvm)
  set(exports ${PROJECT_SOURCE_DIR}/jit/llvm/exports.map)
  target_link_options(pooljit_llvm_module PRIVATE -Wl,--version-script=${exports})
  set_target_properties(pooljit_llvm_module PROPERTIES
    LINKER_LANGUAGE CXX OUTPUT_NAME pooljit-llvm LINK_DEPENDS ${exports}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

# What both libraries ask of those who link them.
function(pooljit_public name)
  target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(TARGET pooljit_llvm_module)
    add_dependencies(${name} pooljit_llvm_module)
  endif()
  add_library(pooljit::${name} ALIAS ${name})
endfunction()

# pooljit_shared_library(name layer...): libpooljit.so, one library of all layers that exports the public API only.
function(pooljit_shared_library name)
  add_library(${name} SHARED)
  foreach(layer IN LISTS ARGN)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:pooljit_${layer}>)
  endforeach()
  target_link_libraries(${name} PRIVATE pooljit_fmt tl::expected pooljit_deps_jit pooljit_deps_runtime)
  pooljit_public(${name})
  set(exports ${PROJECT_SOURCE_DIR}/runtime/exports.map)
  # dlclose() leaves it where it is: the pool's threads, the threads' scratch memory and kernels run its code.
  target_link_options(${name} PRIVATE -Wl,--version-script=${exports} -Wl,--gc-sections -Wl,-z,nodelete)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${exports}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

# pooljit_static_library(name layer...): libpooljit.a, the same objects as one object. Names of our own inside are local
# to it, so that a program may have names like ours. Inline functions of the C++ library and of fmt stay what they are in
# any object: COMDAT groups, of which a program keeps one. What gdb and a program with a libfmt.a may define too is weak.
# A shared library that links it exports nothing of it.
function(pooljit_static_library name)
  set(objects)
  foreach(layer IN LISTS ARGN)
    list(APPEND objects $<TARGET_OBJECTS:pooljit_${layer}>)
  endforeach()
  set(object ${PROJECT_BINARY_DIR}/pooljit.o)
  set(local --localize-symbol=Zydis* --localize-symbol=*7pooljit*)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_LINKER} -r -o ${object} ${objects}
    COMMAND ${CMAKE_OBJCOPY} --wildcard ${local} --weaken-symbol=_ZN*3fmt* --weaken-symbol=__jit_debug_* ${object}
    DEPENDS ${objects} COMMAND_EXPAND_LISTS VERBATIM)
  add_library(${name} STATIC ${object})
  target_link_libraries(${name} INTERFACE Threads::Threads ${CMAKE_DL_LIBS} stdc++ m)
  target_link_options(${name} INTERFACE LINKER:--exclude-libs,libpooljit.a)
  pooljit_public(${name})
  set_target_properties(${name} PROPERTIES
    LINKER_LANGUAGE CXX OUTPUT_NAME pooljit ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()
