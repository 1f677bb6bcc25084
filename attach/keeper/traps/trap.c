/* SPDX-License-Identifier: MIT */
#include "attach/keeper/traps/trap.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "attach/keeper/traps/codemap.h"
#include "attach/keeper/traps/trap_parts.h"

/*
 * a few int3s may be traps of another tool; more of them, and nothing of the file, are a gap between
 * functions
 */
#define MANY_INT3 4

static uint32_t slot_of(taddr addr)
{
	return (uint32_t)((addr * 0x9e3779b97f4a7c15ull) >> 40) & (TRAP_HASH - 1);
}

uint32_t trap_find(const struct traps *ts, taddr addr)
{
	for (uint32_t s = slot_of(addr); ts->slots[s]; s = (s + 1) & (TRAP_HASH - 1))
		if (ts->all[ts->slots[s] - 1].site.addr == addr)
			return ts->slots[s] - 1;
	return NO_TRAP;
}

bool trap_is_refused(const struct trap *t)
{
	return t->state == TRAP_REFUSED || (t->state == TRAP_LIFTED && t->shelved);
}

uint32_t trap_known(const struct traps *ts)
{
	return ts->bound + (ts->ngone < SHARED_SITES ? ts->ngone : SHARED_SITES);
}

const struct trap *trap_known_one(const struct traps *ts, uint32_t i)
{
	return i < ts->bound ? &ts->all[i] : &ts->gone[i - ts->bound];
}

bool trap_was_written(const struct trap *t)
{
	return t->state == TRAP_PLANTED || t->state == TRAP_LIFTED || t->state == TRAP_GONE;
}

bool trap_was_at(const struct traps *ts, int mem, taddr addr)
{
	uint8_t now;

	if (pread(mem, &now, 1, (off_t)addr) != 1 || now == INT3)
		return false;
	for (uint32_t i = 0; i < trap_known(ts); i++) {
		const struct trap *t = trap_known_one(ts, i);

		if (t->state == TRAP_GONE && t->site.addr == addr && t->site.bytes[0] == now)
			return true;
	}
	return false;
}

static void enter(struct traps *ts, uint32_t i)
{
	uint32_t s = slot_of(ts->all[i].site.addr);

	while (ts->slots[s])
		s = (s + 1) & (TRAP_HASH - 1);
	ts->slots[s] = i + 1;
}

static void rehash(struct traps *ts)
{
	memset(ts->slots, 0, sizeof(ts->slots));
	while (ts->bound && ts->all[ts->bound - 1].state == TRAP_NONE)
		ts->bound--;
	for (uint32_t i = 0; i < ts->bound; i++)
		if (ts->all[i].state != TRAP_NONE && ts->all[i].state != TRAP_GONE)
			enter(ts, i);
}

static int write_byte(int mem, taddr addr, uint8_t byte)
{
	ssize_t n = pwrite(mem, &byte, 1, (off_t)addr);

	return n == 1 ? 0 : n < 0 ? -errno : -EIO;
}

static bool has_scratch(const struct trap *t)
{
	return t->padded && t->state != TRAP_NONE && t->state != TRAP_REFUSED;
}

/* Hide in the @n bytes @now, read at @s, what @t's instruction changed in the padding. */
static void hide_step(const struct trap *t, const struct site *s, uint8_t *now, uint32_t n)
{
	for (uint32_t k = 0; k < t->site.step_len; k++) {
		taddr i = t->site.scratch + k - s->addr;

		if (i > 0 && i < n && now[i] == t->site.step[k])
			now[i] = s->bytes[i];
	}
}

