/* SPDX-License-Identifier: MIT */
/*
 * callsites FILE TARGET...: the calls in FILE that go to the targets, as attach/probes/callsites.h finds them, for who compares.
 *
 * A TARGET is a name as imported, NAME=ADDR with its (hexadecimal) address in the file, or =ADDR. Prints a line "RET FUNCTION TARGET JOINED" for each
 * call, addresses hexadecimal, and at last "unsure N ms N".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "attach/probes/callsites.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct callsite_target target_of(char *arg)
{
	char *address = strchr(arg, '=');

	if (address)
		*address++ = '\0';
	return (struct callsite_target){ *arg ? arg : NULL, address ? strtoull(address, NULL, 16) : 0 };
}

static int find(struct elfimage *img, struct decoder *d, const struct callsite_target *targets, size_t n)
{
	double began = now_ms();
	struct callsite *sites;
	size_t nsites, unsure;
	int rc = callsites_find(img, d, targets, n, &sites, &nsites, &unsure);

	if (rc)
		return rc;
	for (size_t i = 0; i < nsites; i++)
		printf("%llx %llx %u %d\n", (unsigned long long)sites[i].ret, (unsigned long long)sites[i].function, sites[i].target, sites[i].joined);
	printf("unsure %zu ms %.1f\n", unsure, now_ms() - began);
	free(sites);
	return 0;
}

int main(int argc, char **argv)
{
	struct callsite_target targets[64];
	struct elfimage *img;
	struct decoder *d;
	int fd, rc;

	if (argc < 3 || argc - 2 > 64)
		return 2;
	for (int i = 2; i < argc; i++)
		targets[i - 2] = target_of(argv[i]);
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	rc = fd < 0 ? -errno : elfimage_open(fd, argv[1], &img);
	if (rc || decoder_new(&d)) {
		fprintf(stderr, "callsites: %s: %s\n", argv[1], strerror(-rc));
		return 1;
	}
	rc = find(img, d, targets, (size_t)argc - 2);
	decoder_free(d);
	elfimage_close(img);
	close(fd);
	return rc ? 1 : 0;
}
