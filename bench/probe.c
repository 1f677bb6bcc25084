/* SPDX-License-Identifier: MIT */
/*
 * probe: the reference of the second engine. The least that a uprobe costs: the kernel counts the hits of one
 * thread at one instruction, which it need not single-step, and runs nothing.
 *
 *	probe TID FILE OFFSET	prints "ready" when the probe is planted, and the hits when its stdin ends
 *
 * What an entry into the kernel costs differs by a factor of five between machines, so microseconds of a hit
 * mean something only beside this. OFFSET is that of bare_hit (bench/target.c) in FILE.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The number of this kind of event, or -1. */
static int event_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type = -1;

	if (f && fscanf(f, "%d", &type) != 1)
		type = -1;
	if (f)
		fclose(f);
	return type;
}

static int plant(pid_t tid, const char *file, uint64_t offset)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .uprobe_path = (uintptr_t)file, .probe_offset = offset };
	int type = event_type();

	if (type < 0)
		return -ENOENT;
	attr.type = (uint32_t)type;
	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int main(int argc, char **argv)
{
	uint64_t hits = 0;
	int fd;

	if (argc != 4) {
		fprintf(stderr, "usage: probe TID FILE OFFSET\n");
		return 2;
	}
	fd = plant((pid_t)strtol(argv[1], NULL, 10), argv[2], strtoull(argv[3], NULL, 0));
	if (fd < 0) {
		fprintf(stderr, "probe: cannot plant: %s\n", strerror(errno));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	if (read(fd, &hits, sizeof(hits)) != sizeof(hits))
		return 1;
	printf("%llu\n", (unsigned long long)hits);
	return 0;
}
