/* SPDX-License-Identifier: MIT */
/*
 * refs: objects that count their references, from a pool that returns the address freed last first.
 *
 * object_new and object_create return an object with one reference, object_ref acquires another, object_unref
 * releases one: these are watched. The count lies 0x50 behind the object's address, and is changed under the
 * object's own lock. quiet_ref and quiet_unref are inlined: no watch can see them.
 *
 *	make N		N objects that stay, with two references each
 *	more N		a third reference to each of these, which stays
 *	less N		one reference to each of these is released
 *	run N		N objects, one after the other: created, touched, every second looked up, released.
 *			Every tenth look-up does not release its reference
 *	threads T N	T threads do this at once; besides, all of them touch the same few objects
 *	quiet N		N objects that are created and touched, and whose last references are released by
 *			quiet_unref
 *	hidden N	N objects one of whose references was acquired by quiet_ref, and stays
 *	jump N		N objects that are borrowed in a function that is left by longjmp, and by a jump
 *	answer: the objects there are now, with their counts; the calls of the watched functions; the number
 *	of look-ups, and how many of them did not release
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>

#include "victim.h"

#define OBJECTS 8192
#define SHARED 4
#define THREADS 8
#define FORGETS 10	/* one look-up in so many leaks its reference */

#define WATCHED __attribute__((noinline, noclone))
#define QUIET __attribute__((always_inline)) static inline

struct object {
	struct object *next;		/* in the pool */
	pthread_mutex_t lock;
	char rest[0x50 - 8 - sizeof(pthread_mutex_t)];
	uint32_t refs;
};

_Static_assert(offsetof(struct object, refs) == 0x50, "the rules of the tests say so");

static struct object objects[OBJECTS];
static struct object *pool;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *made[OBJECTS], *shared[SHARED];
static size_t nmade;
static atomic_ulong births, refs, unrefs, look_ups, forgot;

/* --- the pool --- */

QUIET struct object *pool_take(void)
{
	struct object *o;

	pthread_mutex_lock(&pool_lock);
	o = pool;
	if (!o)
		victim_die("no object left");
	pool = o->next;
	pthread_mutex_unlock(&pool_lock);
	return o;
}

QUIET void pool_give(struct object *o)
{
	pthread_mutex_lock(&pool_lock);
	o->next = pool;
	pool = o;
	pthread_mutex_unlock(&pool_lock);
}

QUIET void quiet_ref(struct object *o)
{
	pthread_mutex_lock(&o->lock);
	o->refs++;
	pthread_mutex_unlock(&o->lock);
}

QUIET void quiet_unref(struct object *o)
{
	uint32_t left;

	pthread_mutex_lock(&o->lock);
	left = --o->refs;
	pthread_mutex_unlock(&o->lock);
	if (!left)
		pool_give(o);
}

/* --- the functions that are watched --- */

WATCHED struct object *object_new(void)
{
	struct object *o = pool_take();

	atomic_fetch_add(&births, 1);
	quiet_ref(o);
	return o;
}

/* Ends in object_new, by a jump. */
WATCHED struct object *object_create(int kind)
{
	escape(kind);
	return object_new();
}

WATCHED struct object *object_ref(struct object *o)
{
	atomic_fetch_add(&refs, 1);
	quiet_ref(o);
	return o;
}

WATCHED void object_unref(struct object *o)
{
	atomic_fetch_add(&unrefs, 1);
	quiet_unref(o);
}

/* --- the users of objects; each has a frame of its own --- */

WATCHED struct object *make_one(int i)
{
	struct object *o = i % 3 ? object_new() : object_create(i);

	escape(o);
	return o;
}

WATCHED void release(struct object *o)
{
	object_unref(o);
	escape(o);
}

WATCHED void hold(struct object *o)
{
	object_ref(o);
	escape(o);
}

WATCHED void hold_more(struct object *o)
{
	object_ref(o);
	escape(o);
}

WATCHED void touch(struct object *o)
{
	object_ref(o);
	escape(o);
	object_unref(o);
	escape(o);
}

