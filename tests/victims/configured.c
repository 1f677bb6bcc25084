/* SPDX-License-Identifier: MIT */
/*
 * configured: each three seconds reads its configuration again, within some milliseconds: RULES rules, each with
 * a line, and MORE other calls beside each. Then the lines of the configuration before are freed, and its rules
 * are lost: so a rule is lost three seconds after it was allocated, and much else is allocated meanwhile. Rules
 * and lines have one size, so rules get the addresses of lines that were freed.
 *
 *	end	a normal end
 */
#include <poll.h>

#include "victim.h"

#define RULES 500
#define MORE 150
#define EVERY_MS 3000
#define NOINLINE __attribute__((noinline, noclone, no_icf))
#define FIRST_ID 0x510000000000u	/* no small number, and no address either */

struct item {
	uint64_t id;			/* no two have the same */
	uint32_t kind, uses;
	char rest[56];
};

static struct item *rules[RULES], *lines[RULES];
static uint64_t last_id = FIRST_ID;

static struct item *filled(struct item *it, uint32_t kind)
{
	if (!it)
		victim_die("malloc");
	memset(it, 0, sizeof(*it));
	it->id = ++last_id;
	it->kind = kind;
	return it;
}

static NOINLINE struct item *site_rule(void)
{
	struct item *it = malloc(sizeof(*it));

	escape(it);
	return filled(it, 1);
}

static NOINLINE struct item *site_line(void)
{
	struct item *it = malloc(sizeof(*it));

	escape(it);
	return filled(it, 2);
}

static NOINLINE void site_other(size_t size)
{
	void *p = malloc(size);

	escape(p);
	free(p);
}

static void configure(void)
{
	for (unsigned i = 0; i < RULES; i++)
		free(lines[i]);
	for (unsigned i = 0; i < RULES; i++) {
		rules[i] = site_rule();
		rules[i]->uses = 1;
		lines[i] = site_line();
		for (unsigned k = 0; k < MORE; k++)
			site_other(200 + k);
	}
	/* used once more: that changes */
	for (unsigned i = 0; i < RULES; i++)
		rules[i]->uses = 2;
}

int main(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	char line[ORDER_MAX];

	configure();
	victim_ready();
	while (poll(&in, 1, EVERY_MS) == 0)
		configure();
	(void)victim_order(line);
	printf("{\"ended\": true}\n");
	return 0;
}
