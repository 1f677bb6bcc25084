/* SPDX-License-Identifier: MIT */
/* debugfile: see debugfile.h. */
#include "symbolize/files/debugfile.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fdio.h"
#include "base/strbuf.h"
#include "symbolize/files/safeopen.h"

#define DEBUG_ROOT "/usr/lib/debug"

/* The contents of a debug link. */
struct link {
	const char *name;
	uint32_t sum;
};

/* The file that is looked for. */
struct search {
	int root;
	struct build_id id;
	struct link link;	/* name NULL: there is none */
};

static uint32_t update(uint32_t crc, const uint8_t *p, size_t n)
{
	static const uint32_t nibble[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};

	for (; n; n--, p++) {
		crc = crc >> 4 ^ nibble[(crc ^ *p) & 15];
		crc = crc >> 4 ^ nibble[(crc ^ *p >> 4) & 15];
	}
	return crc;
}

int debugfile_checksum(int fd, uint32_t *sum)
{
	cleanup_free uint8_t *buf = malloc(1u << 18);
	uint32_t crc = UINT32_MAX;
	off_t at = 0;
	ssize_t got;

	if (!buf)
		return -ENOMEM;
	while ((got = pread_full(fd, buf, 1u << 18, at)) > 0) {
		crc = update(crc, buf, (size_t)got);
		at += got;
	}
	if (got < 0)
		return (int)got;
	*sum = ~crc;
	return 0;
}

int debugfile_take(int fd, const struct build_id *id, struct elffile *out)
{
	struct build_id found;
	int rc = elffile_open(fd, out);

	if (rc)
		return rc;
	elffile_build_id(out->elf, &found);
	if (build_id_equal(&found, id))
		return 0;
	elffile_close(out);
	return -EINVAL;
}

/*
 * As debugfile_take, for a file found by its name: if it or our file has no build-id, the checksum decides.
 */
static int take_linked(const struct search *s, int fd, struct elffile *out)
{
	struct build_id found;
	uint32_t sum;
	int rc = elffile_open(fd, out);

	if (rc)
		return rc;
	elffile_build_id(out->elf, &found);
	if (found.n && s->id.n)
		rc = build_id_equal(&found, &s->id) ? 0 : -EINVAL;
	else if (debugfile_checksum(out->fd, &sum) || sum != s->link.sum)
		rc = -EINVAL;
	if (rc)
		elffile_close(out);
	return rc;
}

/* Try @path below both roots. */
static int try_path(const struct search *s, const char *path, bool linked, struct elffile *out)
{
	int roots[] = { s->root, -1 };
	int rc = -ENOENT;

	for (int i = s->root < 0; i < 2 && rc; i++) {
		int fd = safeopen(roots[i], path);

		rc = fd < 0 ? fd : linked ? take_linked(s, fd, out) : debugfile_take(fd, &s->id, out);
	}
	return rc ? -ENOENT : 0;
}

static int try_build_id(const struct search *s, struct elffile *out)
{
	cleanup_strbuf struct strbuf path = STRBUF_INIT;

	if (s->id.n < 2)
		return -ENOENT;
	strbuf_printf(&path, DEBUG_ROOT "/.build-id/%02x/", s->id.bytes[0]);
	for (size_t i = 1; i < s->id.n; i++)
		strbuf_printf(&path, "%02x", s->id.bytes[i]);
	strbuf_puts(&path, ".debug");
	return strbuf_error(&path) ? -ENOMEM : try_path(s, strbuf_str(&path), false, out);
}

static const Elf_Data *section_bytes(Elf *elf, const char *name)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elffile_section(elf, name, &sh);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

	return data && data->d_buf ? data : NULL;
}

/* The string at the start of a section, @rest follows its NUL; NULL if it is empty or not terminated. */
static const char *leading_string(const Elf_Data *data, const uint8_t **rest, size_t *nrest)
{
	const char *name = data->d_buf, *end = memchr(name, '\0', data->d_size);

	if (!end || end == name)
		return NULL;
	*rest = (const uint8_t *)end + 1;
	*nrest = data->d_size - (size_t)(end + 1 - name);
	return name;
}

/* Name, NUL, padding to four bytes, checksum. */
static struct link read_link(Elf *elf)
{
	const Elf_Data *data = section_bytes(elf, ".gnu_debuglink");
	const uint8_t *rest;
	struct link link = { NULL, 0 };
	size_t n, padding;
	const char *name = data ? leading_string(data, &rest, &n) : NULL;

	if (!name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return link;
	padding = (size_t)-(data->d_size - n) & 3;
	if (n < padding + sizeof(link.sum))
		return link;
	memcpy(&link.sum, rest + padding, sizeof(link.sum));
	link.name = name;
	return link;
}

static int try_link(const struct search *s, const char *path, struct elffile *out)
{
	static const char *const forms[] = { "%.*s%s", "%.*s.debug/%s", DEBUG_ROOT "%.*s%s" };
	const char *slash = path ? strrchr(path, '/') : NULL;
	int rc = -ENOENT;

	if (!slash || path[0] != '/' || !s->link.name)
		return -ENOENT;
	for (size_t i = 0; rc == -ENOENT && i < sizeof(forms) / sizeof(forms[0]); i++) {
		cleanup_strbuf struct strbuf name = STRBUF_INIT;

		strbuf_printf(&name, forms[i], (int)(slash + 1 - path), path, s->link.name);
		rc = strbuf_error(&name) ? -ENOMEM : try_path(s, strbuf_str(&name), true, out);
	}
	return rc;
}

int debugfile_open(Elf *elf, const char *path, int root, struct elffile *out)
{
	struct search s = { .root = root, .link = read_link(elf) };
	int rc;

	elffile_build_id(elf, &s.id);
	rc = try_build_id(&s, out);
	return rc == -ENOENT ? try_link(&s, path, out) : rc;
}

static bool has_dots(const char *path)
{
	size_t n = strlen(path);

	return strstr(path, "/../") || (n >= 3 && !strcmp(path + n - 3, "/.."));
}

/* Name, NUL, build-id. */
static const char *read_altlink(Elf *elf, struct build_id *id)
{
	const Elf_Data *data = section_bytes(elf, ".gnu_debugaltlink");
	const uint8_t *rest;
	size_t n;
	const char *name = data ? leading_string(data, &rest, &n) : NULL;

	if (!name || !n || n > BUILD_ID_MAX)
		return NULL;
	id->n = n;
	memcpy(id->bytes, rest, n);
	return name;
}

int debugfile_open_alt(Elf *elf, int root, struct elffile *out)
{
	struct search s = { .root = root };
	const char *name = read_altlink(elf, &s.id), *behind = name ? strstr(name, "/.dwz/") : NULL;
	cleanup_strbuf struct strbuf path = STRBUF_INIT;
	int rc = name ? try_build_id(&s, out) : -ENOENT;

	if (rc != -ENOENT || !behind || has_dots(behind))
		return rc;
	strbuf_printf(&path, DEBUG_ROOT "%s", behind);
	return strbuf_error(&path) ? -ENOMEM : try_path(&s, strbuf_str(&path), false, out);
}
