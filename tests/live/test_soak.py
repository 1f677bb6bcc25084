# SPDX-License-Identifier: MIT
"""Three quarters of a minute of what `make soak` does for an hour."""
from harness import rounds
from soak import soak


def test_memory_stays_and_pieces_add_up(tmp_path):
    run = soak(tmp_path, max(45, rounds(45, 3600)))
    assert len(run.looks) > 20
