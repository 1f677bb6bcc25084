/* SPDX-License-Identifier: MIT */
/*
 * json_frames: the frames of all stacks of a report, each once, for a report that has lists of numbers where
 * the JSON report has stacks (report/html). A long stack of a large program is then a few numbers: its frames
 * are those of many others.
 *
 *	"stack": [7, 3, 0]
 *	"frames": [address, module, function, file, line, inlined, address, module, ...]
 *	"strings": [0, 0, "", 0, 0, 0, "shop::add(int)", 9, 6, 5, "remove", 12, ...]
 *	"modules": ["/usr/bin/svc", "8f0c...", "/usr/lib/libc.so.6", "", ...]
 *
 * A frame is six numbers, all in one list: a browser reads that sooner than a list of lists. The address is
 * that in the module, as an offset, or without a module that in the process; one that a double cannot hold is
 * a string, as in the JSON report. module, function and file are numbers of strings, of which number 0 is "";
 * inlined is 0 or 1. Linkage names are left out: these are for other programs. Of each module its path and
 * its build id, once.
 *
 * A string is four elements: how much of the string before it begins it, how much of that ends it, and what
 * is between: names of C++ are long, and have much in common with their neighbours when they are sorted. The
 * two numbers count ASCII characters. The fourth is what a function is called where there is little room
 * (report/names/sitename.h): 0, if that is its name; the number of characters at the name's beginning; or a
 * string. One string in a few has 0 and 0: where only one string is wanted, reading
 * begins there. Strings of different pools may be there twice.
 */
#ifndef MM_JSON_FRAMES_H
#define MM_JSON_FRAMES_H

#include <stddef.h>

#include "base/addrmap.h"
#include "base/strbuf.h"
#include "report/model/stack.h"

struct json_frames {
	const struct summary_frame **all;	/* borrowed: those of the report */
	size_t n, size;
	struct addrmap number_of;		/* hash, or a little more -> index in all */
};

void json_frames_init(struct json_frames *f);
void json_frames_fini(struct json_frames *f);

/* Append the frame's number, the same for the same frame; @frame must live as long as @f. */
void json_frames_number(struct json_frames *f, struct strbuf *sb, const struct summary_frame *frame);

/* Append the members "frames", "strings" and "modules". */
void json_frames_put(const struct json_frames *f, struct strbuf *sb, const char *separator);

#endif
