// GPT-2's printable names of the 256 bytes, in which byte-level BPE vocabularies are published ("Ġthe" is " the").
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fwl {

// Visible Latin-1 characters name themselves; the other bytes are named by U+0100, U+0101, … in order.
const std::string& name_of_byte(unsigned char byte);

// Decodes a string of byte names; nullopt if it contains any other character.
std::optional<std::string> bytes_from_names(std::string_view names);

}  // namespace fwl
