# SPDX-License-Identifier: MIT
"""A minute of what `make soak` does for an hour."""
import pytest

from harness import rounds
from soak import soak


@pytest.mark.alone
def test_memory_stays_and_pieces_add_up(tmp_path):
    run = soak(tmp_path, max(60, rounds(80, 3600)))
    assert len(run.looks) > 20
