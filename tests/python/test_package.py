"""The C++ package: what is installed, a project of its own that uses it, and fwl as a folder of another project."""

import os
import re
import sys

import pytest
from test_training_process import PROGRAM, ROOT, run
from tiny_gguf import write_tiny_gguf


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("installed")
    made = run(["cmake", "--install", PROGRAM.parent, "--prefix", prefix])
    assert made.returncode == 0, made.stderr
    return prefix


def configured(source, build, *settings):
    return run(["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", *settings])


def library(prefix):
    [found] = prefix.glob("lib*/**/libfwl.so")
    return found


def test_the_library_has_a_version_and_exports_only_its_own_names(installed):
    file = library(installed)
    header = run(["readelf", "-d", file]).stdout
    assert re.search(r"SONAME.*libfwl\.so\.\d+\.\d+\]", header) and file.resolve().name.count(".") == 4
    names = run(["nm", "-DC", "--defined-only", file]).stdout.splitlines()
    assert any("fwl::open_model(" in name for name in names)
    foreign = [name for name in names if "fwl::" not in name]
    assert not foreign, foreign[:5]


def test_a_project_of_its_own_finds_the_package_and_runs(installed, tmp_path):
    made = configured(ROOT / "examples/embed", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}")
    assert made.returncode == 0, made.stderr
    built = run(["cmake", "--build", tmp_path / "build"])
    assert built.returncode == 0, built.stdout
    model = write_tiny_gguf(tmp_path / "tiny.gguf")
    shown = run([tmp_path / "build/embed", model, ROOT / "CONTRIBUTING.md", "the"])
    assert shown.returncode == 0, shown.stderr
    assert re.match(r"read \d+ tokens, \d+\.\d\d nats each\nthe", shown.stdout)
    missing = run([tmp_path / "build/embed", tmp_path / "no.gguf", ROOT / "CONTRIBUTING.md", "the"])
    assert missing.returncode == 1 and len(missing.stderr.splitlines()) == 1


def test_another_version_is_refused_when_it_is_looked_for(installed, tmp_path):
    project = tmp_path / "CMakeLists.txt"
    project.write_text("cmake_minimum_required(VERSION 3.25)\nproject(other LANGUAGES CXX)\nfind_package(fwl 0.2 REQUIRED)\n")
    made = configured(tmp_path, tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}")
    assert made.returncode != 0 and "0.1.0" in made.stderr


def test_fwl_is_a_folder_of_another_project(tmp_path):
    (tmp_path / "main.cpp").write_text('#include "store/open_model.h"\nint main() { return 0; }\n')
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(other LANGUAGES CXX)\n"
        f"add_subdirectory({ROOT} fwl)\nadd_executable(other main.cpp)\ntarget_link_libraries(other PRIVATE fwl::fwl)\n")
    made = configured(tmp_path, tmp_path / "build", f"-DPython_EXECUTABLE={sys.executable}")
    assert made.returncode == 0, made.stderr
    steps = run(["ninja", "-C", tmp_path / "build", "-t", "commands", "other"]).stdout
    assert "libfwl.so" in steps and "main.cpp" in steps and "fwl_tests" not in steps and "/cli/" not in steps


def test_the_installed_program_finds_the_installed_adapters(installed, tmp_path):
    model = write_tiny_gguf(tmp_path / "tiny.gguf")
    result = run([installed / "bin/fwl", "generate", "-m", model, "--adapter", "no-such", "-p", "a"],
                 env={**os.environ, "FWL_DATA": str(tmp_path)})
    assert result.returncode == 1 and "smollm2-135m-blocks" in result.stderr
