# SPDX-License-Identifier: MIT
"""The live tests' fixtures, and real services as targets (recipes/), each in a folder of its own."""
import contextlib
import pathlib
import sys
import tempfile

import pytest

LIVE = pathlib.Path(__file__).resolve().parents[1] / "live"
sys.path.insert(0, str(LIVE))

from borrow import attach, ready_to_run, victim, watch  # noqa: E402, F401
from harness import TOP  # noqa: E402
from service import missing  # noqa: E402

BUILT = TOP / "build/real"


@pytest.fixture
def built():
    """built(NAME): a target of tests/real/targets; its build needs packages that may not be installed."""
    def path(name):
        if not (BUILT / name).exists():
            pytest.skip(f"optional: {name} was not built: what it is built with is not installed (make real)")
        return BUILT / name

    return path


@contextlib.contextmanager
def services():
    """Yields a function that starts a service, which runs until this block ends, in a folder of its own. That is not in
    pytest's, to which another user has no access, and which each pytest that begins makes so."""
    running, folders = [], []

    def start(recipe, *args, **kwargs):
        if missing(*recipe.needs):
            pytest.skip(f"optional: not installed: {' '.join(missing(*recipe.needs))}")
        folders.append(tempfile.TemporaryDirectory(prefix="mm-real-"))
        running.append(recipe(folders[-1].name, *args, **kwargs))
        return running[-1].__enter__()

    yield start
    for service in reversed(running):
        service.__exit__()
    for folder in folders:
        folder.cleanup()


@pytest.fixture
def serve():
    """serve(RECIPE, ...): a service that runs until the test ends."""
    with services() as start:
        yield start


@pytest.fixture(scope="module")
def serve_all():
    """As serve, but it runs until the tests of the file have ended: they must not disturb each other."""
    with services() as start:
        yield start
