/* SPDX-License-Identifier: MIT */
/* The lines that test_out_scan.c expects for scan_example.h. */
#ifndef SCAN_EXAMPLE_TEXT_H
#define SCAN_EXAMPLE_TEXT_H

static const char whole[] =
	"svc (1234) has 3925 blocks in use, 4.7 MiB: definitely lost 3000 (3.0 MiB), indirectly lost 900 "
	"(1.0 MiB), possibly lost 1 (24 B)\n"
	"incomplete: 12.0 KiB of memory could not be read, the heap is corrupt at 3 places, the allocator's "
	"own figures differ; see the end of this report\n"
	"1 doubt about the verdicts; see the end of this report\n"
	"\n"
	"             bytes  share   blocks  what\n"
	"definitely lost\n"
	"  [1]      3.0 MiB    64%     3000  ns::Session<evil\\x1b[2J\"\\\\x0a\\xff\xc3\xbc;,>, and 1.0 MiB "
	"in 900 blocks with them\n"
	"\n"
	"possibly lost\n"
	"  [2]         24 B  <0.1%        1  24 bytes\n"
	"\n"
	"indirectly lost (with those above, which hold them)\n"
	"  [3]      1.0 MiB    21%      900  1032 bytes: text: \"evil\\x1b[2J\"\\\\x0a\\xff\xc3\xbc;,\"\n"
	"\n"
	"still reachable\n"
	"  [4]      684 KiB    14%       20  32 KiB to 64 KiB\n"
	"  [5]        800 B  <0.1%        4  session_open svc.c:42\n"
	"\n"
	"[1] 3.0 MiB (64%) in 3000 blocks, definitely lost, and 1.0 MiB in 900 blocks with them\n"
	"    C++ class ns::Session<evil\\x1b[2J\"\\\\x0a\\xff\xc3\xbc;,> (libsvc.so.1), 1048 bytes each, for "
	"example 0x55559000, 0x55559020, 0x55559040\n"
	"\n"
	"[2] 24 B (<0.1%) in 1 block, possibly lost\n"
	"    24 bytes each: 0x55559000\n"
	"\n"
	"[3] 1.0 MiB (21%) in 900 blocks, indirectly lost\n"
	"    1032 bytes each\n"
	"    holds text: \"evil\\x1b[2J\"\\\\x0a\\xff\xc3\xbc;,\"\n"
	"\n"
	"[5] 800 B (<0.1%) in 4 blocks, still reachable\n"
	"    200 bytes each\n"
	"    #0 session_open (svc+0x1234) /src/svc.c:42\n"
	"\n"
	"  command   svc evil\\x1b[2J\"\\\\x0a\\xff\xc3\xbc;,\n"
	"  scanned   2026-01-01 00:00:00 +0000, stopped for 34ms, the last of 2 pauses of 34ms in all, 12\n"
	"            threads, 1 of them not stopped: sleeping in calls that must not be interrupted\n"
	"  memory    64.0 MiB copied, 8192 B NOT READ: swapped out, 4096 B could NOT BE READ\n"
	"  allocator layout of glibc 2.32 to 2.41, 1 arena, 10.1 MiB from the system; its own figures and\n"
	"            what was found DIFFER\n"
	"               5.1 MiB    51%  in use, block headers included; 132 KiB of it in 1 block with a\n"
	"            mapping of its own\n"
	"               3.0 MiB    30%  free, between blocks, in 39 pieces\n"
	"               1.0 MiB   9.9%  free, at the ends of its heaps\n"
	"                 656 B  <0.1%  its own data\n"
	"                4096 B  <0.1%  NOT SEEN: behind what is corrupt, or not there to be read\n"
	"  free      39% of what it has from the system is in no block: freed, most of it between blocks that\n"
	"            are in use: fragmentation, not a leak\n"
	"  hidden    99 B in 2 blocks of 1 group, by options\n"
	"  CORRUPT   at 0x5555a000: a size that is no size: 0x41414141\n"
	"  CORRUPT   and 2 more such places\n"
	"  doubt     8192 bytes are swapped out: pointers there were not seen\n"
	"  note      of evil\\x1b[2J\"\\\\x0a\\xff\xc3\xbc;,\n";

/* With --top 0. */
static const char *const pointed[] = {
	"0x55559008 is 8 bytes inside of the block at 0x55559000 of 1048 bytes, ns::Session, definitely "
	"lost\n",
	"  block 0x55558000 (40 bytes, Node, indirectly lost) +16            points at its beginning\n",
	"  register rbx of thread 1235                                       points at its beginning\n",
	"  stack of thread 1236, sp+0x40                                     points 8 bytes inside\n",
	"  thread-local memory of thread 1236 at 0x7f0000001000              points at its beginning\n",
	"  block 0x55558000 is reached through:\n"
	"    data of svc+0x4010 (sessionsevil\\x1b[2J\"\\\\x0a\\xff\xc3\xbc;,+16)          points at its "
	"beginning\n",
	"0x1000 is in no block that is in use, but in no mapping of the process\n",
	"  nothing points there\n",
	"  data of svc+0x4010 (sessions",
	"  memory at 0x7f0000002000",
	"  the allocator's or the loader's own memory at 0x7f0000003000",
	"  and 2 more pointers\n",
};

#endif
