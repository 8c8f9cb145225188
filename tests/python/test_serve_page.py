"""The page of fwl serve in a real Chromium, where `make test-page` has installed one; tests/page.mjs says what is tried."""

import shutil
import subprocess

import pytest

from serving import TEMPLATE
from test_perplexity import trained  # noqa: F401  (a tiny model with a fast weight layer)
from test_training_process import PROGRAM, ROOT

is_installed = shutil.which("chromium") and shutil.which("node") and (ROOT / "build/node/node_modules/playwright-core").exists()


@pytest.mark.skipif(not is_installed, reason="no browser; make test-page installs one")
def test_the_page_in_a_browser(trained, tmp_path):
    (tmp_path / "template").write_text(TEMPLATE)
    result = subprocess.run(["node", ROOT / "tests/page.mjs", PROGRAM, trained[0], tmp_path / "template", ROOT / "LICENSE",
                             ROOT / "build/page"], capture_output=True, text=True, timeout=180)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("ok: ") == 14


def test_the_page_asks_for_nothing_from_elsewhere():
    for file in (ROOT / "web").iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text and "//cdn" not in text, file.name
