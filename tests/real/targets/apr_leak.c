/* SPDX-License-Identifier: MIT */
/*
 * apr_leak: a server that keeps its memory in pools of the Apache Portable Runtime, and counts what it takes.
 * Each order answers with {"blocks", "pools", "bytes"}: of pools that exist, without the first one.
 *
 *	serve N		N requests: a pool each, with pools in it, cleared or destroyed in several ways
 *	leak N		N blocks in the first pool, which stay
 *	session N	N sessions, a pool with five blocks each, that stay
 *	close		the sessions end: the pool that all of them are in is cleared
 */
#include <apr_general.h>
#include <apr_pools.h>
#include <apr_strings.h>

#include "../../victims/victim.h"

static apr_pool_t *root, *sessions;
static unsigned long blocks, pools, bytes, of_sessions;

/* --- what stays is counted, what goes with its pool is not --- */

static void take(apr_pool_t *in, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		apr_palloc(in, 30 + i);
		apr_pcalloc(in, 50);
		apr_pstrdup(in, "a text");
	}
}

static apr_pool_t *pool_in(apr_pool_t *around, const char *tag)
{
	apr_pool_t *made;

	if (apr_pool_create(&made, around))
		victim_die("apr_pool_create");
	apr_pool_tag(made, tag);
	return made;
}

static apr_status_t clean_up(void *data)
{
	take(data, 1);
	return APR_SUCCESS;
}

static void serve_one(unsigned i)
{
	apr_pool_t *request = pool_in(root, "request"), *inner = pool_in(request, "inner");
	apr_pool_t *most = pool_in(inner, "innermost");

	take(request, 3);
	take(inner, 2);
	take(most, 2);
	apr_pool_cleanup_register(inner, request, clean_up, apr_pool_cleanup_null);
	if (i % 3 == 0)
		apr_pool_destroy(inner);
	if (i % 3 == 1) {
		apr_pool_clear(request);
		take(request, 1);
		take(pool_in(request, "again"), 1);
	}
	apr_pool_destroy(request);
}

static void leak_one(unsigned i)
{
	apr_palloc(root, 100 + i % 5);
	blocks++;
	bytes += 100 + i % 5;
}

static void open_session(unsigned i)
{
	apr_pool_t *session = pool_in(sessions, "session");

	(void)i;
	for (unsigned k = 0; k < 5; k++)
		apr_pcalloc(session, 64);
	of_sessions++;
}

static void times(void (*what)(unsigned), unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		what(i);
}

static void obey(const char *order)
{
	unsigned n = 0;

	if (sscanf(order, "serve %u", &n) == 1)
		times(serve_one, n);
	else if (sscanf(order, "leak %u", &n) == 1)
		times(leak_one, n);
	else if (sscanf(order, "session %u", &n) == 1)
		times(open_session, n);
	else if (!strcmp(order, "close"))
		apr_pool_clear(sessions), of_sessions = 0;
}

int main(void)
{
	char line[ORDER_MAX];
	const char *order;

	if (apr_initialize())
		victim_die("apr_initialize");
	root = pool_in(NULL, "root");
	sessions = pool_in(root, "sessions");
	pools = 1;
	victim_ready();
	do {
		order = victim_order(line);
		obey(order);
		printf("{\"blocks\": %lu, \"pools\": %lu, \"bytes\": %lu}\n", blocks + 5 * of_sessions, pools + of_sessions,
		       bytes + 320 * of_sessions);
		fflush(stdout);
	} while (strcmp(order, "end"));
	return 0;
}
