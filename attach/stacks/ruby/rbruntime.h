/* SPDX-License-Identifier: MIT */
/*
 * rbruntime: the Ruby interpreter in a process: which version it is, how its structures are laid out, and where
 * the frames of each thread begin.
 *
 * Each thread has in a variable of its own what it executes: a fiber. Nothing says where in glibc's thread-local
 * storage that variable lies; but what the first thread executes is known from Ruby itself, and the variable is
 * the only one of the thread that has that value.
 */
#ifndef MM_RUBY_RUNTIME_H
#define MM_RUBY_RUNTIME_H

#include <stddef.h>

#include "attach/probes/code/elfimage.h"
#include "attach/stacks/ruby/rblayouts.h"
#include "attach/target/modules.h"
#include "base/cleanup.h"

struct rb_runtime {
	struct rb_layout layout;	/* of this process */
	char version[16];		/* "3.1.2" */
	taddr vm;			/* ruby_current_vm_ptr */
	taddr symbols;			/* the table of symbols; 0: it was not found */
	size_t module;			/* which one it is */
	struct code_range exec;		/* rb_vm_exec */
};

/*
 * Look for an interpreter among the modules from number *@from on, of a process whose memory is @mem; they
 * are not looked at again. 0; -ENOENT: there is none; -ENOTSUP: there is one that cannot be read, @why (@n
 * bytes) says which and why; -errno.
 */
must_check int rb_runtime_find(const struct modules *ms, size_t *from, int mem, struct rb_runtime *out,
			       char *why, size_t n);

/*
 * Where the threads' frames begin: completes layout.chain, and looks for the symbols. 0; -EAGAIN: there is no
 * thread (yet), or it is not as expected.
 */
must_check int rb_runtime_locate(struct rb_runtime *rt, const struct modules *ms, int mem);

#endif
