# SPDX-License-Identifier: MIT
"""A minute and a half of what `make soak` does for an hour."""
import pytest

from harness import rounds
from soak import soak

pytestmark = pytest.mark.waiting


def test_memory_stays_and_pieces_add_up(tmp_path):
    run = soak(tmp_path, max(90, rounds(90, 3600)))
    assert len(run.looks) > 20
