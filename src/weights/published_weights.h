// Weights of published models, from GGUF files and Hugging Face folders; every tensor is checked.
#pragma once

#include <functional>
#include <memory>

#include "files/gguf.h"
#include "files/huggingface_folder.h"
#include "weights/weight_source.h"

namespace fwl {

// `quantized` multiplies with the mapped blocks of the file: least memory, fastest generation. `fp32` dequantises
// everything: fastest scoring of short segments, and required for training.
enum class WeightFormat { quantized, fp32 };

WeightFormat weight_format_from_name(const std::string& name);

class GgufWeights : public WeightSource {
 public:
  // `file_name` maps a weight's name to the tensor's name in the file.
  GgufWeights(std::shared_ptr<const GgufFile> file, WeightFormat format,
              std::function<std::string(const std::string&)> file_name);

  bool has(const std::string& name) const override;
  at::Tensor tensor(const std::string& name, at::IntArrayRef shape, const Initial& initial) override;
  Matrix matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) override;

 private:
  const GgufTensor& find(const std::string& name, at::IntArrayRef shape) const;

  std::shared_ptr<const GgufFile> file_;
  WeightFormat format_;
  std::function<std::string(const std::string&)> file_name_;
};

class FolderWeights : public WeightSource {
 public:
  FolderWeights(std::shared_ptr<const HuggingFaceFolder> folder, WeightFormat format);

  bool has(const std::string& name) const override;
  at::Tensor tensor(const std::string& name, at::IntArrayRef shape, const Initial& initial) override;
  Matrix matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) override;

 private:
  const TensorView& find(const std::string& name, at::IntArrayRef shape) const;

  std::shared_ptr<const HuggingFaceFolder> folder_;
  WeightFormat format_;
};

}  // namespace fwl
