# SPDX-License-Identifier: MIT
"""A plugin is closed, and its file is mapped as data at the address of its code, while traps are planted and
lifted: nothing must be written there.

The victim (reload.c) does this all the time. Before the mapping was checked, its file had been changed within
a second.
"""
import shutil

import pytest

from harness import VICTIMS, Watch, rounds
from untouched import assert_untouched

PLUGIN = VICTIMS / "libreload.so"


@pytest.fixture
def reloader(victim, tmp_path):
    """The victim, and its own copy of the plugin."""
    shutil.copy(PLUGIN, tmp_path)
    return victim("reload", tmp_path / PLUGIN.name), tmp_path / PLUGIN.name


def assert_whole(target, plugin, told):
    assert told["changed"] == 0 and plugin.read_bytes() == PLUGIN.read_bytes(), told
    assert_untouched(target)


@pytest.mark.parametrize("order", ["closed", "unmapped"])
def test_the_file_as_data(reloader, order):
    target, plugin = reloader
    watch = Watch("-p", target.pid, "--budget", "20%").wait_watching()
    ms = 1000 * rounds(8, 120)
    told = target.ask(f"{order} {ms}", limit=ms / 1000 + 60)
    assert told["turns"] > ms / 1000, told
    watch.finish()
    assert_whole(target, plugin, told)
    target.end()


def test_often(reloader):
    """Loaded, called and unloaded every 20 ms without a pause."""
    target, plugin = reloader
    for _ in range(rounds(3, 50)):
        watch = Watch("-p", target.pid, "--budget", "20%").wait_watching()
        told = target.ask("plain 3000", limit=60)
        watch.finish()
        assert_whole(target, plugin, told)
        assert told["turns"] > 10, told
    target.end()
