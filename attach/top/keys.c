/* SPDX-License-Identifier: MIT */
#include "attach/top/keys.h"

#include <ncurses.h>
#include <string.h>

#define ESCAPE 27

/* A character that takes several bytes goes as a whole. */
static void erase_last(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
		n--;
	text[n ? n - 1 : 0] = '\0';
}

static enum key_effect take_input(struct screen *s, int key)
{
	const enum key_effect done = s->mode == SCREEN_FILTER ? KEYS_FILTER : KEYS_SAVE;
	const size_t n = strlen(s->input);

	switch (key) {
	case '\n':
	case '\r':
	case KEY_ENTER:
		s->mode = SCREEN_ROWS;
		return done;
	case ESCAPE:
		s->mode = SCREEN_ROWS;
		break;
	case KEY_BACKSPACE:
	case 127:
	case '\b':
		erase_last(s->input);
		break;
	case 'u' & 31:
		s->input[0] = '\0';
		break;
	default:
		if (key >= ' ' && key < 256 && n + 1 < sizeof(s->input)) {
			s->input[n] = (char)key;
			s->input[n + 1] = '\0';
		}
	}
	return KEYS_NOTHING;
}

static void ask(struct screen *s, enum screen_mode mode, const char *begin)
{
	s->mode = mode;
	snprintf(s->input, sizeof(s->input), "%s", begin);
}

static void move_by_key(const struct screen *s, struct top *t, int key)
{
	const long page = s->page ? (long)s->page : 1;

	switch (key) {
	case 'j':
	case KEY_DOWN:
		top_choose(t, 1);
		break;
	case 'k':
	case KEY_UP:
		top_choose(t, -1);
		break;
	case KEY_NPAGE:
		top_choose(t, page);
		break;
	case KEY_PPAGE:
		top_choose(t, -page);
		break;
	case KEY_HOME:
		top_choose(t, -(long)t->n);
		break;
	case KEY_END:
		top_choose(t, (long)t->n);
		break;
	}
}

static bool sort_by_key(struct top *t, int key)
{
	static const char keys[] = { [TOP_BYTES] = 'b', [TOP_GROWTH] = 'g', [TOP_RATE] = 'r', [TOP_CALLS] = 'c' };

	for (size_t i = 0; i < sizeof(keys); i++) {
		if (key != keys[i])
			continue;
		top_sort(t, (enum top_order)i);
		return true;
	}
	return false;
}

static enum key_effect take_command(struct screen *s, struct top *t, int key)
{
	switch (key) {
	case 'q':
		return KEYS_QUIT;
	case 'm':
		return KEYS_MARK;
	case '/':
		ask(s, SCREEN_FILTER, t->filter_text);
		break;
	case 's':
		ask(s, SCREEN_SAVE, "");
		break;
	case 'h':
	case '?':
		s->mode = SCREEN_HELP;
		break;
	case 'p':
	case ' ':
		s->paused = !s->paused;
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		top_open(t);
		break;
	default:
		if (!sort_by_key(t, key))
			move_by_key(s, t, key);
	}
	return KEYS_NOTHING;
}

enum key_effect keys_take(struct screen *s, struct top *t, int key)
{
	if (key == -1 || key == KEY_RESIZE)
		return KEYS_NOTHING;
	s->message[0] = '\0';
	switch (s->mode) {
	case SCREEN_HELP:
		s->mode = SCREEN_ROWS;
		return key == 'q' ? KEYS_QUIT : KEYS_NOTHING;
	case SCREEN_FILTER:
	case SCREEN_SAVE:
		return take_input(s, key);
	default:
		return take_command(s, t, key);
	}
}
