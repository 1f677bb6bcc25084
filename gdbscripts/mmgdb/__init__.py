# SPDX-License-Identifier: MIT
"""mmgdb: the modules of mmleak.py, which loads them into gdb.

gdb is the tracer: it plants breakpoints where mmattach's planner wants them, and reports for each hit the
site, the thread and its registers. What a hit means, stacks, tables and traces are mmattach's work: a
separate process, the engine, does that. Nothing here knows what malloc is.

    commands    what the user types             parameters  set mmleak ...
    session     the one watch, or none          watch       one watch: its start, course and end
    program     mmattach: found, run            engine      the process behind a watch, its sockets
    wire        the messages, as bytes          hits        one hit, reported and answered
    registers   of the thread that hit          frames      its stack, by gdb's unwinder
    traps       the breakpoints                 events      gdb's events: exit, exec, fork, stops
    target      may this process be watched     kernel      system calls without a name in Python
    signals     Ctrl-C, and stopping a process  timed       a watch of a given duration
    memory      what is resident, searched      pointers    who-points-at
    words       options and durations           newborn     children that have a copy of the breakpoints
"""
