// How published models stretch the context of their rotary positions.
#pragma once

#include "architecture/folder_config.h"
#include "architecture/gguf_settings.h"
#include "base/decoder_config.h"
#include "weights/weight_source.h"

namespace fwl {

// Base, rotated values and scaling from rope_theta, partial_rotary_factor and rope_scaling, or from rope_parameters in
// newer folders. Longrope is only recognised: its factors are those of Phi.
RotaryConfig rotary_from_folder(const FolderConfig& json, int64_t head_size, double usual_base);
// The same from an object like rope_parameters.
RotaryConfig rotary_from_settings(const std::string& where, const nlohmann::json& settings, RotaryConfig otherwise,
                                  int64_t head_size);
bool is_longrope(const FolderConfig& json);
const nlohmann::json& rotary_settings(const FolderConfig& json);  // rope_parameters or rope_scaling; may be null

// The same from a GGUF file, with the frequencies' divisors (rope_freqs) if the file has them.
RotaryConfig rotary_from_gguf(const GgufSettings& settings, WeightSource& weights, int64_t head_size);

// What longrope multiplies queries and keys by.
double longrope_scale(double context_tokens, double original_tokens);

}  // namespace fwl
