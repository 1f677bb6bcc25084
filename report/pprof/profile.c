/* SPDX-License-Identifier: MIT */
/* profile: see profile.h. */
#include "report/pprof/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/export/export.h"
#include "report/pprof/protobuf.h"

/* Field numbers of the messages. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING,
       PROFILE_TIME = 9, PROFILE_DURATION, PROFILE_PERIOD_TYPE, PROFILE_PERIOD, PROFILE_COMMENT, PROFILE_DEFAULT_TYPE };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_FILE = 5, MAPPING_BUILD_ID,
       MAPPING_HAS_FUNCTIONS, MAPPING_HAS_FILES, MAPPING_HAS_LINES, MAPPING_HAS_INLINED };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

#define PAGE 4096u

void profile_init(struct profile *p)
{
	*p = (struct profile){ 0 };
	numbering_init(&p->strings);
	numbering_init(&p->known_locations);
	numbering_init(&p->known_functions);
	numbering_init(&p->known_mappings);
	numbering_of(&p->strings, "", NULL);	/* string 0 must be empty */
}

void profile_fini(struct profile *p)
{
	strbuf_fini(&p->types);
	strbuf_fini(&p->samples);
	strbuf_fini(&p->locations);
	strbuf_fini(&p->functions);
	strbuf_fini(&p->labels);
	strbuf_fini(&p->comments);
	numbering_fini(&p->strings);
	numbering_fini(&p->known_locations);
	numbering_fini(&p->known_functions);
	numbering_fini(&p->known_mappings);
	free(p->mappings);
}

/* Strings are valid UTF-8, whatever names the process has. */
static uint32_t string(struct profile *p, const char *text)
{
	cleanup_strbuf struct strbuf safe = STRBUF_INIT;

	strbuf_text(&safe, text);
	return numbering_take(&p->strings, &safe, NULL);
}

void profile_type(struct profile *p, const char *type, const char *unit)
{
	cleanup_strbuf struct strbuf m = STRBUF_INIT;

	p->default_type = string(p, type);
	protobuf_uint(&m, TYPE_TYPE, p->default_type);
	protobuf_uint(&m, TYPE_UNIT, string(p, unit));
	protobuf_message(&p->types, PROFILE_SAMPLE_TYPE, &m);
}

void profile_comment(struct profile *p, const char *text)
{
	protobuf_uint(&p->comments, PROFILE_COMMENT, string(p, text));
}

void profile_label(struct profile *p, const char *key, const char *text)
{
	cleanup_strbuf struct strbuf m = STRBUF_INIT;

	protobuf_uint(&m, LABEL_KEY, string(p, key));
	protobuf_uint(&m, LABEL_TEXT, string(p, text));
	protobuf_message(&p->labels, SAMPLE_LABEL, &m);
}

void profile_label_number(struct profile *p, const char *key, int64_t number)
{
	cleanup_strbuf struct strbuf m = STRBUF_INIT;

	protobuf_uint(&m, LABEL_KEY, string(p, key));
	protobuf_int(&m, LABEL_NUMBER, number);
	protobuf_message(&p->labels, SAMPLE_LABEL, &m);
}

/* --- mappings, functions --- */

/* Where the file begins, if its first page is at its address 0; a program at fixed addresses has none there. */
static taddr begin_of(const struct summary_frame *f)
{
	return f->pc > f->offset ? f->pc - f->offset : f->pc & ~(taddr)(PAGE - 1);
}

static bool add_mapping(struct profile *p, const struct summary_frame *f, uint32_t number)
{
	struct profile_mapping *all = reallocarray(p->mappings, number + 1, sizeof(*all));

	if (!all) {
		p->err = -ENOMEM;
		return false;
	}
	p->mappings = all;
	all[number] = (struct profile_mapping){ .frame = f, .start = begin_of(f), .limit = f->pc + 1 };
	return true;
}

