// Running a small system tool (ip, tc) to its end, with its words kept for the error.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tutti::launch::spawn {

// Runs argv with `input` on its standard input. Errors: not found (names the Debian package),
// or its exit status and what it printed. It ends with this process.
Result<void> run_tool(const std::vector<std::string>& argv, const std::string& input);

// What argv, a query of a batch system, prints. Errors: as above, or no answer within 10 s.
Result<std::string> text_of_tool(const std::vector<std::string>& argv);

// Limits what leaves through `device`: rate as tc takes it ("1gbit"), delay ("50us"); empty: not.
Result<void> shape_link(const std::string& device, const std::string& rate,
                        const std::string& delay);

}  // namespace tutti::launch::spawn
