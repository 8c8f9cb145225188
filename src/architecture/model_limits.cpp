#include "architecture/model_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "support/error.h"
#include "support/printable.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

enum class Size { layers, vocabulary, width, context };

struct SizeName {
  const char* name;
  Size size;
};

constexpr std::array folder_names = {SizeName{"num_hidden_layers", Size::layers},
                                     SizeName{"n_layer", Size::layers},
                                     SizeName{"vocab_size", Size::vocabulary},
                                     SizeName{"hidden_size", Size::width},
                                     SizeName{"n_embd", Size::width},
                                     SizeName{"d_model", Size::width},
                                     SizeName{"d_embed", Size::width},
                                     SizeName{"num_attention_heads", Size::width},
                                     SizeName{"num_key_value_heads", Size::width},
                                     SizeName{"n_head", Size::width},
                                     SizeName{"head_dim", Size::width},
                                     SizeName{"d_head", Size::width},
                                     SizeName{"intermediate_size", Size::width},
                                     SizeName{"n_inner", Size::width},
                                     SizeName{"d_inner", Size::width},
                                     SizeName{"max_position_embeddings", Size::context},
                                     SizeName{"n_positions", Size::context},
                                     SizeName{"n_ctx", Size::context}};

// After the name of the architecture.
constexpr std::array gguf_names = {SizeName{"block_count", Size::layers},
                                   SizeName{"vocab_size", Size::vocabulary},
                                   SizeName{"embedding_length", Size::width},
                                   SizeName{"attention.head_count", Size::width},
                                   SizeName{"attention.head_count_kv", Size::width},
                                   SizeName{"attention.key_length", Size::width},
                                   SizeName{"attention.value_length", Size::width},
                                   SizeName{"rope.dimension_count", Size::width},
                                   SizeName{"feed_forward_length", Size::width},
                                   SizeName{"context_length", Size::context}};

// What the tensors of a model can hold.
class Tensors {
 public:
  void add(const std::string& where, std::string_view name, const std::vector<int64_t>& shape) {
    if (shape.empty() || std::ranges::find(shape, 0) != shape.end())
      fail(fmt::format("{}: tensor {}", where, printable(name)), "at least one number", "none", "the file is damaged");
    const auto widest = std::ranges::max(shape);
    ++count_;
    widest_ = std::max(widest_, widest);
    rows_ += std::min(widest, int64_t{1} << 40);
  }

  void check(const std::string& where, Size size, double value) const {
    constexpr auto cause = "the model's sizes and its tensors do not belong together";
    if (size == Size::context && value < 2) fail(where, "a context of at least 2 tokens", fmt::format("{}", value));
    if (size == Size::context) return;
    const auto most = size == Size::layers ? count_ : size == Size::vocabulary ? rows_ : widest_;
    if (value > static_cast<double>(most))
      fail(where, fmt::format("at most {}, which the tensors have", most), fmt::format("{}", value), cause);
  }

 private:
  int64_t count_ = 0, widest_ = 0, rows_ = 0;
};

void check_config(const std::string& where, const nlohmann::json& config, const Tensors& tensors) {
  for (const auto& [name, size] : folder_names)
    if (const auto& value = json_or_null(config, name); value.is_number())
      tensors.check(fmt::format("{}: {}", where, name), size, value.get<double>());
}

}  // namespace

void check_model_sizes(const GgufFile& file) {
  Tensors tensors;
  for (const auto& tensor : file.tensors()) tensors.add(file.where(), tensor.name, tensor.shape);
  const auto architecture = file.get<std::string_view>("general.architecture");
  for (const auto& [name, size] : gguf_names) {
    const auto key = fmt::format("{}.{}", architecture, name);
    const auto* found = file.find(key);
    if (const auto value = found ? gguf_cast<double>(*found) : std::nullopt)
      tensors.check(fmt::format("{}: {}", file.where(), key), size, *value);
  }
}

void check_model_sizes(const HuggingFaceFolder& folder) {
  Tensors tensors;
  for (const auto& shard : folder.shards())
    for (const auto& tensor : shard.tensors())
      if (tensor.shape.size() > 1) tensors.add(folder.path(), tensor.name, tensor.shape);
  const auto where = folder.path() + "/config.json";
  check_config(where, folder.config(), tensors);
  if (const auto& text = json_or_null(folder.config(), "text_config"); text.is_object())
    check_config(where + ": text_config", text, tensors);
}

}  // namespace fwl
