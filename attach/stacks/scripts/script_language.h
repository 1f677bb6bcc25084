/* SPDX-License-Identifier: MIT */
/*
 * script_language: what differs between interpreters whose frames are put into stacks (attach/stacks/python,
 * ruby). The rest is the same for all: finding one in a process (scripts.h), its code objects
 * (script_codes.h), joining its frames with those of C (script_join.h).
 */
#ifndef MM_SCRIPT_LANGUAGE_H
#define MM_SCRIPT_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/keeper/shared/event.h"
#include "attach/probes/code/elfimage.h"
#include "attach/stacks/scripts/script_places.h"
#include "attach/target/modules.h"
#include "base/cleanup.h"
#include "base/taddr.h"

struct script_code;
struct script_codes;

#define SCRIPT_IDENTITY 5u

/* An interpreter in a process. Each language has a structure of its own that begins with it. */
struct script_runtime {
	int mem;			/* of the process; -1: there is no interpreter */
	char version[16];		/* "3.11.2" */
	struct code_range loop;		/* the evaluation loop; lo == hi: not known yet */
	const char *unfound;		/* what locate has not found; NULL: a thread's frames */
	struct chain_plan chain;	/* where the frames of a thread are */
	bool has_entries;		/* the chain leads to the C frames that execute its links (entry) */
	uint16_t identity[SCRIPT_IDENTITY];	/* words of a code object, which tell it from others */
};

/* The chain of a hit. */
struct script_chain {
	const struct script_runtime *runtime;
	const struct record_hit *hit;
	const struct chain_link *links;
	uint32_t n;
};

struct script_language {
	const char *name, *interpreter;	/* "Python", "CPython" */

	/*
	 * Is the interpreter in module @m of a process whose memory is @mem? Fills in @rt. 0; -ENOENT: no;
	 * -ENOTSUP: it cannot be read, @why (@n bytes) says which it is and why.
	 */
	int (*find)(struct script_runtime *rt, const struct module *m, int mem, char *why, size_t n);
	/*
	 * Where the frames of its threads begin: completes rt->chain, and rt->loop. 0; -EAGAIN: it has no
	 * threads (yet), or something else is not found: rt->unfound.
	 */
	int (*locate)(struct script_runtime *rt, const struct module *m);

	/* Does link @i of the chain execute a script? */
	bool (*executes)(const struct script_chain *c, uint32_t i);
	/* Does it begin the call of the evaluation loop that executes it? */
	bool (*begins)(const struct script_chain *c, uint32_t i);
	/*
	 * If rt->has_entries: an address within the C frame of the call of the loop that executes link @next;
	 * 0: not known. @previous: that of the call before, which is further in.
	 */
	taddr (*entry)(const struct script_chain *c, uint32_t next, taddr previous);
	/* The place of link @i. 0; -ENOENT: it is not shown; -ENOMEM. */
	int (*place)(const struct script_chain *c, uint32_t i, struct script_codes *codes, uint32_t *place);

	/* What is at @code->addr now, into its bytes. false: there is nothing of its kind. */
	bool (*read)(const struct script_runtime *rt, struct script_code *code);
	/* Its names, and its table of lines if it has one. false: they cannot be read. */
	bool (*describe)(const struct script_runtime *rt, struct script_places *places,
			 struct script_code *code);
	/* The line at @position; 0: none. */
	uint32_t (*line)(const struct script_runtime *rt, const struct script_code *code, uint32_t position);
};

/* --- for languages --- */

bool script_read(int mem, taddr addr, void *buf, size_t n);
bool script_read_word(int mem, taddr addr, uint64_t *out);

/* The variable @name of @m, in the process. */
bool script_data_of(const struct module *m, const char *name, taddr *out);

/* The evaluation loop of @m, which is function @name. */
bool script_loop_of(const struct module *m, const char *name, struct code_range *out);

#endif
