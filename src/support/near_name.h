// Suggests the name a user probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fwl {

// The number of insertions, deletions, substitutions and swaps of neighbours that turn one string into the other.
int edit_distance(std::string_view a, std::string_view b);

// "did you mean X?", or an empty string if no candidate is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace fwl
