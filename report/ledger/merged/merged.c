/* SPDX-License-Identifier: MIT */
/* merged: see merged.h. */
#include "report/ledger/merged/merged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void merged_init(struct merged *m)
{
	*m = (struct merged){ 0 };
	addrmap_init(&m->process_index, sizeof(uint32_t));
	addrmap_init(&m->group_index, sizeof(size_t));
	addrmap_init(&m->note_index, sizeof(size_t));
	addrmap_init(&m->hang_index, sizeof(size_t));
}

void merged_fini(struct merged *m)
{
	for (size_t i = 0; i < m->ngroups; i++) {
		series_fini(&m->groups[i].births);
		parts_fini(&m->groups[i].parts);
	}
	free(m->processes);
	free(m->groups);
	free(m->bins);
	free(m->hangs);
	free(m->notes);
	addrmap_fini(&m->process_index);
	addrmap_fini(&m->group_index);
	addrmap_fini(&m->note_index);
	addrmap_fini(&m->hang_index);
}

size_t merged_memory(const struct merged *m)
{
	size_t sum = m->processes_size * sizeof(*m->processes) + m->groups_size * sizeof(*m->groups) +
		     m->nbins * sizeof(*m->bins) + m->nnotes * sizeof(*m->notes) +
		     addrmap_memory(&m->process_index) + addrmap_memory(&m->group_index) +
		     addrmap_memory(&m->note_index) + addrmap_memory(&m->hang_index) +
		     m->hangs_size * sizeof(*m->hangs);

	for (size_t i = 0; i < m->ngroups; i++)
		sum += m->groups[i].parts.size +
		       (m->groups[i].births.points ? MMT_SERIES_POINTS * sizeof(uint64_t) : 0);
	return sum;
}

/* --- processes --- */

struct merged_process *merged_add_process(struct merged *m)
{
	const uint32_t index = (uint32_t)m->nprocesses;

	if (index >= MERGED_PROCESSES_MAX ||
	    grow_for(&m->processes, index, &m->processes_size, sizeof(*m->processes)) < 0)
		return NULL;
	m->processes[index] = (struct merged_process){ .its = { .number = index } };
	m->nprocesses++;
	return &m->processes[index];
}

/* --- groups --- */

static uint64_t key_of(uint32_t family, uint32_t stack, enum verdict verdict)
{
	return (uint64_t)family << 40 | (uint64_t)verdict << 32 | stack;
}

struct merged_group *merged_group(struct merged *m, uint32_t family, uint32_t stack, enum verdict verdict,
				  uint64_t now_us)
{
	bool fresh;
	size_t *slot;
	struct merged_group *g;

	if (grow_for(&m->groups, m->ngroups, &m->groups_size, sizeof(*m->groups)) < 0)
		return NULL;
	slot = addrmap_slot(&m->group_index, key_of(family, stack, verdict), &fresh);
	if (!slot)
		return NULL;
	if (fresh) {
		*slot = m->ngroups;
		m->groups[m->ngroups++] =
			(struct merged_group){ .family = family, .stack = stack, .verdict = verdict };
	}
	g = &m->groups[*slot];
	return series_advance(&g->births, now_us, g->bytes) < 0 ? NULL : g;
}

void merged_group_add(struct merged_group *to, const struct merged_group *from)
{
	if (from->blocks && (!to->blocks || from->oldest_us > to->oldest_us))
		to->oldest_us = from->oldest_us;
	if (from->blocks && (!to->blocks || from->youngest_us < to->youngest_us))
		to->youngest_us = from->youngest_us;
	to->blocks += from->blocks;
	to->bytes += from->bytes;
	to->indirect_blocks += from->indirect_blocks;
	to->indirect_bytes += from->indirect_bytes;
	byte_sample_merge(&to->sample_of, &from->sample_of);
}

int merged_add_hang(struct merged *m, const struct merged_hang *hang)
{
	bool fresh;
	size_t *slot;

	if (grow_for(&m->hangs, m->nhangs, &m->hangs_size, sizeof(*m->hangs)) < 0)
		return -ENOMEM;
	slot = addrmap_slot(&m->hang_index, (uint64_t)hang->root << 32 | hang->group, &fresh);
	if (!slot)
		return -ENOMEM;
	if (fresh) {
		*slot = m->nhangs;
		m->hangs[m->nhangs++] = (struct merged_hang){ .root = hang->root, .group = hang->group };
	}
	m->hangs[*slot].blocks += hang->blocks;
	m->hangs[*slot].bytes += hang->bytes;
	return 0;
}

/* --- bins, notes --- */

struct merged_bins *merged_bins(struct merged *m, uint32_t family)
{
	struct merged_bins *more;

	if (family < m->nbins)
		return &m->bins[family];
	more = reallocarray(m->bins, (size_t)family + 1, sizeof(*more));
	if (!more)
		return NULL;
	memset(&more[m->nbins], 0, (family + 1 - m->nbins) * sizeof(*more));
	m->bins = more;
	m->nbins = (size_t)family + 1;
	return &m->bins[family];
}

int merged_say(struct merged *m, const char *text, uint64_t processes)
{
	const uint64_t key = (uint64_t)(uintptr_t)text;
	const size_t *known = addrmap_get(&m->note_index, key);
	struct merged_note *note;

	if (known) {
		m->notes[*known].processes += processes;
		return 0;
	}
	if (m->nnotes >= MERGED_NOTES_MAX)
		return -ENOSPC;
	note = grow_by_one(&m->notes, m->nnotes, sizeof(*note));
	if (!note || addrmap_put(&m->note_index, key, &m->nnotes) < 0)
		return -ENOMEM;
	*note = (struct merged_note){ text, processes };
	m->nnotes++;
	return 0;
}
