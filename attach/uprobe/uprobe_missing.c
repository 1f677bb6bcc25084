/* SPDX-License-Identifier: MIT */
/* uprobe_missing: in place of the engine where clang or libbpf was not there when mmattach was built. */
#include <errno.h>
#include <stdio.h>

#include "attach/uprobe/uprobe.h"

int uprobe_open(pid_t pid, struct shared *shared, const char *way, struct uprobe **out, char *why, size_t n)
{
	(void)pid;
	(void)shared;
	(void)way;
	(void)out;
	snprintf(why, n, "this mmattach was built without it: that takes clang and libbpf-dev");
	return -EOPNOTSUPP;
}

bool uprobe_expected(pid_t pid)
{
	(void)pid;
	return false;
}

bool uprobe_may_return(const struct uprobe *u)
{
	(void)u;
	return false;
}

void uprobe_begin_program(struct uprobe *u)
{
	(void)u;
}

void uprobe_leave(struct uprobe *u)
{
	(void)u;
}

void uprobe_wait_left(struct uprobe *u)
{
	(void)u;
}

void uprobe_close(struct uprobe *u)
{
	(void)u;
}

uint64_t uprobe_unaccounted(struct uprobe *u)
{
	(void)u;
	return 0;
}

void uprobe_selftest_share(void)
{
}

const struct uprobe_hit_cost *uprobe_cost(const struct uprobe *u)
{
	(void)u;
	return NULL;
}

const char *uprobe_way(const struct uprobe *u)
{
	(void)u;
	return "";
}

int uprobe_fd(const struct uprobe *u)
{
	(void)u;
	return -1;
}

void uprobe_sleeps(struct uprobe *u, bool sleeps)
{
	(void)u;
	(void)sleeps;
}

int uprobe_plant(struct uprobe *u, const uint32_t *sites, size_t n)
{
	(void)u;
	(void)sites;
	(void)n;
	return -EOPNOTSUPP;
}

void uprobe_forget(struct uprobe *u, uint32_t first, uint32_t n)
{
	(void)u;
	(void)first;
	(void)n;
}

void uprobe_pump(struct uprobe *u, uint64_t until)
{
	(void)u;
	(void)until;
}

void uprobe_begin(struct uprobe *u)
{
	(void)u;
}

void uprobe_sample(struct uprobe *u, uint64_t interval, const struct rule *rules)
{
	(void)u;
	(void)interval;
	(void)rules;
}

bool uprobe_is_crowded(const struct uprobe *u)
{
	(void)u;
	return false;
}

uint64_t uprobe_position(const struct uprobe *u)
{
	(void)u;
	return 0;
}
