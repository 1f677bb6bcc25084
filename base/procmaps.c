/* SPDX-License-Identifier: MIT */
/* procmaps: see procmaps.h. The text is stored once; each line is cut out of it and parsed in place. */
#include "base/procmaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/addr_search.h"
#include "base/fdio.h"

#define MAPS_LIMIT (256u << 20)	/* 65,530 mappings (vm.max_map_count) with paths of 4096 bytes */

/* A hexadecimal or decimal number at *@p that ends in @end; *@p moves behind it. */
static bool number(char **p, int base, char end, uint64_t *out)
{
	char *rest;

	if (!strchr("0123456789abcdef", **p) || !**p)
		return false;
	errno = 0;
	*out = strtoull(*p, &rest, base);
	if (errno || rest == *p || *rest != end)
		return false;
	*p = rest + 1;
	return true;
}

static bool perms(char **p, unsigned *out)
{
	static const char letters[] = "rwx";
	char *s = *p;

	*out = 0;
	for (int i = 0; i < 3; i++) {
		if (s[i] == letters[i])
			*out |= 1u << i;
		else if (s[i] != '-')
			return false;
	}
	if (s[3] == 's')
		*out |= MAPPING_SHARED;
	else if (s[3] != 'p')
		return false;
	*p = s + 5;
	return s[4] == ' ';
}

/* The inode ends the line, or is followed by blanks and the path. */
static bool inode(char **p, uint64_t *ino)
{
	char *rest;

	if (**p < '0' || **p > '9')
		return false;
	errno = 0;
	*ino = strtoull(*p, &rest, 10);
	if (errno || (*rest && *rest != ' '))
		return false;
	*p = rest;
	return true;
}

static void unescape_newlines(char *s)
{
	char *to = s;

	while (*s) {
		if (!strncmp(s, "\\012", 4)) {
			*to++ = '\n';
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

int procmaps_parse_line(char *line, struct mapping *out)
{
	uint64_t major, minor, ino;
	char *p = line;

	if (!number(&p, 16, '-', &out->lo) || !number(&p, 16, ' ', &out->hi) || !perms(&p, &out->perms) ||
	    !number(&p, 16, ' ', &out->offset) || !number(&p, 16, ':', &major) ||
	    !number(&p, 16, ' ', &minor) || !inode(&p, &ino) || out->lo >= out->hi)
		return -EINVAL;
	out->dev = makedev(major, minor);
	out->ino = ino;
	/* The kernel pads with blanks; a path begins with '/' or '[' and may hold blanks itself. */
	p += strspn(p, " ");
	unescape_newlines(p);
	out->path = p;
	return 0;
}

static size_t count_lines(const char *text, size_t n)
{
	size_t lines = n && text[n - 1] != '\n';

	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

static int parse_lines(struct procmaps *pm)
{
	char *next = pm->text;

	while (*next) {
		char *line = next;

		next += strcspn(next, "\n");
		if (*next)
			*next++ = '\0';
		if (procmaps_parse_line(line, &pm->maps[pm->n]))
			return -EINVAL;
		pm->n++;
	}
	return 0;
}

/* @text becomes part of @out, also on failure. */
static int parse_owned(char *text, size_t n, struct procmaps *out)
{
	int err = -EINVAL;

	*out = (struct procmaps){ .text = text };
	/* A NUL in the middle would make us count other lines than we parse. */
	if (memchr(text, '\0', n))
		goto fail;
	out->maps = calloc(count_lines(text, n) + 1, sizeof(*out->maps));
	err = out->maps ? parse_lines(out) : -ENOMEM;
	if (err)
		goto fail;
	return 0;
fail:
	procmaps_fini(out);
	return err;
}

int procmaps_parse(const char *text, size_t n, struct procmaps *out)
{
	char *copy = malloc(n + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return parse_owned(copy, n, out);
}

int procmaps_read(const char *path, struct procmaps *out)
{
	char *text;
	size_t n;
	int err = read_whole_file(path, MAPS_LIMIT, &text, &n);

	if (err)
		return err == -ENOENT ? -ESRCH : err;
	return parse_owned(text, n, out);
}

void procmaps_fini(struct procmaps *pm)
{
	free(pm->maps);
	free(pm->text);
	*pm = (struct procmaps)PROCMAPS_INIT;
}

const struct mapping *procmaps_find(const struct procmaps *pm, taddr addr)
{
	size_t i = ADDR_SEARCH(pm->maps, pm->n, hi, addr);

	return i < pm->n && addr >= pm->maps[i].lo ? &pm->maps[i] : NULL;
}
