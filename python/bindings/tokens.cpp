// Token files in Python: ids as a numpy array over the mapped file, documents and hashes.
#include <pybind11/numpy.h>

#include "bindings.h"
#include "data/token_file.h"

namespace fwl {
namespace {

namespace py = pybind11;

// A view, not a copy: the array keeps the file mapped, and cannot be written to.
template <class Id>
py::array ids_as(const TokenFile& file, const py::object& owner) {
  const auto* first = reinterpret_cast<const Id*>(file.id_bytes().data());
  py::array array(py::dtype::of<Id>(), {file.size()}, {static_cast<int64_t>(sizeof(Id))}, first, owner);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

py::array ids(const py::object& self) {
  const auto& file = self.cast<const TokenFile&>();
  file.check_all_ids();
  return file.bytes_per_id() == 2 ? ids_as<uint16_t>(file, self) : ids_as<uint32_t>(file, self);
}

py::str text_of(std::string_view name) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "replace"));
}

TokenDocument document_at_index(const TokenFile& file, int64_t index) {
  if (index < 0) index += file.document_count();
  if (index < 0 || index >= file.document_count()) throw py::index_error("no such document");
  return file.document(index);
}

}  // namespace

void bind_tokens(py::module_& module) {
  py::class_<TokenDocument>(module, "TokenDocument")
      .def_readonly("first_token", &TokenDocument::first_token)
      .def_readonly("token_count", &TokenDocument::token_count)
      .def_readonly("byte_count", &TokenDocument::byte_count)
      .def_readonly("word_count", &TokenDocument::word_count)
      .def_readonly("line_count", &TokenDocument::line_count)
      .def_property_readonly("name", [](const TokenDocument& document) { return text_of(document.name); });
  py::class_<TokenFile>(module, "TokenFile", "A corpus as token ids in a memory-mapped file; checked when opened.")
      .def(py::init<const std::string&>(), py::arg("path"))
      .def("__len__", &TokenFile::size)
      .def_property_readonly(
          "ids", &ids,
          "numpy view of all ids, uint16 or uint32, read-only; the first time they are compared with their checksums")
      .def_property_readonly("vocabulary_size", &TokenFile::vocabulary_size)
      .def_property_readonly("tokenizer_kind", &TokenFile::tokenizer_kind)
      .def_property_readonly("tokenizer_name", [](const TokenFile& file) { return text_of(file.tokenizer_name()); })
      .def_property_readonly("tokenizer_hash", [](const TokenFile& file) { return to_hex(file.tokenizer_hash()); })
      .def_property_readonly("data_hash", [](const TokenFile& file) { return to_hex(file.ids_hash()); })
      .def_property_readonly("document_count", &TokenFile::document_count)
      .def("document", &document_at_index, py::arg("index"), py::keep_alive<0, 1>())
      .def("document_at", &TokenFile::document_at, py::arg("token"), "the index of the document that holds a token")
      .def(
          "verify", [](const TokenFile& file) { file.verify(); }, "read everything and compare it with its hashes");
}

}  // namespace fwl
