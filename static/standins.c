/* SPDX-License-Identifier: MIT */
/*
 * standins: linked into the static program alone (make static, with ld's --wrap), in place of functions of
 * the C library that would load shared objects when they are called: those of another glibc, of the machine
 * to which the program was copied.
 *
 * libdw opens libdebuginfod with dlopen, which fails here; --debuginfod does not need it (it runs
 * debuginfod-find). Names of users are those in /etc/passwd; others are shown by number.
 */
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"

void *__wrap_dlopen(const char *file, int mode);
struct passwd *__wrap_getpwuid(uid_t uid);

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

struct passwd *__wrap_getpwuid(uid_t uid)
{
	cleanup_fclose FILE *users = fopen("/etc/passwd", "re");
	struct passwd *pw = NULL;

	while (users && (pw = fgetpwent(users)) && pw->pw_uid != uid)
		;
	return pw;
}