/* The number of the mapping of @f, and one more; 0: it is in no file. */
static uint32_t mapping(struct profile *p, const struct summary_frame *f)
{
	cleanup_strbuf struct strbuf key = STRBUF_INIT;
	struct profile_mapping *m;
	uint32_t number;
	bool fresh;

	if (!f->module || !f->pc)
		return 0;
	strbuf_printf(&key, "%" PRIx64 " %s ", f->pc > f->offset ? f->pc - f->offset : 0,
		      f->build_id ? f->build_id : "");
	strbuf_puts(&key, f->module);
	number = numbering_take(&p->known_mappings, &key, &fresh);
	if (p->known_mappings.err || (fresh && !add_mapping(p, f, number)))
		return 0;
	m = &p->mappings[number];
	if (begin_of(f) < m->start)
		m->start = begin_of(f);
	if (f->pc >= m->limit)
		m->limit = f->pc + 1;
	m->functions |= f->function != NULL;
	m->files |= f->file != NULL;
	m->lines |= f->line > 0;
	return number + 1;
}

static uint32_t function(struct profile *p, const struct summary_frame *f)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT, m = STRBUF_INIT;
	uint32_t its, file = string(p, f->file), system, number;
	bool fresh;

	export_frame_name(&name, f);
	its = string(p, strbuf_str(&name));
	system = f->linkage ? string(p, f->linkage) : its;
	strbuf_reset(&name);
	strbuf_printf(&name, "%" PRIu32 " %" PRIu32 " %" PRIu32, its, system, file);
	number = numbering_take(&p->known_functions, &name, &fresh);
	if (!fresh)
		return number + 1;
	protobuf_uint(&m, FUNCTION_ID, number + 1);
	protobuf_uint(&m, FUNCTION_NAME, its);
	protobuf_uint(&m, FUNCTION_SYSTEM_NAME, system);
	protobuf_uint(&m, FUNCTION_FILE, file);
	protobuf_message(&p->functions, PROFILE_FUNCTION, &m);
	return number + 1;
}

/* --- locations --- */

static void put_line(struct profile *p, const struct summary_frame *f, struct strbuf *location)
{
	cleanup_strbuf struct strbuf m = STRBUF_INIT;

	protobuf_uint(&m, LINE_FUNCTION, function(p, f));
	protobuf_uint(&m, LINE_LINE, f->line > 0 ? (uint64_t)f->line : 0);
	protobuf_message(location, LOCATION_LINE, &m);
}

/* A place in the code: @n frames, of which all but the last are inlined there. */
static uint64_t location(struct profile *p, const struct summary_frame *frames, size_t n)
{
	const struct summary_frame *last = &frames[n - 1];
	const taddr address = last->pc && !last->exact ? last->pc - 1 : last->pc;
	const uint32_t in = mapping(p, last);
	cleanup_strbuf struct strbuf m = STRBUF_INIT, key = STRBUF_INIT;
	uint32_t number;
	bool fresh;

	/* at one address there may have been several files, or functions: one after the other, or in two runs */
	strbuf_printf(&key, "%" PRIx64 " %" PRIu32, address, in);
	for (size_t i = 0; i < n; i++)
		strbuf_printf(&key, " %" PRIu32 ":%d", function(p, &frames[i]), frames[i].line);
	number = numbering_take(&p->known_locations, &key, &fresh);
	if (!fresh)
		return number + 1;
	protobuf_uint(&m, LOCATION_ID, number + 1);
	protobuf_uint(&m, LOCATION_MAPPING, in);
	protobuf_uint(&m, LOCATION_ADDRESS, address);
	for (size_t i = 0; i < n; i++)
		put_line(p, &frames[i], &m);
	protobuf_message(&p->locations, PROFILE_LOCATION, &m);
	return number + 1;
}

static uint64_t named_location(struct profile *p, const char *name)
{
	struct summary_frame f = { .function = name };

	return location(p, &f, 1);
}

static void put_locations(struct profile *p, const struct stack_view *stack, struct strbuf *list)
{
	const size_t depth = export_depth(stack);

	for (size_t i = 0, n; i < depth; i += n) {
		for (n = 1; i + n < depth && export_frame(stack, i + n - 1)->inlined; n++)
			;
		protobuf_varint(list, location(p, export_frame(stack, i), n));
	}
	if (stack->end != STACK_WHOLE)
		protobuf_varint(list, named_location(p, EXPORT_CUT));
	else if (!depth)
		protobuf_varint(list, named_location(p, EXPORT_NO_STACK));
}