/* After the first of the @n bytes at @s: where we changed a byte, put the file's into @now. */
static void hide_ours(const struct traps *ts, const struct site *s, uint8_t *now, uint32_t n)
{
	if (!n || !memcmp(now + 1, s->bytes + 1, n - 1))
		return;
	for (uint32_t i = 1; i < n; i++)
		if (now[i] == INT3 && trap_find(ts, s->addr + i) != NO_TRAP)
			now[i] = s->bytes[i];
	/* mostly only other traps differ; to search all steps takes long if there are many */
	if (!memcmp(now + 1, s->bytes + 1, n - 1))
		return;
	for (uint32_t i = 0; i < trap_known(ts); i++)
		if (has_scratch(trap_known_one(ts, i)))
			hide_step(trap_known_one(ts, i), s, now, n);
}

static int check_mapping(const struct traps *ts, const struct site *s)
{
	switch (codemap_at(ts->maps, s->addr)) {
	case CODEMAP_CODE:
		return 0;
	case CODEMAP_SHARED:
		return -ETXTBSY;
	default:
		return -EILSEQ;
	}
}

/*
 * May a trap be written at @s: is the code there the file's, apart from our own changes behind it, and is it
 * the target's private code? 0, or as trap_plant.
 */
static int check_code(const struct traps *ts, int mem, const struct site *s)
{
	uint8_t now[SITE_BYTES];

	if (pread(mem, now, s->nbytes, (off_t)s->addr) != s->nbytes)
		return -EILSEQ;
	hide_ours(ts, s, now, s->nbytes);
	/* check the mapping last: it must not change until the trap is written */
	return memcmp(now, s->bytes, s->nbytes) == 0 ? check_mapping(ts, s) : -EILSEQ;
}

/* Is the padding for @s as in the file, or is the instruction there already (*@has)? */
static bool padding_is_ours(int mem, const struct site *s, bool *has)
{
	uint8_t now[SITE_BYTES];

	*has = false;
	if (s->emu.op != EMU_NONE || !s->scratch)
		return true;
	if (pread(mem, now, s->step_len, (off_t)s->scratch) != s->step_len)
		return false;
	*has = !memcmp(now, s->step, s->step_len);
	return *has || !memcmp(now, s->scratch_bytes, s->step_len);
}

bool trap_prepare_step(struct traps *ts, int mem, uint32_t i)
{
	struct trap *t = &ts->all[i];
	bool has;

	/* checked each time: the file may have been mapped anew, and its padding with it */
	if (!padding_is_ours(mem, &t->site, &has))
		return false;
	t->padded = true;
	return has || pwrite(mem, t->site.step, t->site.step_len, (off_t)t->site.scratch) == t->site.step_len;
}

static int add(struct traps *ts, uint32_t i, const struct site *site, enum trap_state state)
{
	if (i >= SHARED_SITES || !site->nbytes || site->nbytes > SITE_BYTES || site->step_len > SITE_BYTES)
		return -EINVAL;
	if ((ts->all[i].state != TRAP_NONE && ts->all[i].state != TRAP_GONE) ||
	    trap_find(ts, site->addr) != NO_TRAP)
		return -EEXIST;
	if (ts->all[i].state == TRAP_GONE)
		ts->gone[ts->ngone++ % SHARED_SITES] = ts->all[i];
	ts->all[i].site = *site;
	ts->all[i].state = state;
	ts->all[i].shelved = false;
	ts->all[i].padded = false;
	ts->all[i].steppers = 0;
	if (i >= ts->bound)
		ts->bound = i + 1;
	enter(ts, i);
	return 0;
}

int trap_adopt(struct traps *ts, uint32_t i, const struct site *site)
{
	int r = add(ts, i, site, TRAP_PLANTED);

	if (r == 0)
		ts->all[i].padded = site->scratch != 0; /* perhaps */
	return r;
}

/* The end of the @n from @first on, without numbers out of range. */
static uint32_t end_of(uint32_t first, uint32_t n)
{
	return first >= SHARED_SITES ? first : n > SHARED_SITES - first ? SHARED_SITES : first + n;
}

void trap_disown(struct traps *ts, uint32_t first, uint32_t n)
{
	uint32_t end = end_of(first, n);

	for (uint32_t i = first; i < end; i++)
		ts->all[i].state = TRAP_NONE;
	rehash(ts);
}

