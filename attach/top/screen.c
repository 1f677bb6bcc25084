/* SPDX-License-Identifier: MIT */
#include "attach/top/screen.h"

#include <errno.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "attach/top/screen_text.h"

#define ROOMY 8		/* lines with which there is room for three at the top */
#define STACK_INDENT 4

bool screen_open(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return false;
	setlocale(LC_CTYPE, "");
	if (!newterm(NULL, stdout, stdin))
		return false;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	timeout(100);
	return true;
}

void screen_close(void)
{
	endwin();
}

int screen_wait_key(void)
{
	return getch();
}

bool screen_is_gone(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR | POLLNVAL);
}

/* --- lines --- */

/* The next character of @text, and how many columns it takes; what cannot be shown is a question mark. */
static int next_character(const char **text, wchar_t *out)
{
	mbstate_t state = { 0 };
	const size_t n = mbrtowc(out, *text, strlen(*text), &state);
	int width;

	*text += n && n <= strlen(*text) ? n : 1;
	width = n <= 16 ? wcwidth(*out) : -1;
	if (width >= 0)
		return width;
	*out = L'?';
	return 1;
}

/* As much of @text as fits into line @y, from column @x on. Returns what is left. */
static const char *put_part(int y, int x, const char *text)
{
	move(y, x);
	while (*text) {
		const char *next = text;
		wchar_t c[2] = { 0 };
		const int width = next_character(&next, c);

		if (x + width > COLS)
			return text;
		addwstr(c);
		x += width;
		text = next;
	}
	return text;
}

static void put_line(int y, const char *text)
{
	(void)put_part(y, 0, text);
}

/* --- how the lines are shared out --- */

static int lines_above(void)
{
	return LINES >= ROOMY ? 3 : LINES > 3 ? 1 : 0;
}

static int lines_below(const struct screen *s)
{
	return LINES > 3 || (LINES > 1 && s->mode != SCREEN_ROWS) ? 1 : 0;
}

static int lines_of_rows(const struct screen *s)
{
	const int n = LINES - lines_above() - lines_below(s);

	return n > 0 ? n : 1;
}

static void draw_frame(const struct screen *s, const struct top *t, const struct ledger *l)
{
	cleanup_strbuf struct strbuf head = STRBUF_INIT, state = STRBUF_INIT, columns = STRBUF_INIT,
				     foot = STRBUF_INIT;

	screen_text_head(&head, t, l);
	screen_text_state(&state, s, t, l);
	screen_text_columns(&columns, t, (size_t)COLS);
	screen_text_foot(&foot, s);
	if (lines_above() > 0)
		put_line(0, strbuf_str(&head));
	if (lines_above() > 1) {
		put_line(1, strbuf_str(&state));
		attrset(A_BOLD);
		put_line(2, strbuf_str(&columns));
		attrset(A_NORMAL);
	}
	if (lines_below(s))
		put_line(LINES - 1, strbuf_str(&foot));
}

/* --- rows --- */

/* The stack of a row from line @y on, long lines in several. Returns the line below it, or the first that is @end. */
static int draw_stack(struct ledger *l, const struct top_row *row, int y, int end, int *err)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	const int indent = COLS > 4 * STACK_INDENT ? STACK_INDENT : 0;
	char *line, *rest;

	*err = screen_text_stack(&sb, l, row);
	if (*err < 0)
		return y;
	for (line = strtok_r(sb.s, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *left = line + strspn(line, " ");
		int x = indent;

		while (*left && y < end) {
			const char *before = left;

			left = put_part(y++, x, left);
			if (left == before)	/* no character fits */
				break;
			x = indent ? indent + 3 : 0;
		}
	}
	return y;
}

static int draw_row(struct top *t, struct ledger *l, size_t i, const struct apart *apart, int y)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	const int r = screen_text_row(&sb, t, l, &t->rows[i], apart, (size_t)COLS);

	if (i == t->chosen)
		attrset(A_REVERSE);
	put_line(y, strbuf_str(&sb));
	attrset(A_NORMAL);
	return r;
}

/* From row s->first on. Returns the first row that did not fit; *@err: 0 or -errno. */
static size_t draw_rows(const struct screen *s, struct top *t, struct ledger *l, int *err)
{
	int y = lines_above();
	const int end = y + lines_of_rows(s);
	const size_t room = (size_t)lines_of_rows(s), rows = t->n - s->first < room ? t->n - s->first : room;
	cleanup_free struct apart *apart = calloc(rows + 1, sizeof(*apart));
	size_t i = s->first;

	*err = apart ? screen_text_apart(l, t->rows + s->first, rows, apart) : -ENOMEM;
	for (; i < t->n && y < end && *err == 0; i++) {
		*err = draw_row(t, l, i, &apart[i - s->first], y++);
		if (*err == 0 && top_is_open(t, &t->rows[i]))
			y = draw_stack(l, &t->rows[i], y, end, err);
	}
	return i;
}

/* An open stack may take the room in which the chosen row would be. */
static int draw_until_chosen_is_there(struct screen *s, struct top *t, struct ledger *l, struct top_names *names)
{
	const size_t room = (size_t)lines_of_rows(s);
	size_t shown;
	int err;

	s->page = room;
	if (t->chosen < s->first)
		s->first = t->chosen;
	if (t->chosen >= s->first + room)
		s->first = t->chosen - room + 1;
	err = s->first < t->n ? top_names_look_up(names, l, t->rows + s->first,
						  t->n - s->first < room ? t->n - s->first : room) : 0;
	while (err == 0) {
		erase();
		shown = draw_rows(s, t, l, &err);
		if (err < 0 || shown > t->chosen || s->first >= t->chosen)
			break;
		s->first++;
	}
	return err;
}

/* A screen without rows says why. */
static void draw_none(const struct top *t, const struct ledger *l)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	screen_text_none(&sb, t, l);
	put_line(lines_above(), strbuf_str(&sb));
}

static void draw_help(const struct screen *s)
{
	const char *text = screen_text_help;

	erase();
	for (int y = lines_above(); *text && y < lines_above() + lines_of_rows(s); y++) {
		const size_t n = strcspn(text, "\n");
		char line[128];

		snprintf(line, sizeof(line), "%.*s", (int)n, text);
		put_line(y, line);
		text += n + (text[n] == '\n');
	}
}

int screen_draw(struct screen *s, struct top *t, struct ledger *l, struct top_names *names)
{
	int r = 0;

	if (s->mode == SCREEN_HELP)
		draw_help(s);
	else
		r = draw_until_chosen_is_there(s, t, l, names);
	if (s->mode != SCREEN_HELP && !t->n)
		draw_none(t, l);
	draw_frame(s, t, l);
	refresh();
	return r;
}
