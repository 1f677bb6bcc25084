# SPDX-License-Identifier: MIT
"""mmgdb: what mmleak.py is made of, to be loaded by it into gdb.

gdb is the tracer: it plants breakpoints where mmattach's planner wants them, and says for each hit which site,
which thread, which registers. What a hit means, stacks, tables and traces are mmattach's: a process of its
own, the engine, does that. Nothing here knows what malloc is.

    commands    what the user types             parameters  set mmleak ...
    session     the one watch, or none          watch       one watch: how it starts, goes on, ends
    program     mmattach: found, run            engine      the process behind a watch, its sockets
    wire        the messages, as bytes          hits        one hit, told and answered
    registers   of the thread that hit          frames      its stack, by gdb's unwinder
    traps       the breakpoints                 events      what gdb tells: exit, exec, fork, stops
    target      may this process be watched     kernel      system calls without a name in Python
    signals     Ctrl-C, and stopping a process  timed       a watch of a given time
    memory      what is resident, searched      pointers    who-points-at
    words       options and durations           newborn     children that have a copy of the breakpoints
"""
