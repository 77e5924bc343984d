# A layer is a folder: its sources are what lies in it, so that a new file needs no edit here. main.cpp is left out.

function(pooljit_sources folder result)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  if(NOT POOLJIT_LLVM)
    list(FILTER sources EXCLUDE REGEX "/jit/llvm/")
  endif()
  list(FILTER sources EXCLUDE REGEX "/main[.]cpp$")
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# pooljit_layer(folder dependency...): the static library pooljit_<folder>.
function(pooljit_layer folder)
  pooljit_sources(${folder} sources)
  if(NOT sources)
    add_library(pooljit_${folder} INTERFACE)
    target_link_libraries(pooljit_${folder} INTERFACE ${ARGN})
    return()
  endif()
  add_library(pooljit_${folder} STATIC ${sources})
  target_link_libraries(pooljit_${folder} PUBLIC fmt::fmt tl::expected ${ARGN})
  target_compile_definitions(pooljit_${folder} PUBLIC POOLJIT_VERSION="${PROJECT_VERSION}")
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

# pooljit_shared_library(name layer...): libpooljit.so, one library of all layers that exports the public API only.
function(pooljit_shared_library name)
  add_library(${name} SHARED)
  foreach(layer IN LISTS ARGN)
    get_target_property(type pooljit_${layer} TYPE)
    if(NOT type STREQUAL INTERFACE_LIBRARY)
      target_sources(${name} PRIVATE $<TARGET_OBJECTS:pooljit_${layer}>)
    endif()
  endforeach()
  target_link_libraries(${name} PRIVATE fmt::fmt tl::expected pooljit_deps_jit pooljit_deps_runtime)
  target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set(exports ${PROJECT_SOURCE_DIR}/runtime/exports.map)
  target_link_options(${name} PRIVATE -Wl,--version-script=${exports})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${exports}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  add_library(pooljit::${name} ALIAS ${name})
endfunction()
