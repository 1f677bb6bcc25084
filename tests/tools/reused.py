#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""reused.py MMATTACH FUNCTION VICTIM ARG...: run `MMATTACH -p PID ARG...` for a VICTIM; when it is in FUNCTION, the
victim ends and another one gets its number. Prints, as JSON, that one's tracer, whether it is alive, and how mmattach
has ended and what it printed, as gdb has them. To be run as the first process of a pid namespace, where nothing else takes numbers."""
import json
import os
import pathlib
import subprocess
import sys


def start(victim):
    process = subprocess.Popen([victim], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()  # "ready"
    return process


def start_as(pid, victim):
    pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
    process = start(victim)
    assert process.pid == pid, (process.pid, pid)
    return process


def main():
    mmattach, function, victim, *args = sys.argv[1:]
    first = start(victim)
    gdb = subprocess.Popen(["gdb", "-q", "-nx", "--interpreter=mi", "--args", mmattach, "-p", str(first.pid), *args],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def order(words, until):
        gdb.stdin.write(words + "\n")
        gdb.stdin.flush()
        said = []
        for line in gdb.stdout:
            said.append(line)
            if line.startswith(until):
                return said
        sys.exit(f"gdb has ended: {''.join(said)}")

    order(f"-break-insert {function}", "^done")
    order("-exec-run", "*stopped")
    first.kill()
    first.wait()
    second = start_as(first.pid, victim)
    said = order("-exec-continue", "*stopped")
    status = pathlib.Path(f"/proc/{second.pid}/status").read_text()
    [tracer] = [line.split()[1] for line in status.splitlines() if line.startswith("TracerPid")]
    print(json.dumps({"tracer": int(tracer), "alive": second.poll() is None, "end": said[-1], "said": "".join(said)}))
    sys.stdout.flush()
    gdb.kill()
    os.kill(second.pid, 9)


if __name__ == "__main__":
    main()
