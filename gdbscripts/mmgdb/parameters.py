# SPDX-License-Identifier: MIT
"""parameters: set mmleak ..., show mmleak ...: defaults for a new watch."""
import gdb


class Setting(gdb.Parameter):
    """A parameter of mmleak: it prints nothing when it is set, one line when it is shown."""

    def __init__(self, name, kind, value, shown, *enum):
        self.shown = shown
        super().__init__("mmleak " + name, gdb.COMMAND_DATA, kind, *enum)
        self.value = value

    def get_set_string(self):
        return ""

    def get_show_string(self, value):
        return self.shown % (value or self.nothing)

    nothing = "not set"


class Program(Setting):
    """The program mmattach, which does the work behind mmleak.
It must be of the same version as these scripts. Not set: the file that the
environment names as MMATTACH; else the one beside these scripts, as the source
tree or the installation has it; else the first one in the PATH."""
    set_doc = "Set which program mmattach is used."
    show_doc = "Show which program mmattach is used."
    nothing = "not set: found by itself"


class Depth(Setting):
    """How many frames of a stack are recorded, 1 to 256, or "unlimited" for as many
as the program records. Counts from the next `mmleak start` on, as --depth."""
    set_doc = "Set how many frames of a stack are kept."
    show_doc = "Show how many frames of a stack are kept."

    def get_show_string(self, value):
        return self.shown % ("unlimited" if str(value) in ("unlimited", "-1", "None") else value)


class StackBytes(Depth):
    """The most that is copied of a stack, 0 to 131072, or "unlimited" for as much
as the program copies by default. Counts from the next `mmleak start` on, as
--stack-bytes."""
    set_doc = "Set how many bytes of a stack are copied."
    show_doc = "Show how many bytes of a stack are copied."


class Sizes(Setting):
    """Sizes of blocks as the allocator has rounded them (usable), or as they were requested
(exact: one more stop for each allocation). Counts from the next `mmleak start` on,
as --sizes."""
    set_doc = "Set which sizes of blocks are counted."
    show_doc = "Show which sizes of blocks are counted."


class Family(Setting):
    """What is watched: families or packs of rules, with commas between them, as `mmattach
probes` lists them. Empty: libc. Counts from the next `mmleak start` on, as --family."""
    set_doc = "Set which families of functions are watched."
    show_doc = "Show which families of functions are watched."
    nothing = "not set: libc"


class Unwinder(Setting):
    """Which unwinder makes the stacks: mmattach's, from a copy and beside the process (the default), or
gdb, while the thread waits. gdb's is several times slower, but knows code that only
gdb knows: unwinders in Python, JIT readers. It ends at main, unless `set backtrace
past-main on`."""
    set_doc = "Set which unwinder makes the stacks."
    show_doc = "Show which unwinder makes the stacks."


class TraceDir(Setting):
    """Where the trace of a watch is written if it has no file of its own (-o). Such a trace is
deleted with the next watch, or at the end of gdb. Not set: the folder for temporary files."""
    set_doc = "Set where traces without a name are kept."
    show_doc = "Show where traces without a name are kept."
    nothing = "not set: the folder for temporary files"


def words_for(given):
    """Options for the program, from the settings here, without those in GIVEN, the user's own options."""
    values = (("--depth", number(depth)), ("--stack-bytes", number(stack_bytes)), ("--family", family.value),
              ("--sizes", "" if sizes.value == "usable" else sizes.value))
    words = []
    for name, value in values:
        if value and not any(w == name or w.startswith(name + "=") for w in given):
            words += [name, value]
    return words


def number(setting):
    """Its value as text, "" if the program decides."""
    return "" if setting.value in (None, -1) else str(setting.value)


class Prefix(gdb.Command):
    """Defaults for what `mmleak start` watches, and how.
`show mmleak` lists them all."""

    def __init__(self, name):
        super().__init__(name, gdb.COMMAND_DATA, gdb.COMPLETE_NONE, prefix=True)

    def invoke(self, words, from_tty):
        if words:
            raise gdb.GdbError('there is no setting "%s"; `help set mmleak` lists them' % words.split()[0])
        for setting in ALL:
            gdb.write(setting.get_show_string(setting.value) + "\n")


set_prefix, show_prefix = Prefix("set mmleak"), Prefix("show mmleak")
program = Program("program", gdb.PARAM_OPTIONAL_FILENAME, "", "The program mmattach is %s.")
depth = Depth("depth", gdb.PARAM_ZUINTEGER_UNLIMITED, -1, "Frames of a stack that are recorded: %s.")
stack_bytes = StackBytes("stack-bytes", gdb.PARAM_ZUINTEGER_UNLIMITED, -1,
                         "Bytes of a stack that are copied: %s.")
sizes = Sizes("sizes", gdb.PARAM_ENUM, "usable", "Sizes of blocks: %s.", ["usable", "exact"])
family = Family("family", gdb.PARAM_STRING, "", "Families that are watched: %s.")
unwinder = Unwinder("unwinder", gdb.PARAM_ENUM, "mmattach", "Stacks are walked by: %s.", ["mmattach", "gdb"])
trace_dir = TraceDir("trace-dir", gdb.PARAM_OPTIONAL_FILENAME, "", "Traces without a name are kept in: %s.")
ALL = program, depth, stack_bytes, sizes, family, unwinder, trace_dir
