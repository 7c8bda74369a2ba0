# How every target of ELK is compiled: the target `elk_options` carries it.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(ELK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  endif()
endif()

add_library(elk_options INTERFACE)
target_compile_features(elk_options INTERFACE cxx_std_20)
target_compile_options(
  elk_options
  INTERFACE
    -ffp-contract=off # The same numbers on every machine: never fuse a multiply and an add.
    -Wall
    -Wextra
    -Wpedantic
    -Wconversion
    -Wsign-conversion
    -Wshadow
    -Wold-style-cast
    -Wimplicit-fallthrough
    -Wswitch-enum
    -Wnon-virtual-dtor
    $<$<BOOL:${ELK_WERROR}>:-Werror>
    # GCC 12 sees uninitialised parts of a std::optional that is empty.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
)
if(ELK_ABLATION)
  target_compile_definitions(elk_options INTERFACE ELK_ABLATION)
endif()
if(ELK_SANITIZE)
  target_compile_options(
    elk_options
    INTERFACE -fsanitize=${ELK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
  )
  target_link_options(elk_options INTERFACE -fsanitize=${ELK_SANITIZE})
endif()