int trap_prepare(struct traps *ts, int mem, uint32_t i, const struct site *site)
{
	int r = add(ts, i, site, TRAP_REFUSED);

	if (r < 0)
		return r;
	r = check_code(ts, mem, site);
	if (r < 0)
		return r;
	if (!padding_is_ours(mem, site, &ts->all[i].padded))
		return -EILSEQ;
	ts->all[i].state = TRAP_LIFTED;
	ts->all[i].shelved = true;
	return 0;
}

/*
 * Plant it where the code was checked just before. If we had to wait for a processor meanwhile, the same file
 * may be mapped there as data: then the int3 is taken out again. 0; -EILSEQ, -ETXTBSY: that was so; -errno of
 * the write. The trap counts as lifted only if it is certainly not there.
 */
static int write_trap(const struct traps *ts, int mem, struct trap *t)
{
	int r, back;

	/* mark it planted before the write: whatever happens in between, lifting is tried */
	t->state = TRAP_PLANTED;
	r = write_byte(mem, t->site.addr, INT3);
	if (r < 0) {
		t->state = TRAP_LIFTED;
		return r;
	}
	r = check_mapping(ts, &t->site);
	if (r == 0)
		return 0;
	back = trap_put_back(ts, mem, &t->site);
	if (back < 0)
		return back;
	t->state = TRAP_LIFTED;
	return r;
}

int trap_plant(struct traps *ts, int mem, uint32_t i, const struct site *site)
{
	int r = trap_prepare(ts, mem, i, site);

	if (r < 0)
		return r;
	ts->all[i].shelved = false;
	if (ts->frozen)
		return 0;
	r = write_trap(ts, mem, &ts->all[i]);
	/* if not planted, that is an error for the caller: so nothing else may plant it later */
	ts->all[i].shelved = ts->all[i].state == TRAP_LIFTED;
	return r;
}

/*
 * Is our int3 at the site? Not if something else was mapped there meanwhile, which may have an int3 at the
 * same address, or nothing but int3s; but it is ours also if another program changed code nearby. So half of
 * the other bytes must be the file's. Bytes that are an int3, which may be a trap, do not count, unless there
 * are many and all are int3s. 1, 0, or -errno if that is not known.
 */
static int has_our_int3(const struct traps *ts, int mem, const struct site *s)
{
	uint8_t now[SITE_BYTES];
	ssize_t n = pread(mem, now, s->nbytes, (off_t)s->addr);
	int same = 0, other = 0;

	if (n < 0 && errno != EIO && errno != EFAULT)
		return -errno;
	if (n <= 0 || now[0] != INT3)
		return 0; /* unmapped, or put back by another program */
	hide_ours(ts, s, now, (uint32_t)n);
	for (ssize_t i = 1; i < n; i++) {
		same += now[i] == s->bytes[i];
		other += now[i] != s->bytes[i] && now[i] != INT3;
	}
	return same >= other && (same || n <= MANY_INT3);
}

int trap_put_back(const struct traps *ts, int mem, const struct site *s)
{
	int r = has_our_int3(ts, mem, s), err;

	if (r != 1)
		return r;
	err = write_byte(mem, s->addr, s->bytes[0]);
	return err < 0 ? err : 1;
}

int trap_lift(struct traps *ts, int mem, uint32_t i)
{
	struct trap *t = &ts->all[i];
	int r;

	if (t->state != TRAP_PLANTED)
		return 0;
	r = trap_put_back(ts, mem, &t->site);
	if (r < 0)
		return r;
	t->state = TRAP_LIFTED;
	return 0;
}

int trap_lift_left(struct traps *ts, int mem, uint32_t i)
{
	return ts->all[i].state == TRAP_PLANTED ? trap_put_back(ts, mem, &ts->all[i].site) : 0;
}

int trap_lift_found(struct traps *ts, int mem, uint32_t i)
{
	int r = ts->all[i].state == TRAP_LIFTED ? trap_put_back(ts, mem, &ts->all[i].site) : 0;

	return r < 0 ? r : 0;
}

