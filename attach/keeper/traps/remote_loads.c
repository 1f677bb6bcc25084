/* SPDX-License-Identifier: MIT */
#include "attach/keeper/traps/remote_loads.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096u	/* the smallest page size: a string is first read up to such a boundary */

/* The loads of one hit. */
struct reading {
	struct remote_loads_from from;
	const struct site_load *loads;
	const uint64_t *result;
	struct record_hit *rec;
	int err;
};

/* Read as process_vm_readv does: one part after the other, until one is not there. */
static ssize_t read_file(int mem, const struct iovec *here, const struct iovec *there, uint32_t n)
{
	ssize_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		ssize_t k = pread(mem, here[i].iov_base, here[i].iov_len,
				  (off_t)(uintptr_t)there[i].iov_base);

		if (k < 0)
			return sum ? sum : -1;
		sum += k;
		if ((size_t)k < here[i].iov_len)
			break;
	}
	return sum;
}

static bool read_from(struct reading *r, const struct iovec *here, const struct iovec *there, uint32_t n,
		      size_t *got)
{
	ssize_t k = process_vm_readv(r->from.tid, here, n, there, n, 0);

	if (k < 0 && errno != EFAULT && r->from.mem >= 0)
		k = read_file(r->from.mem, here, there, n);
	if (k < 0 && errno == EPERM)
		r->err = -EPERM;
	*got = k > 0 ? (size_t)k : 0;
	return k > 0;
}

static bool read_one(struct reading *r, void *buf, taddr addr, size_t n)
{
	struct iovec here = { buf, n }, there = { (void *)(uintptr_t)addr, n };
	size_t got;

	return read_from(r, &here, &there, 1, &got) && got == n;
}

size_t remote_loads_pages(struct remote_loads_from from, const struct iovec *here, const struct iovec *there,
			  uint32_t n)
{
	struct reading r = { .from = from };
	size_t got;

	(void)read_from(&r, here, there, n, &got);
	return got;
}

bool remote_loads_word(struct remote_loads_from from, taddr addr, uint64_t *out)
{
	struct reading r = { .from = from };

	return read_one(&r, out, addr, sizeof(*out));
}

/* --- addresses --- */

enum operand { OPERAND_KNOWN, OPERAND_UNKNOWN, OPERAND_LATER };

/* The value of @base for load @i. @first: no loads were read yet; LATER: it is the value of one. */
static enum operand operand(const struct reading *r, uint8_t base, uint32_t i, bool first, uint64_t *out)
{
	const struct record_hit *rec = r->rec;
	uint32_t load = base - SITE_BASE_LOAD0;

	*out = 0;
	if (base == SITE_BASE_NONE)
		return OPERAND_KNOWN;
	if (base <= SITE_BASE_ARG6) {
		/* at the end of a call whose entry was not seen the arguments are not known */
		*out = rec->args[base - SITE_BASE_ARG1];
		return rec->head.flags & RECORD_STATIC ? OPERAND_UNKNOWN : OPERAND_KNOWN;
	}
	if (base == SITE_BASE_RESULT) {
		*out = r->result ? *r->result : 0;
		return r->result ? OPERAND_KNOWN : OPERAND_UNKNOWN;
	}
	if (load >= i)
		return OPERAND_UNKNOWN;
	if (first)
		return OPERAND_LATER;
	if (!((rec->loads_read | rec->loads_null) & 1u << load))
		return OPERAND_UNKNOWN;
	*out = rec->loads[load];
	return OPERAND_KNOWN;
}

/* The address of load @i; false: it is not to be read, or not now. Marks the load if its base is 0. */
static bool address(struct reading *r, uint32_t i, bool first, taddr *out)
{
	const struct site_load *l = &r->loads[i];
	enum operand known_base, known_index;
	uint64_t base, index;

	if (l->base == SITE_BASE_NONE || l->width > sizeof(r->rec->loads[i]))
		return false;
	known_base = operand(r, l->base, i, first, &base);
	known_index = operand(r, l->index, i, first, &index);
	if (known_base == OPERAND_LATER || known_index == OPERAND_LATER)
		return false;
	r->rec->loads[i] = 0;
	if (known_base == OPERAND_KNOWN && !base)
		r->rec->loads_null |= 1u << i;
	*out = base + index * l->scale + (taddr)(int64_t)l->disp;
	return known_base == OPERAND_KNOWN && base && known_index == OPERAND_KNOWN;
}

