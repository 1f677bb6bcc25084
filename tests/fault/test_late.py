# SPDX-License-Identifier: MIT
"""The keeper loses its processor between its check of the code and the write of a trap."""
import os
import shutil

import pytest

from faults import SANITIZED
from harness import TOP, VICTIMS, Watch, rounds
from untouched import assert_untouched

LATE = TOP / "build/fault/late.so"
PLUGIN = VICTIMS / "libreload.so"


@pytest.mark.skipif(SANITIZED, reason="a sanitizer must be the first library")
def test_code_becomes_data_meanwhile(victim, tmp_path):
    """The plugin's file is mapped for writing (reload.c): an int3 in it would stay, and kill the next process
    that loads it. Without the check that took some seconds at most."""
    assert LATE.exists(), f"{LATE} is not built: make fault"
    shutil.copy(PLUGIN, tmp_path)
    plugin = tmp_path / PLUGIN.name
    target = victim("reload", plugin)
    watch = Watch("-p", target.pid, "--budget", "20%", env={**os.environ, "LD_PRELOAD": str(LATE)}).wait_watching()
    ms = 1000 * rounds(12, 120)
    told = target.ask(f"unmapped {ms}", limit=ms / 1000 + 60)
    watch.finish()
    assert plugin.read_bytes() == PLUGIN.read_bytes(), told
    assert told["turns"] > ms / 1000, told
    assert_untouched(target)
    target.end()
