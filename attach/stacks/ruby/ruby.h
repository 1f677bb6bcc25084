/* SPDX-License-Identifier: MIT */
/*
 * ruby: the frames of a script, put into the call stack of the interpreter that executes it.
 *
 *	stack of C functions		the interpreter's own frames		result
 *
 *	ary_resize							ary_resize
 *	vm_exec_core							vm_exec_core
 *	rb_vm_exec ◀───────────────────	append_row	orders.rb:41		append_row (orders.rb:41)
 *					load		:52 (finish)		load (orders.rb:52)
 *	rb_yield							rb_yield
 *	vm_exec_core							vm_exec_core
 *	rb_vm_exec ◀───────────────────	each		method in C		each (orders.rb:60)
 *					main		:60 (finish)		main (orders.rb:60)
 *
 * The frames were read at the hit (shared/chain.h). One call of the execution loop executes one frame or
 * several: the outermost of them is marked. Methods in C have frames, too: they belong to what has called them.
 * If both do not agree, the stack stays as it is, and that is counted: nothing is guessed.
 *
 * A frame of a script is a number with UNWIND_SCRIPT in place of an address: that of a place
 * (scripts/script_places.h).
 */
#ifndef MM_RUBY_H
#define MM_RUBY_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/event.h"
#include "attach/keeper/shared/shared.h"
#include "attach/stacks/ruby/iseqs.h"
#include "attach/stacks/ruby/rbruntime.h"
#include "attach/stacks/unwind/unwind.h"
#include "attach/target/modules.h"

enum ruby_state {
	RUBY_NONE,		/* there is no interpreter, or its frames are not wanted */
	RUBY_REFUSED,		/* there is one whose frames cannot be read: why */
	RUBY_WAITS,		/* it has no threads yet */
	RUBY_ON,
};

struct ruby {
	struct modules *modules;
	struct shared *shared;
	bool wanted;
	enum ruby_state state;
	int mem;			/* of process pid; -1: there is no interpreter */
	pid_t pid;
	size_t looked;			/* at so many modules */
	uint64_t next_ns;		/* RUBY_WAITS: when to look again, */
	uint8_t looks;			/* after so many that found nothing */
	struct rb_runtime runtime;
	struct iseqs iseqs;
	char why[200];
	uint64_t stacks;		/* with frames of scripts */
	uint64_t misfits;		/* stacks that did not fit the frames */
	uint64_t lost;			/* frames that could not be read to the end */
	uint64_t without;		/* stacks of the interpreter at which there were none */
};

/* @ms, @shared and @places stay the caller's. */
void ruby_init(struct ruby *y, struct modules *ms, struct shared *shared,
		struct script_places *places, bool wanted);
void ruby_fini(struct ruby *y);

/* Something was mapped or unmapped, or it is another process. */
void ruby_modules_changed(struct ruby *y);
/* Another program: what was found is forgotten. */
void ruby_forget(struct ruby *y);

/* Put frames of scripts into @st, the stack of @hit; at most @max frames then. 0 or -ENOMEM. */
must_check int ruby_splice(struct ruby *y, const struct record_hit *hit, uint32_t max, struct unwind_stack *st);

#endif
