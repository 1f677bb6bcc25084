# SPDX-License-Identifier: MIT
"""The live tests' fixtures, and mmattach with failing system calls."""
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

LIVE = pathlib.Path(__file__).resolve().parents[1] / "live"
sys.path.insert(0, str(LIVE))

from borrow import attach, ready_to_run, victim, watch  # noqa: E402, F401
from harness import MMATTACH, TOP, VICTIMS, wait_for  # noqa: E402
from faults import REFUSE, keepers  # noqa: E402


@pytest.fixture(autouse=True)
def no_keeper_stays():
    """Whatever failed, no keeper is left behind."""
    yield
    wait_for(lambda: not keepers(), "no keeper is left", 5)


@pytest.fixture(scope="session", autouse=True)
def refuse_is_built():
    assert REFUSE.exists(), f"{REFUSE} is not built: make fault"


@pytest.fixture
def ordinary():
    """ordinary(NAME): a copy of a victim, or of "mmattach", that the user "nobody" can reach; and how to run
    it as that user."""
    if os.geteuid() != 0:
        yield lambda name: MMATTACH if name == "mmattach" else VICTIMS / name, {}
        return
    folder = tempfile.mkdtemp(prefix="mmattach-fault-")
    os.chmod(folder, 0o755)
    yield (lambda name: shutil.copy(MMATTACH if name == "mmattach" else VICTIMS / name, folder),
           {"user": 65534, "group": 65534, "extra_groups": []})
    shutil.rmtree(folder)
