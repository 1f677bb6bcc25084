/* SPDX-License-Identifier: MIT */
/*
 * callsites FILE TARGET...: the calls of the targets in FILE, as attach/probes/callsites.h finds them, for a
 * test that compares.
 *
 * A TARGET is a name as imported, NAME=ADDR with its (hexadecimal) address in the file, or =ADDR. Prints a
 * line "call RET FUNCTION TARGET JOINED" for each call, "tail ..." for each jump, addresses hexadecimal, and
 * at last "unsure N ms N": the CPU time of finding the calls, the file's tables included.
 *
 * callsites -l: each line of stdin is an instruction's bytes in hexadecimal with others behind it; prints how
 * long it is, or 0 if it is none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "attach/probes/callsites.h"
#include "attach/probes/code/insnlen.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct callsite_target target_of(char *arg)
{
	char *address = strchr(arg, '=');

	if (address)
		*address++ = '\0';
	return (struct callsite_target){ *arg ? arg : NULL, address ? strtoull(address, NULL, 16) : 0 };
}

static void print(const char *what, const struct callsite *sites, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%s %llx %llx %u %d\n", what, (unsigned long long)sites[i].ret,
		       (unsigned long long)sites[i].function, sites[i].target, sites[i].joined);
}

static int find(struct elfimage *img, const struct callsite_target *targets, size_t n)
{
	double began = now_ms(), took;
	struct callsite *sites, *tails;
	size_t nsites, ntails, unsure;

	if (callsites_find(img, targets, n, &sites, &nsites, &unsure))
		return -ENOMEM;
	took = now_ms() - began;
	print("call", sites, nsites);
	free(sites);
	if (callsites_tails(img, targets, n, 0, &tails, &ntails))
		return -ENOMEM;
	print("tail", tails, ntails);
	free(tails);
	printf("unsure %zu ms %.1f\n", unsure, took);
	return 0;
}

static int print_lengths(void)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		struct insn_shape shape = { 0 };
		uint8_t bytes[32];
		size_t n = 0;

		while (n < sizeof(bytes) && sscanf(line + 2 * n, "%2hhx", &bytes[n]) == 1)
			n++;
		printf("%d\n", insn_shape(bytes, n, &shape) ? shape.len : 0);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct callsite_target targets[64];
	struct elfimage *img;
	int fd, rc;

	if (argc == 2 && !strcmp(argv[1], "-l"))
		return print_lengths();
	if (argc < 3 || argc - 2 > 64)
		return 2;
	for (int i = 2; i < argc; i++)
		targets[i - 2] = target_of(argv[i]);
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	rc = fd < 0 ? -errno : elfimage_open(fd, argv[1], &img);
	if (rc) {
		fprintf(stderr, "callsites: %s: %s\n", argv[1], strerror(-rc));
		return 1;
	}
	rc = find(img, targets, (size_t)argc - 2);
	elfimage_close(img);
	close(fd);
	return rc ? 1 : 0;
}
