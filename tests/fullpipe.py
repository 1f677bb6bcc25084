# SPDX-License-Identifier: MIT
"""A pipe without a reader."""
import os


def full_pipe():
    """A pipe that is full."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    try:
        while True:
            os.write(write_end, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(write_end, True)
    return read_end, write_end
