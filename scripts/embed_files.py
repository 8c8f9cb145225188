"""Writes files into a C++ source, so that a program carries them.

Usage: embed_files.py OUTPUT.cpp FILE…     (standard library only)
"""

import sys
from pathlib import Path


def main():
    output, *files = map(Path, sys.argv[1:])
    lines = ['#include "serve/page_files.h"', "", "namespace fwl {", "namespace {", ""]
    entries = []
    for index, file in enumerate(files):
        data = file.read_bytes()
        lines.append(f"constexpr unsigned char file_{index}[] = {{{','.join(map(str, data))}}};")
        entries.append(f'      {{"/{file.name}", {{reinterpret_cast<const char*>(file_{index}), {len(data)}}}}},')
    lines += ["", "}  // namespace", "", "const std::map<std::string, std::string_view>& page_files() {",
              "  static const std::map<std::string, std::string_view> files = {", *entries, "  };", "  return files;",
              "}", "", "}  // namespace fwl", ""]
    output.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
