# SPDX-License-Identifier: MIT
"""A virtual machine that runs the checks with one kernel: emulated (KVM is not needed), without a network. Its
results arrive by a serial line of their own, one at a time."""
import contextlib
import json
import pathlib
import shutil
import subprocess
import tempfile
import time

QEMU = "qemu-system-x86_64"
MEMORY = "1024"
# Without what only makes an emulated one slower: a fifth level of page tables, and checks of what the kernel accesses.
CPU = "max,la57=off,smap=off,smep=off,pku=off,umip=off"
LIMIT = 600.0  # seconds without a result, after which it is ended
TAIL = 30       # lines of the console that are kept if it ends too early


class Stopped(Exception):
    """The virtual machine ended, or was ended, before its checks were done; the message has what it printed last."""


def command(kernel, image, folder, processors, arguments):
    line = " ".join(["console=ttyS0", "quiet", "panic=-1", *(f"{name}={value}" for name, value in arguments.items())])
    return [QEMU, "-accel", "tcg,thread=single", "-cpu", CPU, "-m", MEMORY, "-smp", str(processors), "-nic", "none",
            "-display", "none", "-no-reboot", "-kernel", kernel, "-initrd", image, "-append", line,
            "-serial", f"file:{folder}/console", "-serial", f"file:{folder}/results"]


@contextlib.contextmanager
def running(argv):
    process = subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def last_lines(path):
    text = path.read_text(errors="replace") if path.exists() else ""
    return "\n".join(text.splitlines()[-TAIL:])


def lines_of(path, process):
    """The complete lines of the file, as they are written, until the process has ended."""
    until, rest, at = time.monotonic() + LIMIT, "", 0
    while True:
        ended = process.poll() is not None
        with open(path, errors="replace") as file:
            file.seek(at)
            new = file.read()
            at = file.tell()
        *whole, rest = (rest + new).split("\n")
        yield from (line.strip("\r") for line in whole)
        if whole:
            until = time.monotonic() + LIMIT
        if ended or time.monotonic() > until:
            return
        time.sleep(0.2)


def results(kernel, image, processors, arguments):
    """Each result, as it comes. Raises Stopped unless the last one, of the kernel's own log, has come."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mm-kernel."))
    try:
        (folder / "results").touch()
        last = None
        with running(command(kernel, image, folder, processors, arguments)) as process:
            for line in lines_of(folder / "results", process):
                last = json.loads(line)
                yield last
        if last is None or last["check"] != "log":
            raise Stopped(f"after {last['check'] if last else 'nothing'}:\n{last_lines(folder / 'console')}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
