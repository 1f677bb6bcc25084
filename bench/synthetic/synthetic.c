/* SPDX-License-Identifier: MIT */
#include "bench/synthetic/synthetic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define YOUNG 1000		/* most freed blocks are among this many latest ones */
#define LEAK_ONE_IN 5000	/* of all blocks */

_Noreturn void synthetic_die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

void synthetic_must(int err, const char *what)
{
	if (err >= 0)
		return;
	errno = -err;
	synthetic_die(what);
}

static uint64_t rnd(struct synthetic *p, uint64_t below)
{
	p->rng ^= p->rng << 13;
	p->rng ^= p->rng >> 7;
	p->rng ^= p->rng << 17;
	return (uint64_t)((unsigned __int128)p->rng * below >> 64);
}

void synthetic_init(struct synthetic *p, uint64_t events, size_t wanted, uint32_t stacks)
{
	*p = (struct synthetic){ .rng = 88172645463325252u, .events = events, .wanted = wanted,
			       .nstacks = stacks,
			       .top = 0x55d0c8a1e2a0 };
	p->blocks = calloc(wanted + 2, sizeof(*p->blocks));
	if (!p->blocks)
		synthetic_die("memory");
	/* so that it is resident before memory is measured */
	memset(p->blocks, 1, (wanted + 2) * sizeof(*p->blocks));
}

void synthetic_fini(struct synthetic *p)
{
	for (size_t i = 0; i < SYNTHETIC_CLASSES; i++)
		free(p->idle[i].addrs);
	free(p->blocks);
}

/* Half of all blocks have at most 64 bytes, a few have thousands. */
static uint32_t any_class(struct synthetic *p)
{
	uint64_t a = rnd(p, SYNTHETIC_CLASSES), b = rnd(p, SYNTHETIC_CLASSES), c = rnd(p, SYNTHETIC_CLASSES);
	uint64_t least = a < b ? a : b;

	return (uint32_t)(least < c ? least : c) / 2;
}

static uint32_t class_size(uint32_t class)
{
	return class < 16 ? 24 + 16 * class : 280u << (class - 16) / 2;
}

static taddr give_address(struct synthetic *p, uint32_t class)
{
	taddr addr;

	if (p->idle[class].n)
		return p->idle[class].addrs[--p->idle[class].n];
	addr = p->top;
	p->top += class_size(class) + 8;
	return addr;
}

static void take_address(struct synthetic *p, uint32_t class, taddr addr)
{
	if (p->idle[class].n == p->idle[class].size) {
		size_t size = p->idle[class].size ? 2 * p->idle[class].size : 1024;
		p->idle[class].addrs = reallocarray(p->idle[class].addrs, size, sizeof(taddr));
		if (!p->idle[class].addrs)
			synthetic_die("memory");
		p->idle[class].size = size;
	}
	p->idle[class].addrs[p->idle[class].n++] = addr;
}

static uint32_t class_of(uint32_t size)
{
	uint32_t class = 0;

	while (class_size(class) != size)
		class++;
	return class;
}

/* A few stacks allocate most blocks. */
static uint32_t any_stack(struct synthetic *p)
{
	uint64_t u = rnd(p, 1 << 20);

	return (uint32_t)((u * u >> 20) * u * p->nstacks >> 40);
}

static void make_alloc(struct synthetic *p, struct synthetic_event *e)
{
	uint32_t class = any_class(p);

	e->alloc = true;
	e->b = (struct synthetic_block){ give_address(p, class), class_size(class), any_stack(p) };
	if (rnd(p, LEAK_ONE_IN))
		p->blocks[p->live++] = e->b;
}

static void make_free(struct synthetic *p, struct synthetic_event *e)
{
	size_t young = p->live < YOUNG ? p->live : YOUNG;
	size_t i = rnd(p, 5) ? p->live - 1 - rnd(p, young) : rnd(p, p->live);

	e->alloc = false;
	e->b = p->blocks[i];
	p->blocks[i] = p->blocks[--p->live];
	take_address(p, class_of(e->b.size), e->b.addr);
}