int trap_replant(struct traps *ts, int mem, uint32_t i)
{
	struct trap *t = &ts->all[i];
	int r;

	if (t->state != TRAP_LIFTED || ts->frozen || check_code(ts, mem, &t->site) < 0)
		return 0;
	r = write_trap(ts, mem, t);
	return r == -EILSEQ || r == -ETXTBSY ? 0 : r;
}

void trap_freeze(struct traps *ts)
{
	ts->frozen = true;
}

uint32_t trap_thaw(struct traps *ts, int mem)
{
	uint32_t failed = 0;

	ts->frozen = false;
	for (uint32_t i = 0; i < ts->bound; i++)
		if (ts->all[i].state == TRAP_LIFTED && !ts->all[i].shelved && !ts->all[i].steppers)
			failed += trap_replant(ts, mem, i) < 0;
	return failed;
}

bool trap_is_lost(struct traps *ts, int mem, uint32_t i)
{
	struct trap *t = &ts->all[i];

	if (t->state != TRAP_PLANTED || has_our_int3(ts, mem, &t->site))
		return false;
	t->state = TRAP_LIFTED;
	return true;
}

int trap_shelve(struct traps *ts, int mem, uint32_t i)
{
	int r = trap_lift(ts, mem, i);

	ts->all[i].shelved = r == 0;
	return r;
}

int trap_unshelve(struct traps *ts, int mem, uint32_t i)
{
	ts->all[i].shelved = false;
	return ts->all[i].steppers ? 0 : trap_replant(ts, mem, i);
}

int trap_step_begin(struct traps *ts, int mem, uint32_t i)
{
	ts->all[i].steppers++;
	return trap_lift(ts, mem, i);
}

int trap_step_end(struct traps *ts, int mem, uint32_t i)
{
	struct trap *t = &ts->all[i];

	/* none: the number was reused for another site since */
	if (!t->steppers || --t->steppers || t->shelved)
		return 0;
	return trap_replant(ts, mem, i);
}

uint32_t trap_lift_all(struct traps *ts, int mem)
{
	uint32_t failed = 0;

	for (uint32_t i = 0; i < ts->bound; i++)
		failed += trap_lift(ts, mem, i) < 0;
	return failed;
}

void trap_restore_step(int mem, const struct trap *t)
{
	const struct site *s = &t->site;
	uint8_t now[SITE_BYTES];

	if (!has_scratch(t))
		return;
	if (pread(mem, now, s->step_len, (off_t)s->scratch) != s->step_len ||
	    memcmp(now, s->step, s->step_len) != 0)
		return;
	/* padding is never run: a failure leaves it odd, not harmful */
	(void)!pwrite(mem, s->scratch_bytes, s->step_len, (off_t)s->scratch);
}

void trap_restore_scratch(struct traps *ts, int mem)
{
	for (uint32_t i = 0; i < ts->bound; i++)
		if (ts->all[i].state == TRAP_LIFTED)
			trap_restore_step(mem, &ts->all[i]);
}

static void forget(struct trap *t)
{
	t->state = t->state == TRAP_PLANTED || t->state == TRAP_LIFTED || t->state == TRAP_GONE ? TRAP_GONE
												: TRAP_NONE;
}

void trap_forget(struct traps *ts, int mem, uint32_t first, uint32_t n)
{
	uint32_t end = end_of(first, n);

	for (uint32_t i = first; i < end; i++) {
		/*
		 * if the caller is wrong, an unknown int3 must not stay; if the memory cannot be read, it is
		 * unmapped
		 */
		(void)!trap_lift(ts, mem, i);
		forget(&ts->all[i]);
	}
	/* once for all of them: it walks over every trap, and a module has thousands */
	rehash(ts);
}

void trap_forget_all(struct traps *ts)
{
	for (uint32_t i = 0; i < ts->bound; i++)
		forget(&ts->all[i]);
	rehash(ts);
}
