/* SPDX-License-Identifier: MIT */
#include "attach/many/choice.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/target/target.h"
#include "base/grow.h"

#define AGAIN 10u		/* looks, until a process that is not chosen is looked at again */
#define SETTLED_NS 2000000000u	/* before that, at each look: it may exec, or be moved into its cgroup */

enum state { OTHER, YOUNG, HANDED, EXCLUDED };

struct known {
	uint64_t start_ns;
	uint32_t seen, read;	/* in which look */
	pid_t parent, session;	/* when it was first seen */
	uint8_t state;		/* enum state */
	bool fresh;		/* first seen in this look */
	bool later;		/* not in the first look */
	bool inherits;		/* choice_found */
	char comm[PROCSTAT_COMM];
};

int choice_open(struct choice *c, const char *proc, const struct choice_wish *wish)
{
	*c = (struct choice){ .wish = *wish };
	addrmap_init(&c->known, sizeof(struct known));
	c->proc = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return c->proc < 0 ? -errno : 0;
}

void choice_close(struct choice *c)
{
	addrmap_fini(&c->known);
	free(c->found);
	free(c->read);
	if (c->proc >= 0)
		close(c->proc);
}

/* --- reading --- */

static bool must_read(const struct choice *c, const struct known *k, uint64_t now_ns)
{
	if (k->state == HANDED || k->state == EXCLUDED)
		return false;
	return k->state == YOUNG || now_ns - k->start_ns < SETTLED_NS || c->looks - k->read >= AGAIN;
}

/* What was known under its number is of another process, or there was none. */
static void begin(const struct choice *c, struct known *k, const struct procstat *st)
{
	*k = (struct known){
		.start_ns = st->start_ns, .parent = st->parent, .session = st->session,
		.state = st->kernel_thread ? EXCLUDED : OTHER, .fresh = true, .later = c->looks > 1,
	};
}

static int read_one(struct choice *c, pid_t pid, uint64_t now_ns)
{
	struct procstat st;
	bool fresh;
	struct known *k = addrmap_slot(&c->known, (uint64_t)pid, &fresh);
	int r;

	if (!k)
		return -ENOMEM;
	if (!fresh && !must_read(c, k, now_ns)) {
		k->seen = c->looks;
		return 0;
	}
	r = procstat_read(c->proc, pid, &st);
	if (r < 0 || st.state == 'Z' || st.state == 'X') {
		if (fresh)
			addrmap_del(&c->known, (uint64_t)pid, NULL);
		return r == -ENOMEM ? r : 0;	/* what was known is forgotten after the look */
	}
	k->fresh = false;
	if (fresh || k->start_ns != st.start_ns)
		begin(c, k, &st);
	memcpy(k->comm, st.comm, sizeof(k->comm));
	k->seen = k->read = c->looks;
	r = grow_for(&c->read, c->nread, &c->read_room, sizeof(*c->read));
	if (r == 0)
		c->read[c->nread++] = pid;
	return r;
}

static int read_all(struct choice *c, uint64_t now_ns)
{
	const int fd = openat(c->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;
	int r = 0;

	if (!dir) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	while (r == 0 && (d = readdir(dir))) {
		const pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

		if (pid > 0)
			r = read_one(c, pid, now_ns);
	}
	return r;
}

/* --- choosing --- */

static enum state state_of(const struct choice *c, pid_t pid)
{
	const struct known *k = addrmap_get(&c->known, (uint64_t)pid);

	return k ? k->state : OTHER;
}

static bool is_chosen(enum state s)
{
	return s == YOUNG || s == HANDED;
}

/* Was it forked by one that is chosen? What has lost its parent is known by its session. */
static void see_parents(struct choice *c)
{
	for (size_t i = 0; i < c->nread; i++) {
		struct known *k = addrmap_get(&c->known, (uint64_t)c->read[i]);

		if (k->fresh && k->later)
			k->inherits = is_chosen(state_of(c, k->parent)) || is_chosen(state_of(c, k->session));
	}
}

static bool is_ours(const struct choice *c, pid_t pid, const struct known *k)
{
	return pid == c->wish.self || state_of(c, k->parent) == EXCLUDED ||
	       !strcmp(k->comm, TARGET_KEEPER_COMM);
}

/* Only when it is first seen: children that were there before the watch are not followed later. */
static bool descends(const struct choice *c, const struct known *k)
{
	if (!k->fresh || !(k->later ? c->wish.follow && !cgroup_is_wanted(&c->wish.cgroup) : c->wish.descend))
		return false;
	return is_chosen(state_of(c, k->parent)) || is_chosen(state_of(c, k->session));
}

static bool is_listed(const struct choice *c, pid_t pid)
{
	for (size_t i = 0; i < c->wish.npids; i++)
		if (c->wish.pids[i] == pid)
			return true;
	return false;
}

static bool is_in_cgroup(const struct choice *c, pid_t pid)
{
	cleanup_free char *text = procs_cgroup(c->proc, pid);

	return text && cgroup_has(&c->wish.cgroup, text);
}

/* A number of the list that is given to another process later does not mean that one. */
static bool is_wanted(const struct choice *c, pid_t pid, const struct known *k)
{
	if (c->wish.npids)
		return !k->later && is_listed(c, pid);
	if (c->wish.name)
		return procs_is_called(c->proc, pid, k->comm, c->wish.name);
	return cgroup_is_wanted(&c->wish.cgroup) && is_in_cgroup(c, pid);
}

static void choose_wanted(struct choice *c)
{
	for (size_t i = 0; i < c->nread; i++) {
		struct known *k = addrmap_get(&c->known, (uint64_t)c->read[i]);

		if (k->state == OTHER && is_wanted(c, c->read[i], k))
			k->state = YOUNG;
	}
}

/* A child may have a smaller number than its parent: until nothing changes. */
static void spread(struct choice *c, bool (*does)(const struct choice *c, pid_t pid, const struct known *k),
		   enum state to)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < c->nread; i++) {
			struct known *k = addrmap_get(&c->known, (uint64_t)c->read[i]);

			if (k->state != OTHER || !does(c, c->read[i], k))
				continue;
			k->state = to;
			changed = true;
		}
	}
}

