/* SPDX-License-Identifier: MIT */
/*
 * json_object: prints objects as their tables say (report/fields/field.h). The members of the outermost
 * object, and the elements of lists of objects, are lines of their own.
 */
#ifndef MM_JSON_OBJECT_H
#define MM_JSON_OBJECT_H

#include "base/strbuf.h"
#include "report/fields/field.h"

struct json_frames;

/* {...}; @frames: for a page (report/json/json_frames.h), else NULL. */
void json_object(struct strbuf *sb, const struct fields *f, const struct field_source *c, const void *object,
		 struct json_frames *frames);

/* The same without the brace at its end: members may follow. */
void json_object_open(struct strbuf *sb, const struct fields *f, const struct field_source *c,
		      const void *object,
		      struct json_frames *frames);

/* {...} in one line, for an element of a list that is printed piece by piece. */
void json_object_line(struct strbuf *sb, const struct fields *f, const struct field_source *c,
		      const void *object);

#endif
