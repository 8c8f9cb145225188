"""Builds the wheel, installs it in a fresh environment and runs it: time, size, and what it leaves of torch and numpy.

python benchmarks/wheel.py OUT.json [--wheel FILE] [--torch 2.13.0] [--numpy 2.3.4]

With --wheel an existing one is installed instead. The environment has the given torch and numpy before, which the wheel must
leave as they are.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import zipfile
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROBE = "import fwl, numpy, torch; print(numpy.__version__, torch.__version__, fwl.__version__, fwl.find_adapter('smollm2-135m'))"


def run(*command, **options):
    made = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    if made.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{made.stdout[-2000:]}{made.stderr[-2000:]}")
    return made.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--torch", default="2.13.0")
    parser.add_argument("--numpy", default="2.3.4")
    options = parser.parse_args()
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        wheel = options.wheel
        if not wheel:
            start = time.monotonic()
            run(sys.executable, "-m", "pip", "wheel", ROOT, "--no-deps", "--wheel-dir", folder)
            result["build_seconds"] = time.monotonic() - start  # with the download of torch for the build
            [wheel] = folder.glob("fwl-*.whl")
        result["bytes"] = wheel.stat().st_size
        with zipfile.ZipFile(wheel) as files:
            result["unpacked_bytes"] = sum(entry.file_size for entry in files.infolist())
            result["files"] = len(files.namelist())
        run(sys.executable, "-m", "venv", folder / "venv")
        binaries = folder / "venv/bin"
        pip = [binaries / "python", "-m", "pip", "install", "--quiet"]
        run(*pip, f"torch=={options.torch}", f"numpy=={options.numpy}")
        run(*pip, wheel)
        numpy, torch, version, adapter = run(binaries / "python", "-c", PROBE, cwd=folder).split()
        assert (numpy, torch.split("+")[0]) == (options.numpy, options.torch), "the wheel replaced numpy or torch"
        assert Path(adapter).is_relative_to(folder / "venv"), adapter
        shown = [run(*command, "version", cwd=folder) for command in ((binaries / "fwl",), (binaries / "python", "-m", "fwl"))]
        assert shown[0] == shown[1] and version in shown[0], shown
        result |= {"wheel": wheel.name, "installed_beside": {"numpy": numpy, "torch": torch}, "fwl_version": shown[0].splitlines()}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({**result, "command": "python " + " ".join(sys.argv), "date": date.today().isoformat(),
                                       "load": os.getloadavg()[0],
                                       "machine": f"{platform.machine()}, {os.cpu_count()} cores"}, indent=1) + "\n")
    print(options.out.read_text())


if __name__ == "__main__":
    main()
