#pragma once

/// What the chip runs: instructions, how long buffers live, where they lie, and the checker of all
/// three.
#include "elk/program/check/check.hpp"
#include "elk/program/code/buffers.hpp"
#include "elk/program/code/code.hpp"
#include "elk/program/code/issue.hpp"
#include "elk/program/code/lifetimes.hpp"
#include "elk/program/code/space.hpp"
#include "elk/program/place/place.hpp"
