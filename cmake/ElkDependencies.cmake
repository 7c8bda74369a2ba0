# Where the packages that ELK builds against are found.

set(elk_python_components Interpreter)
if(ELK_BUILD_BINDINGS)
  list(APPEND elk_python_components Development.Module)
endif()
set(Python_FIND_UNVERSIONED_NAMES FIRST) # The interpreter of the active environment.
find_package(Python 3.11 REQUIRED COMPONENTS ${elk_python_components})

# Sets `out` to the folder of `config`, a CMake package file that the Python distribution
# `distribution` installed; leaves it unset if that is not installed, so that find_package goes on
# to the system's places. Under build isolation no prefix path leads to these files.
function(elk_find_in_wheel distribution config out)
  execute_process(
    COMMAND
      ${Python_EXECUTABLE} -c
      "import importlib.metadata as m
files = m.files('${distribution}') or []
print(next(str(f.locate().resolve().parent) for f in files if f.name == '${config}'), end='')"
    OUTPUT_VARIABLE folder
    RESULT_VARIABLE status
    ERROR_QUIET
  )
  if(status EQUAL 0)
    set(${out} ${folder} CACHE PATH "Folder of ${config}" FORCE)
  endif()
endfunction()

if(ELK_THREADS STREQUAL "tbb")
  elk_find_in_wheel(tbb-devel TBBConfig.cmake TBB_DIR)
  find_package(TBB CONFIG REQUIRED COMPONENTS tbb)
elseif(ELK_THREADS STREQUAL "std")
  find_package(Threads REQUIRED)
else()
  message(FATAL_ERROR "ELK_THREADS is tbb or std, got '${ELK_THREADS}'")
endif()

if(ELK_BUILD_BINDINGS)
  elk_find_in_wheel(pybind11 pybind11Config.cmake pybind11_DIR)
  find_package(pybind11 3.1 CONFIG REQUIRED)
endif()

if(ELK_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

if(ELK_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

# Eigen is for `emulate` and `tile/fit` alone: they call elk_find_eigen() and link Eigen3::Eigen.
macro(elk_find_eigen)
  elk_find_in_wheel(cmeel-eigen Eigen3Config.cmake Eigen3_DIR)
  find_package(Eigen3 3.4 CONFIG REQUIRED)
endmacro()
