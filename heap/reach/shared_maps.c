/* SPDX-License-Identifier: MIT */
#include "heap/reach/shared_maps.h"

#include <string.h>

static bool begins_with_one(const char *path, const char *const *all)
{
	for (; *all; all++)
		if (strncmp(path, *all, strlen(*all)) == 0)
			return true;
	return false;
}

enum shared_map shared_map_of(const struct mapping *m)
{
	static const char *const memory[] = { "/dev/zero",	"/dev/shm/",	  "/SYSV",	  "/memfd:",
					      "/anon_hugepage", "/dev/hugepages", "[anon_shmem:", NULL };
	/* other names begin otherwise: anon_inode:[io_uring], socket:[1234], [vvar] */
	static const char *const files[] = { "/", NULL };
	static const char *const devices[] = { "/dev/", "/sys/", "/proc/", "/dmabuf:", "/[aio]", NULL };

	if (!(m->perms & MAPPING_SHARED))
		return SHARED_MAP_NOT;
	if (!*m->path || begins_with_one(m->path, memory))
		return SHARED_MAP_MEMORY;
	return begins_with_one(m->path, devices) || !begins_with_one(m->path, files) ? SHARED_MAP_DEVICE
										     : SHARED_MAP_FILE;
}

bool shared_map_may_point(const struct mapping *m)
{
	const enum shared_map share = shared_map_of(m);

	return share == SHARED_MAP_MEMORY || (share == SHARED_MAP_FILE && m->perms & MAPPING_WRITE);
}

static uint64_t overlap(taddr lo, taddr hi, const struct mapping *m)
{
	lo = lo > m->lo ? lo : m->lo;
	hi = hi < m->hi ? hi : m->hi;
	return lo < hi ? hi - lo : 0;
}

uint64_t shared_maps_unseen(const struct snapshot *s)
{
	uint64_t unseen = 0, seen;
	size_t hole = 0;

	for (size_t i = 0; i < s->maps.n; i++) {
		const struct mapping *m = &s->maps.maps[i];

		if (!shared_map_may_point(m))
			continue;
		seen = 0;
		for (size_t p = snapshot_piece_from(s, m->lo); p < s->npieces && s->pieces[p].lo < m->hi; p++)
			seen += overlap(s->pieces[p].lo, s->pieces[p].lo + s->pieces[p].size, m);
		while (hole < s->nholes && s->holes[hole].hi <= m->lo)
			hole++;
		for (size_t h = hole; h < s->nholes && s->holes[h].lo < m->hi; h++)
			seen += overlap(s->holes[h].lo, s->holes[h].hi, m);
		unseen += seen < m->hi - m->lo ? m->hi - m->lo - seen : 0;
	}
	return unseen;
}
