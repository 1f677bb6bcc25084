/* SPDX-License-Identifier: MIT */
/*
 * rbloop: the evaluation loop of a file of Ruby that has no symbol for it, found by what Ruby executes.
 *
 *	frame ──▶ iseq ──▶ first word of its instructions: a label ──▶ the function that has it
 *	                                                                 ▲ calls
 *	                                        the loop: the only function that calls it
 *
 * Ruby's instructions are addresses of labels within one C function. A compiler neither inlines nor copies a
 * function whose labels have their addresses in a table, so it is always a function of its own; where it
 * begins and ends, the unwind table says. A call of the loop is one of its caller's: that one also looks for
 * what rescues an exception, while the other is not on the stack.
 */
#ifndef MM_RUBY_LOOP_H
#define MM_RUBY_LOOP_H

#include "attach/stacks/ruby/rblayouts.h"
#include "attach/target/modules.h"
#include "base/cleanup.h"

/*
 * What executes instructions in @m, which the frames of @execution lead to: an address in the file. 0;
 * -EAGAIN: no frame leads to it (yet), or they do not agree.
 */
must_check int rb_loop_core(const struct module *m, int mem, const struct rb_layout *l, taddr execution,
			    taddr *core);

/* The only function that calls @core, in the process. 0; -ENOENT: there is none, or several. -ENOMEM */
must_check int rb_loop_caller(const struct module *m, taddr core, struct code_range *loop);

#endif
