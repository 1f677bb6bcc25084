/* SPDX-License-Identifier: MIT */
/* log: see log.h. One buffer on the stack: filled, control characters replaced, written. */
#include "base/log.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/statusline.h"
#include "base/character.h"

enum level { LEVEL_ERROR, LEVEL_WARN, LEVEL_INFO, LEVEL_VERBOSE };

static enum level shown_up_to = LEVEL_INFO;
static uint32_t debug_domains;
static char subject[80];	/* "nginx 812: ", or "" */

/* Where errors go instead of to stderr; NULL: they are printed. */
static struct {
	char *text;
	size_t n;
} diverted;

/* Whether the last error or warning of this thread was printed: its hint follows it. */
static _Thread_local bool last_shown;

static const struct {
	const char *name, *what;
} domains[] = {
#define X(upper, lower, what) { #lower, what },
	LOG_DOMAINS(X)
#undef X
};

_Static_assert(LOG_DOMAIN_COUNT <= 32, "one bit of debug_domains each");

void log_set_quiet(void)
{
	shown_up_to = LEVEL_ERROR;
}

void log_set_verbose(void)
{
	shown_up_to = LEVEL_VERBOSE;
}

void log_set_subject(const char *name)
{
	snprintf(subject, sizeof(subject), "%s: ", name);
}

void log_divert(char *text, size_t n)
{
	diverted.text = text;
	diverted.n = n;
}

static uint32_t domain_bits(const char *name, size_t len)
{
	if (len == 3 && !strncmp(name, "all", 3))
		return UINT32_MAX;
	for (size_t i = 0; i < LOG_DOMAIN_COUNT; i++)
		if (strlen(domains[i].name) == len && !strncmp(domains[i].name, name, len))
			return UINT32_C(1) << i;
	return 0;
}

int log_debug_enable(const char *names, char *bad, size_t n)
{
	uint32_t bits = 0;

	for (const char *p = names;; ) {
		size_t len = strcspn(p, ",");
		uint32_t bit = domain_bits(p, len);
		if (!bit) {
			snprintf(bad, n, "%.*s", (int)len, p);
			return -EINVAL;
		}
		bits |= bit;
		if (!p[len])
			break;
		p += len + 1;
	}
	debug_domains |= bits;
	return 0;
}

bool log_domain_describe(size_t i, const char **name, const char **what)
{
	if (i >= LOG_DOMAIN_COUNT)
		return false;
	*name = domains[i].name;
	*what = domains[i].what;
	return true;
}

bool log_debug_on(enum log_domain domain)
{
	return debug_domains >> domain & 1;
}

/* The target's names are printed here, and must not control the terminal (character.h). */
static void defuse(char *s)
{
	uint32_t code;

	for (size_t n; *s; s += n) {
		n = character_read((const unsigned char *)s, &code);
		if (!n || character_is_control(code))
			memset(s, '?', n ? n : 1);
		n = n ? n : 1;
	}
}

/* snprintf's result, as the length of what is really in the buffer. */
static size_t fitted(int n, size_t size)
{
	if (n < 0)
		return 0;
	return (size_t)n < size ? (size_t)n : size - 1;
}

/* One line: @prefix, the message, ": reason" if @err is not 0. */
static void print(const char *prefix, int err, const char *fmt, va_list ap)
{
	int saved = errno;
	char line[LOG_LINE_MAX];
	size_t size = sizeof(line) - 1;
	const size_t begin = fitted(snprintf(line, size, "%s", statusline_take()), size);
	size_t len = begin + fitted(snprintf(line + begin, size - begin, "%s", prefix), size - begin);

	len += fitted(snprintf(line + len, size - len, "%s", subject), size - len);
	len += fitted(vsnprintf(line + len, size - len, fmt, ap), size - len);
	if (err)
		len += fitted(snprintf(line + len, size - len, ": %s", strerrordesc_np(abs(err)) ?: "unknown error"), size - len);
	defuse(line + begin);
	line[len++] = '\n';
	if (write_full(STDERR_FILENO, line, len) < 0)
		last_shown = false;
	errno = saved;
}

/* The first error is kept; what follows it (a hint, the same of another part) is not. */
static void divert(enum level level, int err, const char *fmt, va_list ap)
{
	size_t len;

	if (level != LEVEL_ERROR || *diverted.text)
		return;
	len = fitted(vsnprintf(diverted.text, diverted.n, fmt, ap), diverted.n);
	if (err)
		snprintf(diverted.text + len, diverted.n - len, ": %s", strerrordesc_np(abs(err)) ?: "unknown error");
	defuse(diverted.text);
}

static void message(enum level level, const char *prefix, int err, const char *fmt, va_list ap)
{
	if (diverted.text && level <= LEVEL_WARN) {
		last_shown = false;
		divert(level, err, fmt, ap);
		return;
	}
	last_shown = level <= shown_up_to;
	if (last_shown)
		print(prefix, err, fmt, ap);
}

#define FORWARD(level, prefix, err)			\
	do {						\
		va_list ap;				\
		va_start(ap, fmt);			\
		message(level, prefix, err, fmt, ap);	\
		va_end(ap);				\
	} while (0)

void log_error(const char *fmt, ...)
{
	FORWARD(LEVEL_ERROR, "mmattach: ", 0);
}

void log_warn(const char *fmt, ...)
{
	FORWARD(LEVEL_WARN, "mmattach: warning: ", 0);
}

void log_info(const char *fmt, ...)
{
	FORWARD(LEVEL_INFO, "mmattach: ", 0);
}

void log_verbose(const char *fmt, ...)
{
	FORWARD(LEVEL_VERBOSE, "mmattach: ", 0);
}

void log_error_errno(int err, const char *fmt, ...)
{
	FORWARD(LEVEL_ERROR, "mmattach: ", err);
}

void log_warn_errno(int err, const char *fmt, ...)
{
	FORWARD(LEVEL_WARN, "mmattach: warning: ", err);
}

void log_announce(const char *fmt, ...)
{
	FORWARD(LEVEL_WARN, "", 0);
}

void log_hint(const char *fmt, ...)
{
	if (last_shown)
		FORWARD(LEVEL_ERROR, "mmattach: hint: ", 0);
}

void log_debug_print(enum log_domain domain, const char *fmt, ...)
{
	char prefix[64];
	struct timespec now;
	va_list ap;

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(prefix, sizeof(prefix), "mmattach: %lld.%06ld %s: ", (long long)now.tv_sec,
		 now.tv_nsec / 1000, domains[domain].name);
	va_start(ap, fmt);
	print(prefix, 0, fmt, ap);
	va_end(ap);
}
