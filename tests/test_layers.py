# SPDX-License-Identifier: MIT
"""The layers are respected, and the check that tests this does find breaches."""
import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).parent


def layers(*args):
    return subprocess.run([sys.executable, TESTS / "layers.py", *args], capture_output=True, text=True)


def written(top, files):
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_the_tree():
    result = layers()
    assert result.returncode == 0, result.stdout


def test_breaches_are_named(tmp_path):
    files = {
        "base/a.h": "",
        "trace/t.h": '#include "base/a.h"\n',
        "base/up.c": '\n#include "trace/t.h"\n',
        "report/r.c": '  #  include "attach/watch/session.h"\n',
        "attach/watch/session.h": '#include "attach/keeper/k.h"\n',
        "attach/keeper/k.h": '#include "base/a.h"\n',
        "attach/keeper/k.c": '#include "attach/keeper/k.h"\n#include "attach/probes/p.h"\n',
        "attach/probes/p.h": '#include "attach/keeper/k.h"\n#include "p.h"\n',
    }
    written(tmp_path, files)
    result = layers(str(tmp_path))
    assert result.returncode == 1
    named = [line.split(": ")[0] for line in result.stdout.splitlines()]
    assert named == ["attach/keeper/k.c:2", "attach/probes/p.h:1", "attach/probes/p.h:2", "base/up.c:2", "report/r.c:1"]


def test_a_folder_in_no_layer(tmp_path):
    written(tmp_path, {"heap/new/a.c": '#include "base/a.h"\n', "base/a.h": ""})
    result = layers(str(tmp_path))
    assert result.returncode == 1 and "stands in no layer: add heap/new" in result.stdout


def test_a_circle_of_includes(tmp_path):
    written(tmp_path, {"base/a.h": '#include "base/b.h"\n', "base/b.h": '#include "base/c.h"\n', "base/c.h": '#include "base/a.h"\n'})
    result = layers(str(tmp_path))
    assert result.returncode == 1 and result.stdout == "a circle of includes: base/a.h, base/b.h, base/c.h\n"


def test_a_shared_guard(tmp_path):
    guarded = "#ifndef MM_{0}_H\n#define MM_{0}_H\n#endif\n"
    written(tmp_path, {"base/a.h": guarded.format("A"), "trace/a.h": guarded.format("A"), "trace/b.h": guarded.format("B")})
    result = layers(str(tmp_path))
    assert result.returncode == 1 and result.stdout == "MM_A_H guards base/a.h, trace/a.h\n"


def test_a_circle_of_calls(tmp_path):
    """There is no circle if a file calls only itself, or if calls go one way."""
    written(tmp_path, {"base/a.c": "void b(void); void a(void); void a(void) { b(); }\n",
                       "base/b.c": "void a(void); void b(void); void b(void) { a(); }\n",
                       "base/c.c": "void a(void); void c(void); void c(void) { a(); c(); }\n"})
    objects = tmp_path / "objects"
    (objects / "base").mkdir(parents=True)
    for name in "abc":
        subprocess.run(["cc", "-c", "-o", objects / f"base/{name}.o", tmp_path / f"base/{name}.c"], check=True)
    result = layers(str(tmp_path), str(objects))
    assert result.returncode == 1
    assert result.stdout.splitlines() == ["a circle of calls: base/a, base/b", "    base/a -> base/b: b", "    base/b -> base/a: a"]
