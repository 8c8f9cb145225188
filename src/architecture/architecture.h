// Everything that the program knows about one architecture: its names, its settings under model.*, and how a model of
// it is made or opened. To add one, write a file like llama.cpp and put it into the table of architectures.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/base_model.h"
#include "files/gguf.h"
#include "files/huggingface_folder.h"
#include "support/fields.h"
#include "weights/published_weights.h"

namespace fwl {

// The settings of a model that can be made from scratch.
class ArchitectureSettings {
 public:
  virtual ~ArchitectureSettings() = default;

  virtual std::unique_ptr<ArchitectureSettings> clone() const = 0;
  virtual void add_fields(Fields& fields) = 0;  // under names like "model.layers"
  virtual std::shared_ptr<BaseModel> make(int64_t vocabulary_size, WeightSource& source) const = 0;
};

struct Architecture {
  using GgufPointer = std::shared_ptr<const GgufFile>;
  using FolderPointer = std::shared_ptr<const HuggingFaceFolder>;

  std::string name;
  std::unique_ptr<ArchitectureSettings> (*new_settings)() = nullptr;
  // Published models, by general.architecture of GGUF files and model_type of Hugging Face folders.
  std::vector<std::string> gguf_names = {};
  std::shared_ptr<BaseModel> (*open_gguf)(const GgufPointer& file, WeightFormat format) = nullptr;
  std::vector<std::string> folder_names = {};
  std::shared_ptr<BaseModel> (*open_folder)(const FolderPointer& folder, WeightFormat format) = nullptr;
};

// Every architecture; the first one is the default for training.
const std::vector<Architecture>& architectures();

// For `new_settings`: the settings are a Config, with free functions for its fields and for making a model of it.
template <class Config, void add_config_fields(Fields&, Config&),
          std::shared_ptr<BaseModel> make_model(Config, int64_t vocabulary_size, WeightSource&)>
std::unique_ptr<ArchitectureSettings> settings_of() {
  class Settings : public ArchitectureSettings {
   public:
    std::unique_ptr<ArchitectureSettings> clone() const override { return std::make_unique<Settings>(*this); }
    void add_fields(Fields& fields) override { add_config_fields(fields, config_); }
    std::shared_ptr<BaseModel> make(int64_t vocabulary_size, WeightSource& source) const override {
      return make_model(config_, vocabulary_size, source);
    }

   private:
    Config config_;
  };
  return std::make_unique<Settings>();
}

}  // namespace fwl
