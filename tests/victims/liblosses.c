/* SPDX-License-Identifier: MIT */
/*
 * liblosses: variables in a library's data, and in its thread-local data, which the loader allocates on first
 * use.
 */

static void *data[4];
static __thread void *tls[4];

void *data_place(void);
void *tls_place(void);

void *data_place(void)
{
	return &data[1];
}

void *tls_place(void)
{
	return &tls[1];
}
