/* SPDX-License-Identifier: MIT */
/*
 * Local resources that end with their scope.
 *
 *	cleanup_close int fd = open(...);      closed at the end of the block
 *	cleanup_free char *s = strdup(...);    freed at the end of the block
 *
 * Only for local resources: what we changed in the target is undone by
 * explicit code, in reverse order, each step checked.
 */
#ifndef MM_CLEANUP_H
#define MM_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_free_ptr(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_closedir_ptr(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static inline void cleanup_fclose_ptr(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define cleanup_close __attribute__((cleanup(cleanup_close_fd)))
#define cleanup_free __attribute__((cleanup(cleanup_free_ptr)))
#define cleanup_closedir __attribute__((cleanup(cleanup_closedir_ptr)))
#define cleanup_fclose __attribute__((cleanup(cleanup_fclose_ptr)))

/* Errors of what touches the target must not be ignored. */
#define must_check __attribute__((warn_unused_result))

#endif
