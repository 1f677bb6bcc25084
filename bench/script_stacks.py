# SPDX-License-Identifier: MIT
"""What the frames of a script in Python or Ruby cost: a pair of malloc and free with them and without, by both engines, below
12 and 60 frames of a script. The sides alternate; what the pair costs without a watch is left out, and so is the
time in which the script waits for a processor."""
import pathlib
import subprocess

from sides import Failed, Mmattach, end, read_line

FOLDER = pathlib.Path(__file__).parent
TARGETS = {"python": ["/usr/bin/python3", FOLDER / "python_pairs.py"], "ruby": ["/usr/bin/ruby", FOLDER / "ruby_pairs.rb"]}
FRAMES = {12: 1.5, 60: None}  # at most
ENGINES = ["ptrace", "uprobe"]


class Script:
    """python_pairs.py or ruby_pairs.rb."""

    def __init__(self, language, frames):
        self.language = language
        self.process = subprocess.Popen([*TARGETS[language], str(frames)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=0)
        self.pid = int(read_line(self.process.stdout, "the script"))
        self.tids = [self.pid]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.stdin.close()
        end(self.process)
        self.process.stdout.close()

    def ns(self, ms):
        self.process.stdin.write(b"%d\n" % ms)
        return float(read_line(self.process.stdout, "the script"))


class Watch(Mmattach):
    def __init__(self, target, engine, scripts):
        self.options = ["--engine", engine, f"--{target.language}", scripts, "--verdicts", "no"]
        super().__init__(target)

    def find_keeper(self):
        return self.process.pid if "uprobe" in self.options else super().find_keeper()


def cost(script, engine, scripts, plan):
    """Of a pair, in ns."""
    with Watch(script, engine, scripts):
        script.ns(1000)
        return script.ns(plan.slice_ms)


def rows(plan, language):
    for frames, most in FRAMES.items():
        with Script(language, frames) as script:
            for engine in ENGINES:
                values, extra = [], []
                for turn in range(plan.rounds):
                    plain = script.ns(plan.slice_ms // 4)
                    order = ["off", "auto"] if turn % 2 else ["auto", "off"]
                    ns = {scripts: cost(script, engine, scripts, plan) - plain for scripts in order}
                    if ns["off"] <= 0:
                        raise Failed(f"a watch by {engine} costs nothing")
                    values.append(ns["auto"] / ns["off"])
                    extra.append((ns["auto"] - ns["off"]) / 1000)
                yield {"name": f"{language}{frames}/{engine}", "values": values, "at_most": most,
                       "what": f"{engine}: a pair with {frames} frames of a script / without"}
                yield {"name": f"{language}{frames}/{engine}/us", "values": extra, "unit": "us",
                       "what": f"{engine}: what the {frames} frames cost"}
