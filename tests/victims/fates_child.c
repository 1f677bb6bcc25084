/* SPDX-License-Identifier: MIT */
/*
 * fates_child: the child of tests/tools/fates as a program of its own, so that its malloc may be another C
 * library's.
 *
 *	fates_child FILE THREADS SEED	FILE is shared with the parent: struct told
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>

#include "../tools/fates_child.h"

int main(int argc, char **argv)
{
	const int fd = argc == 4 ? open(argv[1], O_RDWR) : -1;

	if (fd < 0)
		return 2;
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return told == MAP_FAILED ? 2 : run_child((unsigned)atoi(argv[2]), (uint64_t)atoi(argv[3]));
}
