/* SPDX-License-Identifier: MIT */
/* answer: see answer.h. */
#include "symbolize/answer.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/types.h>

struct frame_head {
	int32_t line;
	uint32_t function, linkage, file;	/* lengths, with NUL; 0: no string */
};

static uint32_t length_of(const char *s)
{
	return s ? (uint32_t)strnlen(s, ANSWER_BYTES_MAX) + 1 : 0;
}

static size_t frame_size(const struct names_frame *f)
{
	return sizeof(struct frame_head) + length_of(f->function) + length_of(f->linkage) +
	       length_of(f->file);
}

static void put_frame(struct strbuf *sb, const struct names_frame *f)
{
	struct frame_head head = { f->line, length_of(f->function), length_of(f->linkage),
				   length_of(f->file) };

	strbuf_append(sb, &head, sizeof(head));
	if (f->function)
		strbuf_append(sb, f->function, head.function);
	if (f->linkage)
		strbuf_append(sb, f->linkage, head.linkage);
	if (f->file)
		strbuf_append(sb, f->file, head.file);
}

/* The last frame must be sent: without its names if they do not fit. */
static struct names_frame last_frame(const struct names_frame *f)
{
	if (frame_size(f) <= ANSWER_BYTES_MAX)
		return *f;
	return (struct names_frame){ .line = f->line };
}

void answer_put_frames(struct strbuf *sb, size_t index, const struct names_frame *frames, size_t n)
{
	struct names_frame last = last_frame(&frames[n - 1]);
	size_t size = frame_size(&last), inlined = 0;
	struct answer_head head = { .kind = ANSWER_FRAMES, .index = index };

	for (; inlined < n - 1 && inlined < ANSWER_FRAMES_MAX - 1; inlined++) {
		size_t more = frame_size(&frames[inlined]);

		if (more > ANSWER_BYTES_MAX - size)
			break;
		size += more;
	}
	head.count = (uint32_t)inlined + 1;
	head.size = (uint32_t)size;
	strbuf_append(sb, &head, sizeof(head));
	for (size_t i = 0; i < inlined; i++)
		put_frame(sb, &frames[i]);
	put_frame(sb, &last);
}

void answer_put_note(struct strbuf *sb, const char *text)
{
	struct answer_head head = { .kind = ANSWER_NOTE, .size = (uint32_t)strlen(text) + 1 };

	strbuf_append(sb, &head, sizeof(head));
	strbuf_append(sb, text, head.size);
}

void answer_put(struct strbuf *sb, enum answer_kind kind)
{
	struct answer_head head = { .kind = kind };

	strbuf_append(sb, &head, sizeof(head));
}

/* Take a string of @length bytes from @p; false if it is not a valid string. */
static bool read_string(const char **p, const char *end, uint32_t length, const char **out)
{
	*out = NULL;
	if (length > (size_t)(end - *p) || (length && (*p)[length - 1] != '\0'))
		return false;
	if (length)
		*out = *p;
	*p += length;
	return true;
}

static bool read_frame(const char **p, const char *end, struct names_frame *out)
{
	struct frame_head head;

	if ((size_t)(end - *p) < sizeof(head))
		return false;
	memcpy(&head, *p, sizeof(head));
	*p += sizeof(head);
	out->line = head.line > 0 ? head.line : 0;
	return read_string(p, end, head.function, &out->function) &&
	       read_string(p, end, head.linkage, &out->linkage) && read_string(p, end, head.file, &out->file);
}

static bool read_frames(const char *p, const char *end, size_t n, struct names_frame *frames)
{
	if (n < 1 || n > ANSWER_FRAMES_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!read_frame(&p, end, &frames[i]))
			return false;
		frames[i].inlined = i < n - 1;
	}
	return p == end;
}

static bool read_body(const struct answer_head *head, const char *p, struct names_frame *frames,
		      struct answer *out)
{
	const char *end = p + head->size;

	*out = (struct answer){ .kind = head->kind, .index = head->index, .frames = frames,
				.n = head->count };
	switch (head->kind) {
	case ANSWER_FRAMES:
		return read_frames(p, end, head->count, frames);
	case ANSWER_NOTE:
		return head->size && read_string(&p, end, head->size, &out->note);
	}
	return !head->size;
}

ssize_t answer_read(const char *data, size_t n, struct names_frame *frames, struct answer *out)
{
	struct answer_head head;

	if (n < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	if (head.kind >= ANSWER_KINDS || head.size > ANSWER_BYTES_MAX)
		return -EINVAL;
	if (n - sizeof(head) < head.size)
		return 0;
	if (!read_body(&head, data + sizeof(head), frames, out))
		return -EINVAL;
	return (ssize_t)(sizeof(head) + head.size);
}
