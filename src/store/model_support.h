// Whether a published model can be opened here, and what is missing if it cannot.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fwl {

// For a GGUF file or a Hugging Face folder: {"architecture": …, "supported": …, "missing": […]}, with the
// errors that opening it would end in. Null for anything else.
nlohmann::json describe_support(const std::string& path);

}  // namespace fwl