/* --- strings --- */

/* How many bytes of a string at @addr are certainly readable if the first one is. */
static size_t first_part(taddr addr)
{
	size_t n = PAGE - addr % PAGE;

	return n < SITE_TEXT - 1 ? n : SITE_TEXT - 1;
}

/*
 * The part up to the page's end was read: read the rest, if there is more. The string may end there without a
 * NUL.
 */
static void end_text(struct reading *r, taddr addr)
{
	char *text = r->rec->text;
	size_t n = first_part(addr), rest = SITE_TEXT - 1 - n;

	if (rest && !memchr(text, '\0', n) && read_one(r, text + n, addr + n, rest))
		n += rest;
	text[n] = '\0';
}

static void *place_of(struct reading *r, uint32_t i)
{
	return r->loads[i].width ? (void *)&r->rec->loads[i] : (void *)r->rec->text;
}

static size_t size_of(const struct reading *r, uint32_t i, taddr addr)
{
	return r->loads[i].width ? r->loads[i].width : first_part(addr);
}

static void mark_read(struct reading *r, uint32_t i, taddr addr)
{
	r->rec->loads_read |= 1u << i;
	if (!r->loads[i].width)
		end_text(r, addr);
}

static void read_load(struct reading *r, uint32_t i, taddr addr)
{
	if (read_one(r, place_of(r, i), addr, size_of(r, i, addr)))
		mark_read(r, i, addr);
}

/* --- all --- */

static void read_alone(struct reading *r, const taddr *addrs, uint32_t wanted, const struct iovec *here,
		       const struct iovec *there, size_t *stack)
{
	for (uint32_t i = 0; i < SITE_LOADS; i++) {
		if (wanted & 1u << i)
			read_load(r, i, addrs[i]);
	}
	*stack = 0;
	if (here)
		(void)read_from(r, here, there, 1, stack);
}

/* Read all loads that depend on no other, in one call: loads first, then the stack, which may end early. */
static size_t read_first(struct reading *r, uint32_t want)
{
	struct iovec here[SITE_LOADS + 1], there[SITE_LOADS + 1];
	taddr addrs[SITE_LOADS];
	uint32_t n = 0, wanted = 0;
	size_t words = 0, got;

	for (uint32_t i = 0; i < SITE_LOADS; i++) {
		if (!address(r, i, true, &addrs[i]))
			continue;
		here[n] = (struct iovec){ place_of(r, i), size_of(r, i, addrs[i]) };
		there[n] = (struct iovec){ (void *)(uintptr_t)addrs[i], here[n].iov_len };
		words += here[n++].iov_len;
		wanted |= 1u << i;
	}
	if (want) {
		here[n] = (struct iovec){ r->rec->slice, want };
		there[n++] = (struct iovec){ (void *)(uintptr_t)r->rec->regs.rsp, want };
	}
	if (!n)
		return 0;
	(void)read_from(r, here, there, n, &got);
	if (got < words) {
		/* some of the memory is not mapped (a result that is no pointer): read each alone */
		read_alone(r, addrs, wanted, want ? &here[n - 1] : NULL, &there[n - 1], &got);
		return got;
	}
	for (uint32_t i = 0; i < SITE_LOADS; i++) {
		if (wanted & 1u << i)
			mark_read(r, i, addrs[i]);
	}
	return got - words;
}

static bool depends_on_load(const struct site_load *l)
{
	return l->base >= SITE_BASE_LOAD0 || (l->base && l->index >= SITE_BASE_LOAD0);
}

int remote_loads_read(struct remote_loads_from from, const struct site_load *loads, const uint64_t *result,
		      uint32_t want, struct record_hit *rec)
{
	struct reading r = { .from = from, .loads = loads, .result = result, .rec = rec };

	rec->loads_read = 0;
	rec->loads_null = 0;
	rec->slice_len = (uint32_t)read_first(&r, want);
	if (rec->slice_len < want)
		rec->head.flags |= RECORD_CUT;
	for (uint32_t i = 0; i < SITE_LOADS; i++) {
		taddr addr;

		if (depends_on_load(&loads[i]) && address(&r, i, false, &addr))
			read_load(&r, i, addr);
	}
	return r.err;
}
