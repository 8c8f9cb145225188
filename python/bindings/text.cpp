// Tokenizers and chat templates for Python.
#include <pybind11/numpy.h>
#include <torch/extension.h>

#include "bindings.h"
#include "support/error.h"
#include "template/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace fwl {
namespace {

using Ids = py::array_t<TokenId, py::array::c_style | py::array::forcecast>;

// `text` is bytes, or a str, which is read as UTF-8.
Ids encode(const Tokenizer& tokenizer, const py::object& text, bool special) {
  const auto bytes = text.cast<std::string_view>();
  const TextRange whole{0, bytes.size()};
  std::vector<TokenId> ids;
  {
    const py::gil_scoped_release others_may_run;
    tokenizer.encode_marked(bytes, special && !bytes.empty() ? Markup(&whole, 1) : Markup(), ids);
  }
  return Ids(static_cast<py::ssize_t>(ids.size()), ids.data());
}

py::bytes decode(const Tokenizer& tokenizer, const Ids& ids) {
  return tokenizer.decode({ids.data(), static_cast<size_t>(ids.size())});
}

using Messages = std::vector<std::map<std::string, std::string>>;  // with the keys role and content

MarkedText rendered_chat(const std::string& source, const Messages& messages, const std::string& begin_token,
                         const std::string& end_token, bool adds_generation_prompt) {
  std::vector<ChatMessage> chat;
  for (const auto& message : messages) {
    if (!message.contains("role") || !message.contains("content"))
      fail("messages", "each with role and content", "one without");
    chat.push_back({message.at("role"), message.at("content")});
  }
  const py::gil_scoped_release others_may_run;
  return ChatTemplate("chat template", source, begin_token, end_token).render(chat, adds_generation_prompt);
}

std::string render_chat_template(const std::string& source, const Messages& messages, const std::string& begin_token,
                                 const std::string& end_token, bool adds_generation_prompt) {
  return rendered_chat(source, messages, begin_token, end_token, adds_generation_prompt).text();
}

Ids encode_chat(const Tokenizer& tokenizer, const std::string& source, const Messages& messages,
                const std::string& begin_token, const std::string& end_token, bool adds_generation_prompt) {
  const auto ids = tokenizer.encode(rendered_chat(source, messages, begin_token, end_token, adds_generation_prompt));
  return Ids(static_cast<py::ssize_t>(ids.size()), ids.data());
}

}  // namespace

void bind_text(py::module_& module) {
  py::class_<Tokenizer, std::shared_ptr<Tokenizer>>(module, "Tokenizer", "Bytes to token ids and back.")
      .def("encode", &encode, py::arg("text"), py::kw_only(), py::arg("special") = false,
           "The ids of bytes or a str, as an array of int32. With special, text such as <|endoftext|> becomes control "
           "tokens.")
      .def("encode_chat", &encode_chat, py::arg("source"), py::arg("messages"), py::arg("begin_token") = "",
           py::arg("end_token") = "", py::arg("adds_generation_prompt") = true,
           "The ids of a chat by a model's template, whose own markup alone becomes control tokens.")
      .def("decode", &decode, py::arg("ids"), "The bytes that the ids stand for.")
      .def_property_readonly("kind", &Tokenizer::kind)
      .def_property_readonly("vocabulary_size", &Tokenizer::vocabulary_size)
      .def_property_readonly("begin_token", &Tokenizer::begin_token)
      .def_property_readonly("end_token", &Tokenizer::end_token)
      .def_property_readonly("hash", [](const Tokenizer& tokenizer) { return to_hex(tokenizer.hash()); });
  module.def(
      "open_tokenizer", [](const std::string& path) { return std::shared_ptr<Tokenizer>(open_tokenizer(path)); },
      py::arg("path"), "Opens 'bytes', a tokenizer.json, .gguf, .model or .vocab file, or a folder that holds one.");
  module.def("render_chat_template", &render_chat_template, py::arg("source"), py::arg("messages"),
             py::arg("begin_token") = "", py::arg("end_token") = "", py::arg("adds_generation_prompt") = true,
             "The text of a chat by a model's template; messages are dicts with role and content.");
}

}  // namespace fwl
