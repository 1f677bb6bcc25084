/* SPDX-License-Identifier: MIT */
/*
 * heavy MIB: a process with much memory that does nothing. Half of MIB is a heap of small and medium blocks,
 * half a large mapping, all written to; besides there is a mapping of MIB of which every 64th page is
 * resident. Prints "ready PID"; ends with its stdin.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *map(size_t bytes)
{
	void *p =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	return p;
}

int main(int argc, char **argv)
{
	size_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 256) << 20, made = 0;
	uint64_t rng = 88172645463325252u;
	char *sparse;

	while (made < bytes / 2) {
		size_t n = 16 + (rng >> 33) % 20000;
		void *p = malloc(n);

		if (!p)
			return 1;
		memset(p, (int)n, n);
		made += n;
		rng = rng * 6364136223846793005u + 1442695040888963407u;
	}
	memset(map(bytes / 2), 1, bytes / 2);
	sparse = map(bytes);
	madvise(sparse, bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < bytes; i += 64 * 4096)
		sparse[i] = 1;
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
