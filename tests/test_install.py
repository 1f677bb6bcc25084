# SPDX-License-Identifier: MIT
"""make install, make uninstall: what is installed works without the source tree, and none of it is left."""
import os
import pathlib
import shutil
import subprocess

import pytest

from test_unit import BUILD

TOP = pathlib.Path(__file__).parent.parent


def make(*words):
    """The variant that is tested. Under make check the flags are those of the build: nothing is built
    again."""
    variant = ["DEBUG=1"] if BUILD.name == "debug" else []
    subprocess.run(["make", "-s", *variant, *words], cwd=TOP, check=True, stdout=subprocess.DEVNULL,
                   timeout=300)


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def files(folder):
    return {name: (folder / name).read_bytes() for name in tree(folder) if (folder / name).is_file()}


@pytest.fixture(scope="module", autouse=True)
def no_sanitizers():
    if "-" in BUILD.name:
        pytest.skip("optional: a build with sanitizers is for no installation")


def test_staging_leaves_nothing(tmp_path):
    stage = tmp_path / "stage"
    make("install", f"DESTDIR={stage}", "prefix=/usr")
    there = tree(stage)
    for name in ("usr/bin/mmattach", "usr/share/mmattach/mmleak.py", "usr/share/mmattach/mmgdb/wire.py",
                 "usr/share/man/man1/mmattach.1", "usr/share/man/man1/mmattach-report.1",
                 "usr/share/man/man5/mmattach-rules.5", "usr/share/bash-completion/completions/mmattach",
                 "usr/share/zsh/site-functions/_mmattach", "usr/share/fish/vendor_completions.d/mmattach.fish",
                 "usr/share/doc/mmattach/LICENSE", "usr/share/doc/mmattach/rules.md"):
        assert name in there
    pages = [pathlib.Path(name).name for name in there if "/man/man" in name and name[-2] == "."]
    assert sorted(pages) == sorted(path.name for path in (TOP / "man").glob("*.[1-9]"))
    assert oct((stage / "usr/bin/mmattach").stat().st_mode)[-3:] == "755"
    make("uninstall", f"DESTDIR={stage}", "prefix=/usr")
    assert tree(stage) == []


def test_what_was_there_stays(tmp_path):
    """Without DESTDIR, into folders that others use, too."""
    prefix = tmp_path / "p"
    for name in ("bin/other", "share/man/man1/other.1", "share/mmattach-other/x", "share/doc/other/README"):
        (prefix / name).parent.mkdir(parents=True, exist_ok=True)
        (prefix / name).write_text(name)
    before = files(prefix)
    make("install", f"prefix={prefix}")
    make("install", f"prefix={prefix}")     # over itself
    # as gdb does
    subprocess.run(["python3", "-m", "compileall", "-q", prefix / "share/mmattach/mmgdb"], check=True)
    make("uninstall", f"prefix={prefix}")
    assert files(prefix) == before
    assert not [name for name in tree(prefix) if name.endswith("/mmattach")]
    make("uninstall", f"prefix={prefix}")   # of nothing: no error


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Installed with unusual folders, once: nothing is changed there."""
    tmp_path = tmp_path_factory.mktemp("elsewhere")
    folders = {"prefix": "p", "bindir": "my/sbin", "datadir": "data", "mandir": "manuals", "docdir": "papers"}
    make("install", *(f"{name}={tmp_path / folder}" for name, folder in folders.items()))
    return tmp_path


def hidden_tree(*words, cwd, **env):
    """With an empty folder mounted over the source tree."""
    hide = 'mount -t tmpfs none "$0" && cd "$1" && shift && exec "$@"'
    if os.geteuid():
        pytest.skip("hiding the source tree needs root")
    return subprocess.run(["unshare", "--mount", "sh", "-c", hide, TOP, cwd, *words], capture_output=True,
                          text=True, timeout=120, env={**os.environ, **env})


def test_runs_without_the_source_tree(elsewhere):
    shutil.copy(TOP / "tests/golden/inputs/service.mmt", elsewhere)
    program = elsewhere / "my/sbin/mmattach"
    report = hidden_tree(program, "report", "service.mmt", cwd=elsewhere)
    assert report.returncode == 0 and "still allocated" in report.stdout
    assert not hidden_tree("ls", TOP, cwd=elsewhere).stdout
    # the packs are part of it
    assert "family libc" in hidden_tree(program, "probes", cwd=elsewhere).stdout
    assert hidden_tree(program, "--growth", "--", "true", cwd=elsewhere).returncode == 0


def test_gdb_finds_program_and_scripts(elsewhere):
    said = hidden_tree("gdb", "-nx", "-batch", "-ex", f"source {elsewhere}/data/mmattach/mmleak.py",
                       "-ex", "python import mmgdb.program; print('found', mmgdb.program.find())", cwd=elsewhere,
                       MMATTACH="")
    assert f"found {elsewhere}/my/sbin/mmattach" in said.stdout, said


def test_the_manual_names_the_folders(elsewhere):
    page = (elsewhere / "manuals/man1/mmattach-gdb.1").read_text()
    assert f"source {elsewhere}/data/mmattach/mmleak.py" in page and "/usr/local" not in page
    assert f"{elsewhere}/papers/rules.md" in (elsewhere / "manuals/man5/mmattach-rules.5").read_text()
    assert (elsewhere / "papers/rules.md").exists()


def test_completion_of_the_installed_one(elsewhere):
    script = (f'. {elsewhere}/data/bash-completion/completions/mmattach; COMP_WORDS=("$@"); COMP_CWORD=1; '
              '_mmattach; echo "${COMPREPLY[@]}"')
    said = hidden_tree("bash", "-c", script, "bash", elsewhere / "my/sbin/mmattach", "--unw", cwd=elsewhere)
    assert said.stdout == "--unwinder\n"
