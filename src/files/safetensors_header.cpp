#include "files/safetensors_header.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "support/error.h"
#include "support/printable.h"

namespace fwl {
namespace {

constexpr size_t most_dimensions = 32;
constexpr std::string_view metadata_key = "__metadata__";

// {"__metadata__": {text: text}, name: {"dtype": text, "shape": [numbers], "data_offsets": [begin, end]}}
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderEvents(const std::string& where) : where_(where) {}

  SafetensorsHeader header;

  bool null() override { reject("null"); }
  bool boolean(bool) override { reject("a truth value"); }
  bool number_float(double, const std::string& text) override { reject(printable(text)); }
  bool number_integer(int64_t number) override { reject(std::to_string(number)); }
  bool binary(nlohmann::json::binary_t&) override { reject("bytes"); }

  bool number_unsigned(uint64_t number) override {
    if (place_ == Place::shape) {
      if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) reject(std::to_string(number));
      if (tensor().shape.size() == most_dimensions) fail(place_name(), "at most 32 dimensions", "more");
      tensor().shape.push_back(static_cast<int64_t>(number));
    } else if (place_ == Place::offsets && offsets_ < 2) {
      (offsets_++ == 0 ? tensor().begin : tensor().end) = number;
    } else {
      reject(std::to_string(number));
    }
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::metadata) {
      if (!header.metadata.emplace(key_, text).second) reject("the same key twice");
    } else if (place_ == Place::tensor && key_ == "dtype") {
      const auto dtype = find_dtype(text);
      if (!dtype) fail(place_name(), "a known dtype", "'" + printable(text) + "'", "a newer or a damaged file");
      tensor().dtype = *dtype;
    } else {
      reject("a text");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::start) {
      place_ = Place::header;
    } else if (place_ == Place::header && key_ == metadata_key) {
      place_ = Place::metadata;
    } else if (place_ == Place::header) {
      place_ = Place::tensor;
      header.tensors.emplace_back().name = key_;
      has_dtype_ = has_shape_ = has_offsets_ = false;
    } else {
      reject("an object");
    }
    return true;
  }

  bool key(std::string& name) override {
    key_ = name;
    if (place_ == Place::header && !names_.insert(name).second)
      fail(where_, "tensor names that differ", fmt::format("'{}' twice", printable(name)), "the file is damaged");
    if (place_ != Place::tensor) return true;
    bool* seen = name == "dtype"          ? &has_dtype_
                 : name == "shape"        ? &has_shape_
                 : name == "data_offsets" ? &has_offsets_
                                          : nullptr;
    if (!seen || *seen) reject(fmt::format("{} '{}'", seen ? "a second" : "a key", printable(name)));
    *seen = true;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor && !(has_dtype_ && has_shape_ && has_offsets_))
      fail(place_name(), "dtype, shape and data_offsets", "not all of them", "the file is damaged");
    place_ = place_ == Place::header ? Place::end : Place::header;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || key_ == "dtype") reject("an array");
    place_ = key_ == "shape" ? Place::shape : Place::offsets;
    offsets_ = 0;
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offsets && offsets_ != 2) reject("fewer than two data_offsets");
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(where_, "a JSON header", fmt::format("an error at its byte {}", position), "the file is damaged");
  }

 private:
  enum class Place { start, header, metadata, tensor, shape, offsets, end };

  SafetensorsEntry& tensor() { return header.tensors.back(); }

  std::string place_name() {
    if (place_ == Place::start || place_ == Place::end) return where_;
    if (place_ == Place::header || place_ == Place::metadata) return fmt::format("{}: {}", where_, printable(key_));
    return fmt::format("{}: tensor {}", where_, printable(tensor().name));
  }

  [[noreturn]] void reject(std::string_view got) {
    constexpr std::string_view expected[] = {"a JSON object",
                                             "an object per tensor",
                                             "texts only",
                                             "dtype, shape and data_offsets",
                                             "a shape of whole numbers",
                                             "two data_offsets",
                                             "nothing more"};
    fail(place_name(), expected[static_cast<size_t>(place_)], got, "the file is damaged");
  }

  const std::string& where_;
  Place place_ = Place::start;
  std::string key_;
  std::unordered_set<std::string> names_;
  int offsets_ = 0;
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(const std::string& where, std::string_view json) {
  HeaderEvents events(where);
  nlohmann::json::sax_parse(json.begin(), json.end(), &events);
  return std::move(events.header);
}

}  // namespace fwl
