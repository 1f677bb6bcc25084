# SPDX-License-Identifier: MIT
"""The fixtures of the live tests, for other folders: with several files called conftest.py, none can be
imported by name."""
import importlib.util
import pathlib

_spec = importlib.util.spec_from_file_location("live_conftest", pathlib.Path(__file__).with_name("conftest.py"))
_live = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_live)
ready_to_run, victim, watch, attach = _live.ready_to_run, _live.victim, _live.watch, _live.attach
