#pragma once

#include <functional>
#include <string>

// The texts of errors: tests/data/errors.txt has every one of them, a line each, under the name of the case that
// provokes it.

namespace refrain::test {

/// The text without what differs from run to run: numbers of streams, events and graphs, devices, places, temporary
/// files, bytes in use.
std::string normalised(std::string text);

/// Runs `fn`, which must throw refrain::Error with a place in the suite, and compares its normalised text with the
/// running case's line of errors.txt; writes that line instead when the environment has REFRAIN_UPDATE_ERRORS.
void check_error_text(const std::function<void()>& fn);

}  // namespace refrain::test
