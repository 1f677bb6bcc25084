/* SPDX-License-Identifier: MIT */
/*
 * profile: builds a profile of pprof (perftools.profiles.Profile, a Protocol Buffers message): samples are added
 * one by one, each stack, function, file and string is in it once.
 *
 *	profile_init(&p);
 *	profile_type(&p, "inuse_space", "bytes");
 *	profile_label(&p, "verdict", "definite");
 *	profile_sample(&p, &group->stack, values);	takes the labels that were set since the last one
 *	err = profile_put(&p, sb);
 *	profile_fini(&p);
 *
 * Addresses are those of the watched process: of callers the address of the call, which is one byte before the
 * return address, as pprof wants it. A file that was loaded twice at different addresses, or of
 * which there were two builds, is two mappings.
 */
#ifndef MM_PROFILE_H
#define MM_PROFILE_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/export/numbering.h"
#include "report/model/stack.h"

struct profile_mapping {
	const struct summary_frame *frame;	/* one that is in it */
	taddr start, limit;
	bool functions, files, lines;	/* some of its frames have these */
};

struct profile {
	struct strbuf types, samples, locations, functions, labels, comments;
	uint32_t default_type;			/* a string */
	struct numbering strings;
	struct numbering known_locations, known_functions, known_mappings;
	struct profile_mapping *mappings;	/* by number */
	int err;
};

void profile_init(struct profile *p);
void profile_fini(struct profile *p);

/* The types of the values, in their order; the last one is shown by default. */
void profile_type(struct profile *p, const char *type, const char *unit);

void profile_comment(struct profile *p, const char *text);

/* Labels of the next sample: each key at most once. */
void profile_label(struct profile *p, const char *key, const char *text);
void profile_label_number(struct profile *p, const char *key, int64_t number);

/* @values: one for each type. */
void profile_sample(struct profile *p, const struct stack_view *stack, const int64_t *values, size_t n);

/*
 * Append the message. @exe: path of the program, whose mapping comes first, or NULL. Times in nanoseconds. 0 or
 * -ENOMEM.
 */
must_check int profile_put(struct profile *p, const char *exe, int64_t start_ns, int64_t duration_ns,
			   struct strbuf *sb);

#endif
