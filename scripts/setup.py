"""Installs what fwl needs, as listed in dependencies.toml: system packages, then .venv with the Python packages.

Usage: python3 scripts/setup.py [build|test|lint|fuzz|bench|page|lm_eval]     (standard library only; safe to repeat)
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"


def say(message):
    print(f"setup: {message}", flush=True)


def stop(message):
    say(message)
    sys.exit(1)


def is_installed(package):
    query = ["dpkg-query", "-W", "-f=${Status}", package]
    return subprocess.run(query, capture_output=True, text=True).stdout.endswith(" installed")


def install_system(packages):
    if not shutil.which("dpkg-query"):
        say("not a Debian system: make sure that these packages' contents are present: " + " ".join(packages))
        return
    missing = [package for package in packages if not is_installed(package) and not shutil.which(package)]
    if not missing:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if os.geteuid() != 0:
        stop("system packages are missing; run this, then repeat: sudo " + " ".join(command))
    say("installing system packages: " + " ".join(missing))
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with (ROOT / "build" / "setup.log").open("w") as log:
        for step in (["apt-get", "update"], command):
            if subprocess.run(step, env=environment, stdout=log, stderr=log).returncode:
                stop(f"`{' '.join(step)}` failed; see build/setup.log")


def install_python(packages):
    python = VENV / "bin" / "python"
    if not python.exists():
        say("creating .venv")
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    pins = [f"{name}=={version}" for name, (version, _) in packages.items()]
    say("installing Python packages: " + " ".join(pins))
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins]
    if subprocess.run(pip).returncode:
        stop("pip could not install the packages above; is a package index within reach?")
    # `import fwl` in .venv finds the module that make build places in python/.
    site = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True).stdout.strip()
    (Path(site) / "fwl.pth").write_text(f"{ROOT / 'python'}\n")


def install_node(packages):
    pins = [f"{name}@{version}" for name, (version, _) in packages.items()]
    say("installing npm packages: " + " ".join(pins))
    if subprocess.run(["npm", "install", "--silent", "--no-save", "--prefix", str(ROOT / "build/node"), *pins]).returncode:
        stop("npm could not install the packages above; is a registry within reach?")


def main():
    group = sys.argv[1] if len(sys.argv) > 1 else "build"
    if sys.version_info < (3, 11):
        stop(f"expected Python 3.11 or newer, got {sys.version.split()[0]}")
    (ROOT / "build").mkdir(exist_ok=True)
    dependencies = tomllib.loads((ROOT / "dependencies.toml").read_text())
    system, python = dependencies["system"], dependencies["python"]
    groups = {"build": python["build"], "test": python["test"], "lint": {}, "fuzz": {}, "page": {},
              "bench": python["test"], "lm_eval": {**python["test"], **python["lm_eval"]}}
    if group not in groups:
        stop(f"expected one of {', '.join(groups)}, got {group}")
    install_system(list(system.get(group, {})))
    if groups[group]:
        install_python(groups[group])
    if group in dependencies["node"]:
        install_node(dependencies["node"][group])
    (VENV / f".{group}-ready").touch()


if __name__ == "__main__":
    main()