/* While it starts, two of three events are allocations; afterwards there are as many allocations as frees. */
bool synthetic_next(struct synthetic *p, struct synthetic_event *e)
{
	if (p->made++ == p->events)
		return false;
	p->now_us += rnd(p, 5);
	e->time_us = p->now_us;
	if (!p->live || (p->live < p->wanted && rnd(p, 3)))
		make_alloc(p, e);
	else
		make_free(p, e);
	return true;
}

/* --- its stacks --- */

taddr synthetic_pc(uint32_t function)
{
	return 0x401000 + 208 * function + 17;
}

static void define(struct ledger *l, const struct fact *f)
{
	synthetic_must(ledger_take(l, f), "definitions");
}

static void define_functions(struct ledger *l)
{
	struct fact module = { .kind = MMT_INFO, .info = MMT_MODULE,
			       .module = { .bias = 0x400000, .lo = 0x400000, .hi = 0x900000,
					   .path = "/usr/bin/made-up",
					   .build_id = "0123456789abcdef" } };
	const struct fact family = { .kind = MMT_INFO, .info = MMT_FAMILY_NAME,
				     .family_name = { .number = 0, .name = "libc" } };

	define(l, &family);
	define(l, &module);
	for (uint32_t i = 0; i < SYNTHETIC_FUNCTIONS; i++) {
		char name[32];
		struct fact_name its = { .function = name, .file = "made-up.c", .line = i + 1 };
		struct fact frame = { .kind = MMT_INFO, .info = MMT_FRAME,
				      .frame = { i, 1, synthetic_pc(i), false, false } };
		struct fact names = { .kind = MMT_INFO, .info = MMT_NAMES, .names = { i, &its, 1 } };

		snprintf(name, sizeof(name), "function_%u", i);
		define(l, &frame);
		define(l, &names);
	}
}

/*
 * Node number n of stack s: s * SYNTHETIC_DEPTH + n, n counts from 1 at the outer end; the outer third is shared by
 * all stacks.
 */
uint32_t synthetic_function(uint32_t stack, uint32_t depth)
{
	return depth <= SYNTHETIC_DEPTH / 3 ? depth : (stack * 31 + depth * 7) % SYNTHETIC_FUNCTIONS;
}

static void define_stack(struct ledger *l, uint32_t s, uint32_t made_of)
{
	const struct fact stack = { .kind = MMT_INFO, .info = MMT_STACK,
				    .stack = { s, (s + 1) * SYNTHETIC_DEPTH, MMT_END_WHOLE, FACT_NONE } };

	for (uint32_t n = 1; n <= SYNTHETIC_DEPTH; n++) {
		const uint32_t number = s * SYNTHETIC_DEPTH + n;
		const struct fact node = {
			.kind = MMT_INFO, .info = MMT_NODE,
			.node = { number, n == 1 ? 0 : number - 1, synthetic_function(made_of, n) },
		};

		define(l, &node);
	}
	define(l, &stack);
}

void synthetic_define(struct ledger *l, uint32_t nstacks, uint32_t own, uint32_t variant)
{
	define_functions(l);
	for (uint32_t s = 0; s < nstacks; s++)
		define_stack(l, s, s < own ? s : s + variant * nstacks);
}

/* --- facts --- */

struct fact synthetic_fact(const struct synthetic_event *e)
{
	return (struct fact){
		.kind = e->alloc ? MMT_ALLOC : MMT_FREE, .time_us = e->time_us,
		.block = { .addr = e->b.addr, .size = e->b.size, .stack = e->alloc ? e->b.stack : 0 },
	};
}

void synthetic_close(struct writer *w, uint64_t now_us, uint64_t *raw_bytes, uint64_t *file_bytes)
{
	const struct fact end = { .kind = MMT_INFO, .info = MMT_END, .time_us = now_us };

	synthetic_must(writer_put(w, &end), "the trace");
	synthetic_must(writer_put_names(w), "the trace");
	if (raw_bytes)
		*raw_bytes = writer_raw_bytes(w);
	if (file_bytes)
		*file_bytes = writer_bytes(w);
	synthetic_must(writer_close(w), "the trace");
}
