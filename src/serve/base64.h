// Base64 text: embeddings for OpenAI's clients, and the passwords that browsers send.
#pragma once

#include <string>
#include <string_view>

namespace fwl {

std::string base64_encode(std::string_view bytes);
std::string base64_decode(std::string_view text);  // empty if it is malformed

}  // namespace fwl
