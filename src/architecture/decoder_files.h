// What published files of all decoders have in common: settings, names of weights, ways to stretch the context. Each
// architecture's file changes what is different in its family before it makes the model.
#pragma once

#include <memory>

#include "architecture/architecture.h"
#include "architecture/folder_config.h"
#include "architecture/gguf_settings.h"
#include "base/decoder_config.h"

namespace fwl {

// Sizes, rotary positions, and what the tensors of the file show: biases, joined matrices, a tied head. Positions are
// rotated in pairs of halves.
DecoderConfig decoder_from_gguf(const Architecture::GgufPointer& file);
std::shared_ptr<BaseModel> make_decoder(const DecoderConfig& config, const Architecture::GgufPointer& file,
                                        WeightFormat format);

// Sizes and rotary positions; heads are tied if the config does not say.
DecoderConfig decoder_from_folder(const FolderConfig& json, const std::string& architecture);
std::shared_ptr<BaseModel> make_decoder(const DecoderConfig& config, const Architecture::FolderPointer& folder,
                                        WeightFormat format);

// Gives layers their windows; a window that no text within the context can leave is none.
void set_windows(DecoderConfig& config, int64_t window_tokens, const std::vector<bool>& sliding);
void set_window(DecoderConfig& config, int64_t window_tokens);  // of all layers; 0: none

// The layers whose entry in layer_types is sliding_attention; without that list those given by `otherwise`.
std::vector<bool> sliding_layers(const FolderConfig& json, std::vector<bool> otherwise);

void expect_activation(const FolderConfig& json, const char* name, const std::string& expected);

}  // namespace fwl
