#include "sessions/session_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "engine/torch.h"
#include "files/atomic_file.h"
#include "files/folder.h"
#include "files/memory_map.h"
#include "model/session_file.h"
#include "sessions/session_errors.h"
#include "support/printable.h"

namespace fwl {
namespace {

constexpr const char* conversation_note = "conversation";

constexpr const char* suffix = ".session";
constexpr size_t longest_id = 64;

bool is_id_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) || letter == '-' || letter == '_' || letter == '.';
}

}  // namespace

void check_session_id(const std::string& id) {
  const bool is_valid = !id.empty() && id.size() <= longest_id && id.front() != '.' &&
                        std::ranges::all_of(id, [](char letter) { return is_id_letter(letter); });
  if (!is_valid)
    fail("session id", "up to 64 letters, digits, '-', '_' and '.', not starting with '.'", "'" + printable(id) + "'");
}

SessionFiles::SessionFiles(std::string folder, const LanguageModel& model, std::string identity)
    : folder_(std::move(folder)), model_(model), identity_(std::move(identity)) {
  make_folder(folder_);
}

std::string SessionFiles::path(const SessionKey& key) const {
  check_session_id(key.id);
  return folder_ + "/" + key.owner + "/" + key.id + suffix;
}

std::string SessionFiles::new_path(const SessionKey& key) const {
  const auto file = path(key);
  make_folder(folder_ + "/" + key.owner);
  return file;
}

std::string SessionFiles::before_path(const SessionKey& key) const {
  return path(key) + ".before";
}

std::optional<FileStamp> SessionFiles::stamp(const SessionKey& key) const {
  struct stat facts {};
  if (stat(path(key).c_str(), &facts) != 0) return std::nullopt;
  return FileStamp{static_cast<int64_t>(facts.st_ino),
                   static_cast<int64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 + facts.st_mtim.tv_nsec, facts.st_size};
}

std::vector<SessionFiles::Entry> SessionFiles::list(const std::string& owner) const {
  std::vector<Entry> entries;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder_ + "/" + owner, error)) {
    if (file.path().extension() != suffix) continue;
    Entry entry{file.path().stem().string()};
    const auto found = stamp({owner, entry.id});
    if (!found) continue;  // deleted in the meantime
    entry.bytes = found->bytes;
    entry.last_change = static_cast<double>(found->modified) * 1e-9;
    entries.push_back(entry);
  }
  std::ranges::sort(entries, std::ranges::greater(), &Entry::last_change);
  return entries;
}

StoredSession SessionFiles::load_file(const std::string& path) const {
  return {model_.load_session(path, identity_), session_note(open_session_file(path), conversation_note)};
}

StoredSession SessionFiles::load(const SessionKey& key) const {
  if (!stamp(key)) throw NoSuchSession(error_line("session", "an existing one", "'" + key.id + "'"));
  return load_file(path(key));
}

// The current version becomes the one before, and stays the current one until it is replaced.
void SessionFiles::keep_before(const SessionKey& key) const {
  const auto current = path(key), before = before_path(key), linked = before + ".new";
  unlink(linked.c_str());
  if (link(current.c_str(), linked.c_str()) == 0)
    std::filesystem::rename(linked, before);
  else
    unlink(before.c_str());  // a first version: nothing to undo
}

void SessionFiles::save(const SessionKey& key, const StoredSession& stored) const {
  make_folder(folder_ + "/" + key.owner);
  keep_before(key);
  model_.save_session(stored.session, path(key), identity_, CachePrecision::full, {{conversation_note, stored.notes}});
}

void SessionFiles::change(const SessionKey& key, const std::function<void(const std::string& path)>& action) const {
  if (!stamp(key)) throw NoSuchSession(error_line("session", "an existing one", "'" + key.id + "'"));
  keep_before(key);
  action(path(key));
}

void SessionFiles::undo(const SessionKey& key) const {
  if (!stamp(key)) throw NoSuchSession(error_line("session", "an existing one", "'" + key.id + "'"));
  if (std::rename(before_path(key).c_str(), path(key).c_str()) != 0)
    fail("undo", "a request to undo", "none", "only the last one can be undone");
}

void SessionFiles::remove(const SessionKey& key) const {
  if (!std::filesystem::remove(path(key)))
    throw NoSuchSession(error_line("session", "an existing one", "'" + key.id + "'"));
  unlink(before_path(key).c_str());
}

std::string SessionFiles::export_bytes(const SessionKey& key) const {
  if (!stamp(key)) throw NoSuchSession(error_line("session", "an existing one", "'" + key.id + "'"));
  return std::string(MemoryMap(path(key)).text());
}

void SessionFiles::import_bytes(const SessionKey& key, std::string_view bytes) const {
  if (stamp(key)) throw SessionExists(error_line("session", "a new id", "'" + key.id + "'", "it exists already"));
  make_folder(folder_ + "/" + key.owner);
  const auto arriving = path(key) + ".import";
  write_file_atomically(arriving, bytes);
  try {
    const auto stored = load_file(arriving);
    if (stored.session.sequences() != 1) fail("session", "one text", std::to_string(stored.session.sequences()));
    std::filesystem::rename(arriving, path(key));
  } catch (...) {
    unlink(arriving.c_str());
    throw;
  }
}

}  // namespace fwl
