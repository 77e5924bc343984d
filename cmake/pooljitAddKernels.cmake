# pooljit_add_kernels(TARGET FILE specs.txt [ISAS avx2 avx512] [BACKEND xbyak|llvm] [TUNE_DB file] [VERIFY] [NAMESPACE p])
#
# Exports each spec of FILE (NAME<TAB>SPEC a line) with `pooljit export` and adds the object to TARGET, an executable or a
# library that is there already; the header, specs.h for specs.txt, is on its include path. Made again when FILE, TUNE_DB
# or the command changes. The program does not need libpooljit, unless a spec leaves dims free: then TARGET is linked with
# it. docs/export.md says more.
#
# The variable POOLJIT_COMMAND is the command; by default the one that was installed with this file.
function(pooljit_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 kernels "VERIFY" "FILE;BACKEND;TUNE_DB;NAMESPACE" "ISAS")
  if(kernels_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "pooljit_add_kernels: unknown arguments: ${kernels_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT POOLJIT_COMMAND)
    message(FATAL_ERROR "pooljit_add_kernels: the command pooljit is not found, which makes the kernels. Install it beside "
      "the library (Debian: the package pooljit), or say where it is: cmake -DPOOLJIT_COMMAND=/path/to/pooljit")
  endif()
  if(IS_ABSOLUTE "${POOLJIT_COMMAND}" AND (NOT EXISTS "${POOLJIT_COMMAND}" OR IS_DIRECTORY "${POOLJIT_COMMAND}"))
    message(FATAL_ERROR "pooljit_add_kernels: POOLJIT_COMMAND=${POOLJIT_COMMAND} is no program. It makes the kernels; say "
      "where it is: cmake -DPOOLJIT_COMMAND=/path/to/pooljit")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "pooljit_add_kernels: ${target} is no target; add_executable or add_library makes it first")
  endif()
  if(NOT kernels_FILE)
    message(FATAL_ERROR "pooljit_add_kernels: FILE is missing")
  endif()
  get_filename_component(file ${kernels_FILE} ABSOLUTE)
  get_filename_component(name ${file} NAME_WE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/pooljit/${target})
  set(options --file ${file} -o ${folder}/${name}.o --header ${folder}/${name}.h)
  set(inputs ${file} ${POOLJIT_COMMAND})
  if(kernels_ISAS)
    list(JOIN kernels_ISAS "," isas)
    list(APPEND options --isa ${isas})
  endif()
  if(kernels_BACKEND)
    list(APPEND options --backend ${kernels_BACKEND})
  endif()
  if(kernels_TUNE_DB)
    get_filename_component(database ${kernels_TUNE_DB} ABSOLUTE)
    list(APPEND options --tune-db ${database})
    list(APPEND inputs ${database})
  endif()
  if(kernels_VERIFY)
    list(APPEND options --verify)
  endif()
  if(kernels_NAMESPACE)
    list(APPEND options --namespace ${kernels_NAMESPACE})
  endif()
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/${name}.o ${folder}/${name}.h
    COMMAND ${POOLJIT_COMMAND} export ${options}
    DEPENDS ${inputs} COMMENT "pooljit export ${kernels_FILE}" VERBATIM)
  set_source_files_properties(${folder}/${name}.o PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_sources(${target} PRIVATE ${folder}/${name}.o ${folder}/${name}.h)
  target_include_directories(${target} PRIVATE ${folder})
  # A letter behind a comma of the shape.
  file(STRINGS ${file} free_specs REGEX "^[^#]*[(] *[a-z0-9]+ *\\[[^]]*, *[A-Z]")
  if(free_specs)
    target_link_libraries(${target} PRIVATE pooljit::pooljit)
  endif()
endfunction()
