/* SPDX-License-Identifier: MIT */
/*
 * The allocation sites of sampled: 53, each a function site_NAME of its own with its own call of malloc,
 * calloc or realloc, or of victim_alloc, which is a wrapper as xmalloc is. Their kind is what they do with a
 * block:
 *
 *	short		freed at once, or soon: it waits in a ring until other blocks have pushed it out
 *	array		grows by realloc to 64 times its first size, is freed, and begins anew
 *	cache		an entry lives 1, 5 or 20 seconds
 *	table		2,000 entries in the first seconds, then no more
 *	request		all freed together at the end of two seconds
 *	leak		100 times a second 48 bytes, 10 times 160, once 1,000
 */
#ifndef SAMPLED_PLACES_H
#define SAMPLED_PLACES_H

#include "victim.h"

#define NOINLINE __attribute__((noipa))	/* nor merged with another function that does the same */

enum kind { SHORT, ARRAY, CACHE, TABLE, REQUEST, LEAK };

static const char *const kind_names[] = { "short", "array", "cache", "table", "request", "leak" };

/*
 * name, kind, call, bytes, times a second (0: short ones share the rest, by their weight), weight or seconds
 * to live
 */
#define SITES(X)                                                                                                           \
	X(parse_line, SHORT, malloc, 120, 0, 200)                                                                          \
	X(parse_word, SHORT, malloc, 24, 0, 150)                                                                           \
	X(parse_number, SHORT, malloc, 32, 0, 100) X(parse_list, SHORT, malloc, 64, 0, 60) X(                              \
		parse_quote, SHORT, malloc, 40, 0, 40) X(copy_name, SHORT, malloc, 20, 0, 60)                              \
		X(copy_path, SHORT, malloc, 90, 0, 40) X(copy_value, SHORT, malloc, 200, 0, 30) X(                         \
			copy_error, SHORT, malloc, 160, 0, 1) X(node_left, SHORT, malloc, 48, 0,                           \
								30) X(node_right, SHORT, malloc, 48, 0, 30)                \
			X(node_leaf, SHORT, malloc, 56, 0, 20) X(node_root, SHORT, malloc, 72, 0, 3) X(                    \
				event_read, SHORT, malloc, 96,                                                             \
				0, 30) X(event_write, SHORT, malloc, 96, 0,                                                \
					 20) X(event_timer, SHORT, malloc, 80, 0,                                          \
					       10) X(event_signal, SHORT, malloc, 80, 0, 1)                                \
				X(event_close, SHORT, malloc,                                                              \
				  64, 0, 4) X(buffer_small, SHORT, malloc, 256, 0,                                         \
					      20) X(buffer_page, SHORT, malloc, 4096, 0,                                   \
						    4) X(buffer_large, SHORT, malloc, 16000, 0, 1)                         \
					X(query_make, SHORT, malloc, 136, 0,                                               \
					  12) X(query_plan, SHORT, malloc, 88, 0,                                          \
						12) X(query_row, SHORT, malloc, 152, 0,                                    \
						      25) X(query_cell, SHORT, malloc, 28, 0,                              \
							    40) X(lock_owner, SHORT, malloc, 16, 0, 6)                     \
						X(lock_wait, SHORT, malloc, 104, 0,                                        \
						  2) X(log_line, SHORT, malloc, 220, 0,                                    \
						       8) X(log_head, SHORT, malloc, 44, 0,                                \
							    8) X(peer_message, SHORT, malloc, 300, 0,                      \
								 6) X(peer_answer, SHORT, malloc, 340, 0, 6)               \
							X(peer_check, SHORT, malloc, 36, 0,                                \
							  1) X(option_text, SHORT, malloc, 52, 0,                          \
							       2) X(clear_frame, SHORT, calloc, 112, 0,                    \
								    12) X(clear_slot, SHORT, calloc, 60, 0, 10)            \
								X(clear_map, SHORT, calloc, 700, 0,                        \
								  2) X(wrapped_key, SHORT, victim_alloc,                   \
								       26, 0, 20) X(wrapped_item, SHORT,                   \
										    victim_alloc, 68, 0, 15)               \
									X(wrapped_pair, SHORT, victim_alloc,               \
									  33,                                              \
									  0, 10) X(wrapped_text, SHORT,                    \
										   victim_alloc, 130, 0,                   \
										   5) X(array_bytes, ARRAY,                \
											realloc, 64, 0,                    \
											8) X(array_words,                  \
											     ARRAY, realloc,               \
											     32, 0, 8)                     \
										X(array_lines, ARRAY,                      \
										  realloc, 100, 0,                         \
										  4) X(array_nodes, ARRAY,                 \
										       realloc, 48, 0,                     \
										       2) X(cache_session,                 \
											    CACHE, malloc,                 \
											    240, 500,                      \
											    1) X(cache_page,               \
												 CACHE, malloc,            \
												 600, 100,                 \
												 5) X(cache_token,         \
												      CACHE, victim_alloc, \
												      72, 50, 20)          \
											X(cache_host, CACHE,               \
											  malloc,                          \
											  100, 20,                         \
											  5) X(table_entry,                \
											       TABLE, malloc,              \
											       88, 400,                    \
											       0) X(request_part,          \
												    REQUEST,               \
												    malloc,                \
												    128, 200,              \
												    2) X(leak_fast,        \
													 LEAK,             \
													 malloc,           \
													 48,               \
													 100,              \
													 0)                \
												X(leak_middle,             \
												  LEAK,                    \
												  malloc,                  \
												  160,                     \
												  10,                      \
												  0) X(leak_slow,          \
												       LEAK,               \
												       malloc,             \
												       1000,               \
												       1, 0)

/* A wrapper, as xmalloc is in many programs. */
static NOINLINE __attribute__((used)) void *victim_alloc(size_t n)
{
	void *p = malloc(n);

	if (!p)
		victim_die("malloc");
	escape(p);
	return p;
}

/* It does nothing but jump to the wrapper, as a function does that ends with such a call. */
__attribute__((naked)) static void *victim_alloc_jump(size_t n)
{
	(void)n;
	__asm__("jmp.d32 victim_alloc");
}

#define CALL_malloc malloc(n)
#define CALL_calloc calloc(1, n)
#define CALL_realloc realloc(old, n)
#define CALL_victim_alloc victim_alloc(n)
#define DEFINE(name, kind, call, bytes, rate, x) \
	static NOINLINE void *site_##name(size_t n, void *old) \
	{ \
		void *p = CALL_##call; \
\
		(void)old; \
		escape(p); \
		return p; \
	}
SITES(DEFINE)

/* The leak of 160 bytes, with -w. */
static NOINLINE void *site_leak_wrapped(size_t n, void *old)
{
	void *p = victim_alloc_jump(n);

	(void)old;
	escape(p);
	return p;
}

static struct site {
	const char *name, *call;
	enum kind kind;
	void *(*take)(size_t n, void *old);
	unsigned bytes, rate, x;
} sites[] = {
#define LIST(name, kind, call, bytes, rate, x) { #name, #call, kind, site_##name, bytes, rate, x },
	SITES(LIST)
};

#define NSITES (sizeof(sites) / sizeof(*sites))

#endif
