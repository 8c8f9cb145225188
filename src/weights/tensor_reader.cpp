#include "weights/tensor_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {

TensorReader::TensorReader(const std::string& path, std::string content)
    : TensorReader(
          [&] {
            SafetensorsFile file(path);
            file.expect_checksum(content);
            return file;
          }(),
          content) {}

TensorReader::TensorReader(const SafetensorsFile& file, std::string content)
    : path_(file.where()), content_(std::move(content)), metadata_(file.metadata()), tensors_(load_tensors(file)) {}

at::Tensor TensorReader::take(const std::string& name, at::IntArrayRef shape, at::ScalarType type) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) fail(path_, "a tensor " + name, "none", "not " + content_ + "?");
  const auto tensor = found->second;
  tensors_.erase(found);
  if (tensor.sizes() != shape || tensor.scalar_type() != type)
    fail(fmt::format("{}: {}", path_, name), c10::str(shape, " ", type),
         c10::str(tensor.sizes(), " ", tensor.scalar_type()), content_ + " of another model?");
  return tensor;
}

at::Tensor TensorReader::take_finite(const std::string& name, at::IntArrayRef shape, at::ScalarType type) {
  auto tensor = take(name, shape, type);
  if (!tensor.isfinite().all().item<bool>())
    fail(fmt::format("{}: {}", path_, name), "finite numbers", "NaN or infinity", "the file is damaged");
  return tensor;
}

std::vector<int64_t> TensorReader::take_numbers(const std::string& name, int64_t count) {
  const auto tensor = take(name, {count}, at::kLong);
  const auto* first = tensor.const_data_ptr<int64_t>();
  std::vector<int64_t> numbers(first, first + count);
  if (std::ranges::any_of(numbers, [](int64_t number) { return number < 0; }))
    fail(fmt::format("{}: {}", path_, name), "integers >= 0", "a negative one", "the file is damaged");
  return numbers;
}

void TensorReader::expect_nothing_else() const {
  if (!tensors_.empty()) fail(path_, content_, "also a tensor " + tensors_.begin()->first);
}

at::Tensor numbers_tensor(const std::vector<int64_t>& numbers) {
  return at::tensor(numbers, at::kLong);
}

}  // namespace fwl