void profile_sample(struct profile *p, const struct stack_view *stack, const int64_t *values, size_t n)
{
	cleanup_strbuf struct strbuf m = STRBUF_INIT, list = STRBUF_INIT;

	put_locations(p, stack, &list);
	protobuf_message(&m, SAMPLE_LOCATION, &list);
	for (size_t i = 0; i < n; i++)
		protobuf_varint(&list, (uint64_t)values[i]);
	protobuf_message(&m, SAMPLE_VALUE, &list);
	if (p->labels.err)
		p->err = p->labels.err;
	strbuf_append(&m, strbuf_str(&p->labels), p->labels.len);
	strbuf_reset(&p->labels);
	protobuf_message(&p->samples, PROFILE_SAMPLE, &m);
}

/* --- all --- */

static void put_mapping(struct profile *p, uint32_t i, struct strbuf *sb)
{
	const struct profile_mapping *its = &p->mappings[i];
	cleanup_strbuf struct strbuf m = STRBUF_INIT;

	protobuf_uint(&m, MAPPING_ID, i + 1);
	protobuf_uint(&m, MAPPING_START, its->start);
	protobuf_uint(&m, MAPPING_LIMIT, its->limit);
	protobuf_uint(&m, MAPPING_FILE, string(p, its->frame->module));
	protobuf_uint(&m, MAPPING_BUILD_ID, string(p, its->frame->build_id));
	protobuf_uint(&m, MAPPING_HAS_FUNCTIONS, its->functions);
	protobuf_uint(&m, MAPPING_HAS_FILES, its->files);
	protobuf_uint(&m, MAPPING_HAS_LINES, its->lines);
	protobuf_uint(&m, MAPPING_HAS_INLINED, its->lines);
	protobuf_message(sb, PROFILE_MAPPING, &m);
}

static void put_mappings(struct profile *p, const char *exe, struct strbuf *sb)
{
	for (int others = 0; others < 2; others++)
		for (uint32_t i = 0; i < numbering_count(&p->known_mappings) && !p->err; i++)
			if ((!exe || strcmp(p->mappings[i].frame->module, exe) != 0) == others)
				put_mapping(p, i, sb);
}

static void put_period(struct profile *p, struct strbuf *sb)
{
	cleanup_strbuf struct strbuf m = STRBUF_INIT;

	protobuf_uint(&m, TYPE_TYPE, string(p, "space"));
	protobuf_uint(&m, TYPE_UNIT, string(p, "bytes"));
	protobuf_message(sb, PROFILE_PERIOD_TYPE, &m);
	protobuf_uint(sb, PROFILE_PERIOD, 1);
}

static void put_strings(const struct profile *p, struct strbuf *sb)
{
	for (uint32_t i = 0; i < numbering_count(&p->strings); i++)
		protobuf_bytes(sb, PROFILE_STRING, p->strings.texts.all[i], strlen(p->strings.texts.all[i]));
}

static void put_part(const struct strbuf *part, struct strbuf *sb)
{
	if (part->err && !sb->err)
		sb->err = part->err;
	strbuf_append(sb, strbuf_str(part), part->len);
}

int profile_put(struct profile *p, const char *exe, int64_t start_ns, int64_t duration_ns, struct strbuf *sb)
{
	put_part(&p->types, sb);
	put_part(&p->samples, sb);
	put_mappings(p, exe, sb);
	put_part(&p->locations, sb);
	put_part(&p->functions, sb);
	put_period(p, sb);
	put_part(&p->comments, sb);
	protobuf_uint(sb, PROFILE_DEFAULT_TYPE, p->default_type);
	protobuf_int(sb, PROFILE_TIME, start_ns);
	protobuf_int(sb, PROFILE_DURATION, duration_ns);
	put_strings(p, sb);
	if (p->err || p->strings.err || p->known_locations.err || p->known_functions.err || p->known_mappings.err)
		return -ENOMEM;
	return strbuf_error(sb);
}
