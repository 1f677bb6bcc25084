/* SPDX-License-Identifier: MIT */
/*
 * suppress: leaks that the user knows and does not want to see again, in the syntax of valgrind or of
 * LeakSanitizer.
 *
 *	{				valgrind: an entry in braces: name, tools and kind, frames leaf first
 *	   name				(fun:GLOB of the linkage name, obj:GLOB of the file's path,
 *	   Memcheck:Leak		src:GLOB[:line], ...). It is anchored at the leaf and matches a
 *	   match-leak-kinds: all	beginning of the stack. Tools: Memcheck and mmattach, kinds: Leak
 *	   fun:malloc			and Free (of a double free)
 *	   ...
 *	}
 *	leak:PATTERN			LeakSanitizer: a substring (with * ^ $) of a module's path, a function
 *					or a source file
 *
 * Valgrind's stacks begin with the allocator's own function, ours with its caller. If an entry does not match
 * our stack as it is, its first frame line may therefore match an allocator's function in front of it
 * (malloc, calloc, realloc, operator new, ...). fun: is also compared with the demangled name, and for an
 * inlined function with its base name, without scopes and arguments, as valgrind prints it. If there is no
 * verdict, entries for any kind of leak match.
 *
 * One file may hold both forms. Entries for other tools are skipped. Anything else is an error with file and
 * line.
 */
#ifndef MM_SUPPRESS_H
#define MM_SUPPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/summary.h"

struct suppressions;

enum suppress_kind { SUPPRESS_LEAK, SUPPRESS_FREE };

must_check int suppressions_new(struct suppressions **out);	/* 0 or -ENOMEM */
void suppressions_free(struct suppressions *s);			/* @s may be NULL */

/*
 * Add the file's entries. 0; -EINVAL with @why "file:line: what is wrong"; -ENOMEM; -errno of reading, with
 * @why.
 */
must_check int suppressions_read(struct suppressions *s, const char *path, char *why, size_t why_size);
/* The same from memory; @name is for messages. */
must_check int suppressions_parse(struct suppressions *s, const char *name, const char *text, size_t n,
				  char *why, size_t why_size);

/* Which of the suppressions matches, as a number; SUPPRESSIONS_NONE: none. @s NULL has none. */
#define SUPPRESSIONS_NONE SIZE_MAX
size_t suppressions_find(const struct suppressions *s, enum suppress_kind kind, enum verdict verdict,
			 const struct summary_frame *frames, size_t n);
/* Count the use of one that was found. */
void suppressions_count(struct suppressions *s, size_t entry, uint64_t groups, uint64_t blocks,
			uint64_t bytes);

/*
 * Is a group with the whole stack @frames[0..n), including wrappers, to be left out? Counts the use of the
 * first entry that matches. @s NULL suppresses nothing.
 */
bool suppressions_match(struct suppressions *s, enum suppress_kind kind, enum verdict verdict,
			const struct summary_frame *frames, size_t n, uint64_t blocks, uint64_t bytes);

/* Add the suppressions that were used to @to, in the order of the files. */
void suppressions_report(const struct suppressions *s, struct summary *to);

/*
 * An entry that would suppress a group with this stack and verdict, here and in valgrind: for
 * --gen-suppressions. Without a verdict it matches any.
 */
void suppressions_generate(const struct summary_frame *frames, size_t n, enum suppress_kind kind,
			   enum verdict verdict, size_t number, struct strbuf *sb);

#endif
