/* SPDX-License-Identifier: MIT */
/*
 * log: our messages to the user, on stderr, one write(2) per message.
 *
 *	mmattach: cannot attach to 1234: Operation not permitted
 *	mmattach: hint: run as root, or as the user of that process
 *
 * A message is lower case: what failed, subject, reason; log_hint follows if the user can do something about
 * it. Debug messages belong to a domain and are printed only if --debug names it: that log is the bug report.
 *
 * Every function here preserves errno, so a failed call can be logged before it is returned. Nothing is
 * allocated or locked: safe wherever write(2) is. A message longer than LOG_LINE_MAX is cut, never split;
 * control characters in it (a target may choose its own name) are shown as '?'. A line of progress on the
 * terminal is erased first (statusline.h).
 */
#ifndef MM_LOG_H
#define MM_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define LOG_LINE_MAX 2048

/* The domains of --debug, each with what it shows. */
#define LOG_DOMAINS(X)						\
	X(EVENT, event, "hits as they come out of the ring")	\
	X(TRAP, trap, "traps planted, lifted, refused")		\
	X(KEEPER, keeper, "commands and states of the keeper")	\
	X(THREAD, thread, "threads seized, born, gone")		\
	X(PLAN, plan, "where traps go, and why there")		\
	X(MODULE, module, "files mapped into the target")	\
	X(UNWIND, unwind, "stacks on which unwinders differ, and names that were not found")

enum log_domain {
#define X(upper, lower, what) LOG_##upper,
	LOG_DOMAINS(X)
#undef X
	LOG_DOMAIN_COUNT
};

/* At the start errors, warnings and log_info are printed. */
void log_set_quiet(void);	/* only errors */
void log_set_verbose(void);	/* log_verbose too */

/*
 * All further messages of this process, and of its copies, are about @subject, which is shown in front of them:
 * "mmattach: nginx 812: ...". It is copied.
 */
void log_set_subject(const char *subject);

/*
 * Do not print errors and warnings: the first error is put into the @n bytes at @text, and the others are dropped.
 * NULL: print them again.
 */
void log_divert(char *text, size_t n);

/*
 * Switch on the domains in @names ("event,trap"; "all"). 0, or -EINVAL with the unknown name in @bad (cut to
 * @n bytes); then nothing is changed.
 */
int log_debug_enable(const char *names, char *bad, size_t n);

/* The name of the i-th domain and what it shows, for --help; false past the last. */
bool log_domain_describe(size_t i, const char **name, const char **what);

bool log_debug_on(enum log_domain domain);

/*
 * error: the run fails, or a part of it. warn: it goes on, the result is less than was asked.
 * info: what is happening; verbose: in detail.
 */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * A line that scripts wait for ("watching 1234 ..."): without prefix; -q leaves it out.
 */
void log_announce(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What the user can do about the error or warning just logged; not printed if that was not. */
void log_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "FMT: strerror(err)"; @err may be positive or negative. */
void log_error_errno(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_warn_errno(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void log_debug_print(enum log_domain domain, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The arguments are not evaluated if the domain is off: log_debug(TRAP, "planted at ..."). */
#define log_debug(domain, ...)						\
	do {								\
		if (log_debug_on(LOG_##domain))				\
			log_debug_print(LOG_##domain, __VA_ARGS__);	\
	} while (0)

#endif
