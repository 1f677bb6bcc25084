# SPDX-License-Identifier: MIT
"""The outputs for the inputs of tests/golden are the same as before, to the byte: make goldens."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "golden"))
import run  # noqa: E402


def test_all_are_as_expected():
    outputs = run.run()
    wrong = [text for text in (run.differences(name, got) for name, got in outputs.items()) if text]
    assert not wrong, "".join(wrong)
    assert sorted(p.name for p in run.EXPECTED.iterdir()) == sorted(outputs)


def test_a_difference_is_seen(tmp_path, monkeypatch):
    """One byte of one golden."""
    name = "report-refs.text"
    changed = bytearray((run.EXPECTED / name).read_bytes())
    changed[-2] ^= 1
    (tmp_path / name).write_bytes(changed)
    monkeypatch.setattr(run, "EXPECTED", tmp_path)
    assert name in run.differences(name, run.run(name)[name])
