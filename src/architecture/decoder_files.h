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
at::Tensor gguf_vector(const Architecture::GgufPointer& file, const std::string& name, int64_t count);

// What a family's folders mean by leaving a setting out; 0: it must be there, or follows from others.
struct FolderDefaults {
  int64_t vocabulary_size = 0, heads = 0, kv_heads = 0, head_size = 0, context_tokens = 0;
  double norm_epsilon = 1e-6, rope_base = 10000;
  bool is_tied = false;
};

// Sizes and rotary positions. Weights of the text part of a model with several parts are found under its prefix.
DecoderConfig decoder_from_folder(const FolderConfig& json, const std::string& architecture,
                                  const FolderDefaults& defaults = {});
std::shared_ptr<BaseModel> make_decoder(const DecoderConfig& config, const Architecture::FolderPointer& folder,
                                        WeightFormat format);

// Gives layers their windows; a window that no text within the context can leave is none.
void set_windows(DecoderConfig& config, int64_t window_tokens, const std::vector<bool>& sliding);
void set_window(DecoderConfig& config, int64_t window_tokens);  // of all layers; 0: none

// Qwen's windows: if used at all, of the layers from max_window_layers on, or of those that layer_types names.
void set_upper_windows(DecoderConfig& config, const FolderConfig& json);

// The layers whose entry in layer_types is sliding_attention; without that list those given by `otherwise`.
std::vector<bool> sliding_layers(const FolderConfig& json, std::vector<bool> otherwise);

void expect_activation(const FolderConfig& json, const char* name, const std::string& expected);

}  // namespace fwl
