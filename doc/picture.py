#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""picture: doc/report.png, the picture of a page (--format html) in README.md, from a real run: needs chromium.

    make all victims && python3 doc/picture.py
"""
import pathlib
import subprocess
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
SECONDS = "20s"
SIZE = "1120,860"


def run(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def watch(page):
    """A page of a service that leaks."""
    with subprocess.Popen([TOP / "build/victims/leaky_service"], stdout=subprocess.PIPE) as service:
        try:
            service.stdout.readline()
            run(TOP / "mmattach", "-p", service.pid, "-d", SECONDS, "--format", "html", "--report", page)
        finally:
            service.terminate()


with tempfile.TemporaryDirectory() as folder:
    watch(pathlib.Path(folder) / "page.html")
    run("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={SIZE}",
        f"--user-data-dir={folder}/browser", f"--screenshot={TOP}/doc/report.png", f"file://{folder}/page.html")
