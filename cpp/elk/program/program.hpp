#pragma once

/// What the chip runs: instructions, how long buffers live, where they lie, and the checker of all
/// three.
#include "elk/program/buffers.hpp"
#include "elk/program/check.hpp"
#include "elk/program/code.hpp"
#include "elk/program/issue.hpp"
#include "elk/program/lifetimes.hpp"
#include "elk/program/place.hpp"
#include "elk/program/space.hpp"
