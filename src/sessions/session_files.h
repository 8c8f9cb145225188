// Sessions in a folder: one file each, per owner, with the version before its last change.
#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/language_model.h"

namespace fwl {

// Whose session, and its name. Names cannot leave the owner's folder.
struct SessionKey {
  std::string owner, id;
  auto operator<=>(const SessionKey&) const = default;
};

// Letters, digits, "-", "_" and "." (not first), at most 64. Throws UserError.
void check_session_id(const std::string& id);

// A session with what its user keeps beside it, e.g. the conversation so far.
struct StoredSession {
  Session session;
  std::string notes;
};

// Changes whenever the file is replaced, by whomever.
struct FileStamp {
  int64_t inode = 0, modified = 0, bytes = 0;
  auto operator<=>(const FileStamp&) const = default;
};

class SessionFiles {
 public:
  SessionFiles(std::string folder, const LanguageModel& model, std::string identity);

  struct Entry {
    std::string id;
    int64_t bytes = 0;
    double last_change = 0;  // in unix seconds
  };
  std::vector<Entry> list(const std::string& owner) const;  // most recently changed first

  std::string path(const SessionKey& key) const;
  std::string new_path(const SessionKey& key) const;            // the same, and makes the owner's folder
  std::optional<FileStamp> stamp(const SessionKey& key) const;  // nullopt: there is none

  StoredSession load(const SessionKey& key) const;  // throws NoSuchSession
  // Durable when it returns. The version before stays, for undo.
  void save(const SessionKey& key, const StoredSession& stored) const;
  void change(const SessionKey& key, const std::function<void(const std::string& path)>& action) const;
  void undo(const SessionKey& key) const;  // once per save; throws UserError if there is nothing to undo
  void remove(const SessionKey& key) const;

  std::string export_bytes(const SessionKey& key) const;
  void import_bytes(const SessionKey& key, std::string_view bytes) const;  // checks them; throws SessionExists

 private:
  std::string before_path(const SessionKey& key) const;
  void keep_before(const SessionKey& key) const;
  StoredSession load_file(const std::string& path) const;

  std::string folder_;
  const LanguageModel& model_;
  std::string identity_;
};

}  // namespace fwl
