# find_package(tapec) finds the command `tapec` (TAPEC_COMMAND), and defines
#
#   tapec_build(NAME... [PROJECT folder] [OUTPUT folder] [DEPENDS file...])
#
# It builds what [tool.tapec] of the project's pyproject.toml lists while CMake configures, and again when that file or
# one of DEPENDS has changed.  Each NAME is a library that is listed there: its targets are NAME::NAME (shared) and
# NAME::NAME_static.
#
#   PROJECT  default: the folder of the CMakeLists.txt that calls
#   OUTPUT   default: `derivatives` in its build folder

# the command of the environment that this file is installed in, else that of the path; find_program would take the
# items of a list that is given for files
if(NOT TAPEC_COMMAND)
  find_program(TAPEC_COMMAND tapec
    HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../../../../bin"
    DOC "The tapec command; a list if it has arguments")
endif()
if(NOT TAPEC_COMMAND)
  set(tapec_FOUND FALSE)
  set(tapec_NOT_FOUND_MESSAGE "there is no command `tapec`: set TAPEC_COMMAND, for example to \"python3;-m;tapec\"")
  return()
endif()
mark_as_advanced(TAPEC_COMMAND)

function(tapec_build)
  cmake_parse_arguments(PARSE_ARGV 0 asked "" "PROJECT;OUTPUT" "DEPENDS")
  if(NOT asked_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tapec_build: name the libraries that pyproject.toml lists")
  endif()
  if(NOT asked_PROJECT)
    set(asked_PROJECT "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  if(NOT asked_OUTPUT)
    set(asked_OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/derivatives")
  endif()
  get_filename_component(project "${asked_PROJECT}" ABSOLUTE)
  get_filename_component(output "${asked_OUTPUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  foreach(file pyproject.toml ${asked_DEPENDS})
    get_filename_component(file "${file}" ABSOLUTE BASE_DIR "${project}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  endforeach()
  execute_process(
    COMMAND ${TAPEC_COMMAND} build --project "${project}" -o "${output}"
    WORKING_DIRECTORY "${project}"
    OUTPUT_QUIET
    COMMAND_ERROR_IS_FATAL ANY)
  foreach(name ${asked_UNPARSED_ARGUMENTS})
    find_package(${name} CONFIG REQUIRED PATHS "${output}" NO_DEFAULT_PATH)
  endforeach()
endfunction()