WATCHED void look_up(struct object *o)
{
	unsigned long n = atomic_fetch_add(&look_ups, 1);

	object_ref(o);
	escape(o);
	if (n % FORGETS == FORGETS - 1)
		atomic_fetch_add(&forgot, 1);
	else
		object_unref(o);
	escape(o);
}

static __thread jmp_buf back;

WATCHED void borrow_and_leave(struct object *o)
{
	object_ref(o);
	escape(o);
	longjmp(back, 1);
}

/* A jump: object_ref returns to the caller of this function. */
WATCHED struct object *borrow_by_jump(struct object *o)
{
	escape(o);
	return object_ref(o);
}

WATCHED void borrow(struct object *volatile o)
{
	if (!setjmp(back))
		borrow_and_leave(o);
	object_unref(o);
	escape(o);
	release(borrow_by_jump(o));
}

/* --- orders --- */

static void make(int n)
{
	for (int i = 0; i < n; i++) {
		made[nmade] = make_one(i);
		hold(made[nmade++]);
	}
}

static void more(int n)
{
	for (int i = 0; i < n; i++)
		hold_more(made[i]);
}

static void less(int n)
{
	for (int i = 0; i < n; i++)
		release(made[i]);
}

static void run(int n)
{
	for (int i = 0; i < n; i++) {
		struct object *o = make_one(i);

		touch(o);
		if (i % 2)
			look_up(o);
		release(o);
		if (shared[0])
			touch(shared[i % SHARED]);
	}
}

static void quiet(int n)
{
	for (int i = 0; i < n; i++) {
		struct object *o = make_one(i);

		touch(o);
		hold(o);
		quiet_unref(o);
		quiet_unref(o);
	}
}

static void hidden(int n)
{
	for (int i = 0; i < n; i++) {
		struct object *o = make_one(i);

		quiet_ref(o);
		release(o);
	}
}

static void jump(int n)
{
	for (int i = 0; i < n; i++) {
		struct object *o = make_one(i);

		borrow(o);
		release(o);
	}
}

static void *work(void *n)
{
	run((int)(intptr_t)n);
	return NULL;
}

static void threads(int t, int n)
{
	pthread_t all[THREADS];

	for (int i = 0; i < SHARED; i++)
		shared[i] = make_one(i);
	for (int i = 0; i < t && i < THREADS; i++)
		if (pthread_create(&all[i], NULL, work, (void *)(intptr_t)n))
			victim_die("pthread_create");
	for (int i = 0; i < t && i < THREADS; i++)
		pthread_join(all[i], NULL);
	for (int i = 0; i < SHARED; i++) {
		release(shared[i]);
		shared[i] = NULL;
	}
}

static void tell(void)
{
	const char *comma = "";

	printf("{\"objects\": {");
	for (size_t i = 0; i < OBJECTS; i++) {
		if (!objects[i].refs)
			continue;
		printf("%s\"%#lx\": %u", comma, (unsigned long)(uintptr_t)&objects[i], objects[i].refs);
		comma = ", ";
	}
	printf("}, \"births\": %lu, \"refs\": %lu, \"unrefs\": %lu, \"look_ups\": %lu, \"forgot\": %lu}\n",
	       births, refs, unrefs, look_ups, forgot);
	fflush(stdout);
}

static void fill_pool(void)
{
	for (size_t i = OBJECTS; i--;) {
		pthread_mutex_init(&objects[i].lock, NULL);
		objects[i].next = pool;
		pool = &objects[i];
	}
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(int n);
	} orders[] = {
		{ "make", make }, { "more", more }, { "less", less }, { "run", run }, { "quiet", quiet },
		{ "hidden", hidden }, { "jump", jump },
	};
	char line[ORDER_MAX], name[ORDER_MAX];
	int a, b;

	fill_pool();
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (sscanf(line, "threads %d %d", &a, &b) == 2)
			threads(a, b);
		for (size_t i = 0;
		     sscanf(line, "%127s %d", name, &a) == 2 && i < sizeof(orders) / sizeof(*orders); i++)
			if (!strcmp(name, orders[i].name))
				orders[i].run(a);
		tell();
	}
	tell();
	return 0;
}