static bool descendant(const struct choice *c, pid_t pid, const struct known *k)
{
	(void)pid;
	return descends(c, k);
}

/* --- handing out --- */

static bool is_old_enough(const struct choice *c, const struct known *k, uint64_t now_ns)
{
	return !k->later || now_ns - k->start_ns >= c->wish.least_age_ns;
}

static int hand_out(struct choice *c, uint64_t now_ns)
{
	int r = 0;

	for (size_t i = 0; i < c->nread && r == 0; i++) {
		struct known *k = addrmap_get(&c->known, (uint64_t)c->read[i]);

		if (k->state != YOUNG || !is_old_enough(c, k, now_ns))
			continue;
		r = grow_for(&c->found, c->nfound, &c->room, sizeof(*c->found));
		if (r < 0)
			break;
		k->state = HANDED;
		c->found[c->nfound] = (struct choice_found){
			.pid = c->read[i], .start_ns = k->start_ns, .later = k->later,
			.inherits = k->inherits,
		};
		memcpy(c->found[c->nfound++].comm, k->comm, sizeof(k->comm));
	}
	return r;
}

/* Forget what this look has not seen. The list of what was read is not needed any more. */
static int forget_gone(struct choice *c)
{
	const struct known *k;
	uint64_t pid;
	void *value;
	int r = 0;

	c->nread = 0;
	for (size_t i = 0; r == 0 && addrmap_next(&c->known, &i, &pid, &value); ) {
		k = value;
		if (k->seen == c->looks)
			continue;
		c->brief += k->state == YOUNG;
		r = grow_for(&c->read, c->nread, &c->read_room, sizeof(*c->read));
		if (r == 0)
			c->read[c->nread++] = (pid_t)pid;
	}
	for (size_t i = 0; i < c->nread; i++)
		addrmap_del(&c->known, (uint64_t)c->read[i], NULL);
	return r;
}

int choice_look(struct choice *c, uint64_t now_ns)
{
	int r;

	c->looks++;
	c->nread = c->nfound = 0;
	r = read_all(c, now_ns);
	if (r < 0)
		return r;
	spread(c, is_ours, EXCLUDED);
	choose_wanted(c);
	spread(c, descendant, YOUNG);
	see_parents(c);
	r = hand_out(c, now_ns);
	return r < 0 ? r : forget_gone(c);
}

/* --- what the caller knows --- */

int choice_adopt(struct choice *c, pid_t pid)
{
	struct procstat st;
	struct known k;

	if (procstat_read(c->proc, pid, &st) < 0)
		return 0;	/* it has ended: it has no descendants that could be known */
	begin(c, &k, &st);
	k.fresh = false;
	k.state = HANDED;
	k.seen = c->looks;
	return addrmap_put(&c->known, (uint64_t)pid, &k);
}

void choice_again(struct choice *c, pid_t pid, bool execed)
{
	struct known *k = addrmap_get(&c->known, (uint64_t)pid);

	if (!k || k->state != HANDED)
		return;
	k->state = YOUNG;
	k->inherits &= !execed;
}
