/* SPDX-License-Identifier: MIT */
/*
 * talloc_leak: a server that keeps its memory in a tree, with libtalloc. Each order answers with what talloc
 * itself counts below the root: {"blocks": without the root, "bytes": without the root's}.
 *
 *	older		a context with blocks, for before the watch
 *	serve N		N requests: a context each, with a tree below it, freed at once in several ways
 *	leak N		N blocks in the root, that stay
 *	session N	N sessions with three blocks each, that stay; half of them are made below a request and stolen
 *	close		the sessions end: their contexts are freed, with what lies in them
 *	resize N	a block with N blocks in it, and its size changed many times; it stays
 *	drop		the context from before the watch is freed
 *	grow older	what is older is resized, and moved to a new context below it
 *	unlink N	N blocks with a second reference: that is released, then they are freed; N sub-contexts moved
 *	list N		a list of which each element lies in the one before; freed by its first
 */
#include <talloc.h>

#include "../../victims/victim.h"

struct session {
	char *name;
	int *numbers;
};

struct request {
	char text[40];
};

static void *root, *older, *sessions;
static char *old_text, *old_block;

static void tree_below(void *context, int depth)
{
	for (int i = 0; depth && i < 3; i++) {
		struct request *r = talloc_zero(context, struct request);

		talloc_asprintf(r, "request %d at depth %d", i, depth);
		talloc_array(r, uint64_t, (unsigned)depth + 3);
		tree_below(r, depth - 1);
	}
}

static void serve_one(unsigned i)
{
	void *context = talloc_new(root), *inner;

	tree_below(context, 2);
	inner = talloc_named_const(context, 10, "inner");
	tree_below(inner, 1);
	if (i % 3 == 0)
		TALLOC_FREE(inner);
	if (i % 3 == 1) {
		talloc_free_children(context);
		talloc_strdup(context, "used again");
	}
	if (i % 5 == 0)
		talloc_unlink(root, context);
	else
		talloc_free(context);
}

static void leak_one(unsigned i)
{
	talloc_size(root, 100 + i % 7);
}

static void open_session(unsigned i)
{
	void *request = talloc_new(root);
	struct session *s = talloc(i % 2 ? request : sessions, struct session);

	s->name = talloc_strdup(s, "a session's name");
	s->numbers = talloc_zero_array(s, int, 10);
	if (i % 4 == 1)
		talloc_steal(sessions, s);
	else if (i % 4 == 3)
		(void)talloc_move(sessions, &s);
	talloc_free(request);
}

static void resize(unsigned n)
{
	char *block = talloc_array(root, char, 10);

	for (unsigned i = 0; i < n; i++) {
		talloc_strdup(block, "in it");
		block = talloc_realloc(root, block, char, 10 + i * 1000);
	}
	block = talloc_strdup(root, "grown");
	for (unsigned i = 0; i < n; i++)
		block = talloc_asprintf_append(block, " by %u", i);
}

static void list(unsigned n)
{
	void *first = talloc_new(root), *last = first;

	for (unsigned i = 0; i < n; i++)
		last = talloc_zero(last, struct request);
	talloc_free(first);
}

static void make_older(void)
{
	older = talloc_new(root);
	old_text = talloc_strdup(older, "old");
	old_block = talloc_array(older, char, 20);
	tree_below(older, 2);
}

static void grow_older(void)
{
	void *inner = talloc_new(older);

	old_text = talloc_asprintf_append(old_text, "%2000s", "grown");
	old_block = talloc_realloc(older, old_block, char, 5000);
	talloc_strdup(old_block, "in what has grown");
	(void)talloc_steal(inner, old_block);
}

static void refer_to_one(unsigned i)
{
	void *one = talloc_new(root), *other = talloc_new(root), *block = talloc_size(one, 50 + i);

	(void)talloc_reference(other, block);
	talloc_unlink(other, block);
	talloc_free(one);
	one = talloc_named_const(NULL, 0, "under nothing");
	talloc_steal(one, other);
	talloc_steal(one, one);
	talloc_reparent(one, root, other);
	talloc_free(one);
	talloc_free(other);
}

static void close_sessions(void)
{
	talloc_free(sessions);
	sessions = talloc_new(root);
}

static void times(void (*what)(unsigned), unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		what(i);
}

static void obey(const char *order)
{
	unsigned n = 0;

	if (!strcmp(order, "older"))
		make_older();
	else if (!strcmp(order, "grow older"))
		grow_older();
	else if (!strcmp(order, "drop"))
		TALLOC_FREE(older);
	else if (!strcmp(order, "close"))
		close_sessions();
	else if (sscanf(order, "serve %u", &n) == 1)
		times(serve_one, n);
	else if (sscanf(order, "leak %u", &n) == 1)
		times(leak_one, n);
	else if (sscanf(order, "session %u", &n) == 1)
		times(open_session, n);
	else if (sscanf(order, "resize %u", &n) == 1)
		resize(n);
	else if (sscanf(order, "unlink %u", &n) == 1)
		times(refer_to_one, n);
	else if (sscanf(order, "list %u", &n) == 1)
		list(n);
}

int main(void)
{
	char line[ORDER_MAX];
	const char *order;

	root = talloc_named_const(NULL, 0, "root");
	sessions = talloc_new(root);
	victim_ready();
	do {
		order = victim_order(line);
		obey(order);
		printf("{\"blocks\": %zu, \"bytes\": %zu}\n", talloc_total_blocks(root) - 1, talloc_total_size(root));
		fflush(stdout);
	} while (strcmp(order, "end"));
	return 0;
}
