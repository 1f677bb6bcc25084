/* SPDX-License-Identifier: MIT */
/* folder: each test runs in a folder of its own, which is also the current one, and is removed afterwards. */
#ifndef FOLDER_H
#define FOLDER_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct folder {
	char path[32];
	int home;
};

static inline int folder_enter(void **state)
{
	struct folder *f = malloc(sizeof(*f));

	strcpy(f->path, "/tmp/mm-test-XXXXXX");
	f->home = open(".", O_PATH | O_DIRECTORY);
	*state = f;
	return mkdtemp(f->path) ? chdir(f->path) : -1;
}

static inline int folder_leave(void **state)
{
	struct folder *f = *state;
	DIR *dir = opendir(".");
	int err;

	for (struct dirent *e; (e = readdir(dir)); )
		unlink(e->d_name);
	closedir(dir);
	err = fchdir(f->home) || rmdir(f->path);
	close(f->home);
	free(f);
	return err;
}

#endif
