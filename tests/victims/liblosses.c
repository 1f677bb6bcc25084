/* SPDX-License-Identifier: MIT */
/* liblosses: places in a library's data, and in its thread-local data, which the loader allocates when it is first used. */

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
