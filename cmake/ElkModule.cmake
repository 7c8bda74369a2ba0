# One static library per module, and the table of which module may include which.

# The modules, lower layers first. tests/architecture/test_layers.py holds the same table.
# gersemi: off
set(ELK_MODULES base ir chip partition tile cost program schedule shard sim emulate train analyze compile)
set(ELK_MAY_INCLUDE_base)
set(ELK_MAY_INCLUDE_ir base)
set(ELK_MAY_INCLUDE_chip base)
set(ELK_MAY_INCLUDE_partition base ir chip)
set(ELK_MAY_INCLUDE_tile base ir chip partition)
set(ELK_MAY_INCLUDE_cost base ir chip partition tile)
set(ELK_MAY_INCLUDE_program base ir chip partition)
set(ELK_MAY_INCLUDE_schedule base ir chip partition tile cost program)
set(ELK_MAY_INCLUDE_shard base ir chip tile cost)
set(ELK_MAY_INCLUDE_sim base ir chip partition program)
set(ELK_MAY_INCLUDE_emulate base ir chip partition program)
set(ELK_MAY_INCLUDE_train base ir chip partition tile cost shard sim)
set(ELK_MAY_INCLUDE_analyze base ir chip partition program sim)
set(ELK_MAY_INCLUDE_compile base ir chip partition tile cost program schedule shard sim)
# gersemi: on

# Stops the configuration if `file`, of `module`, includes a module that is not among `allowed`.
function(elk_check_includes module file allowed)
  file(STRINGS ${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*\"elk/")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[^\"]*\"elk/([^/\"]+).*$" "\\1" included "${line}")
    if(NOT included IN_LIST allowed)
      message(
        FATAL_ERROR
        "${file} includes elk/${included}, which ${module} does not declare in DEPENDS"
      )
    endif()
  endforeach()
endfunction()

# elk_module(cost SOURCES tile.cpp fit/linear.cpp DEPENDS base ir chip partition)
#
# Defines the library elk::cost. DEPENDS may name only what the table allows, so the libraries
# cannot form a cycle, and a file may include only what DEPENDS names.
function(elk_module module)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  if(arg_UNPARSED_ARGUMENTS OR NOT module IN_LIST ELK_MODULES)
    message(FATAL_ERROR "elk_module(${module}): not a module, or stray ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(dependence IN LISTS arg_DEPENDS)
    if(NOT dependence IN_LIST ELK_MAY_INCLUDE_${module})
      message(FATAL_ERROR "${module} may not depend on ${dependence}: see the layer table")
    endif()
  endforeach()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.hpp)
  list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
  foreach(file IN LISTS headers sources)
    elk_check_includes(${module} ${file} "${module};${arg_DEPENDS}")
  endforeach()

  set(scope PUBLIC)
  if(arg_SOURCES)
    add_library(elk_${module} STATIC ${arg_SOURCES})
  else()
    add_library(elk_${module} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(elk::${module} ALIAS elk_${module})
  target_include_directories(elk_${module} ${scope} ${PROJECT_SOURCE_DIR}/cpp)
  list(TRANSFORM arg_DEPENDS PREPEND elk_ OUTPUT_VARIABLE libraries)
  target_link_libraries(elk_${module} ${scope} elk_options ${libraries})
endfunction()
