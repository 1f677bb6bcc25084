/* SPDX-License-Identifier: MIT */
/*
 * relay: the test plays both gdb on one side and the controller on the other; the target is the test itself.
 */
#include "attach/keeper/gdb/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/keeper/keeper.h"
#include "attach/keeper/shared/wire.h"

#define LIMIT_MS 5000
#define CODE 0x401000		/* of the sites: never read */
#define STACK_WORDS 64

static struct shared *sh;
static int gdb = -1;		/* our end */
static pid_t relay;
static int relay_fd;
static uint64_t stack[STACK_WORDS];
static uint8_t buf[WIRE_MAX];

/* --- the controller's side --- */

static void set_site(uint32_t i, uint16_t flags)
{
	sh->sites[i] = (struct site){
		.addr = CODE + i * 64, .nbytes = 4, .bytes = { 1, 2, 3, 4 }, .flags = flags, .family = 1,
		.result = EMU_RAX,
	};
}

static void send_command(enum command_op op, int64_t arg, int64_t arg2)
{
	sh->op = op;
	sh->arg = arg;
	sh->arg2 = arg2;
	atomic_fetch_add(&sh->seq, 1);
	assert_int_equal(kill(relay, KEEPER_MAIL), 0);
}

static bool is_done(void)
{
	return atomic_load(&sh->done) == atomic_load(&sh->seq);
}

static int64_t await_done(void)
{
	for (int ms = 0; ms < LIMIT_MS && !is_done(); ms++)
		poll(NULL, 0, 1);
	assert_true(is_done());
	return sh->result;
}

static int64_t command(enum command_op op, int64_t arg, int64_t arg2)
{
	send_command(op, arg, arg2);
	return await_done();
}

static const struct record *next_record(void)
{
	const struct record *rec = NULL;

	for (int ms = 0; ms < LIMIT_MS && !(rec = ring_peek(&sh->ring)); ms++)
		poll(NULL, 0, 1);
	assert_non_null(rec);
	return rec;
}

static void assert_no_record(void)
{
	assert_null(ring_peek(&sh->ring));
}

/* --- gdb's side --- */

static const struct wire_head *hear(enum wire_kind kind)
{
	const struct wire_head *h = (const struct wire_head *)buf;
	struct pollfd p = { .fd = gdb, .events = POLLIN };
	int fd;

	assert_int_equal(poll(&p, 1, LIMIT_MS), 1);
	assert_true(wire_receive(gdb, buf, sizeof(buf), &fd) > 0);
	assert_int_equal(fd, -1);
	assert_int_equal(h->kind, kind);
	return h;
}

static void assert_silence(void)
{
	struct pollfd p = { .fd = gdb, .events = POLLIN };

	assert_int_equal(poll(&p, 1, 50), 0);
}

static void send_message(const void *message, size_t n)
{
	assert_int_equal(wire_send(gdb, message, n), 0);
}

static void send_head(enum wire_kind kind, uint32_t seq, uint32_t value, uint32_t tid)
{
	const struct wire_head h = { kind, seq, value, tid };

	send_message(&h, sizeof(h));
}

static struct wire_hit hit_at(uint32_t seq, uint32_t site, pid_t tid)
{
	return (struct wire_hit){
		.head = { WIRE_HIT, seq, site, tid },
		.regs = { .rip = CODE + site * 64, .rsp = (uintptr_t)stack, .rax = 0x1000, .rdi = 0x2000 },
	};
}

static void hit(uint32_t seq, uint32_t site)
{
	struct wire_hit h = hit_at(seq, site, getpid());

	send_message(&h, sizeof(h));
}

static void assert_go(uint32_t seq)
{
	const struct wire_head *h = hear(WIRE_GO);

	assert_int_equal(h->seq, seq);
	assert_int_equal(h->value, 0);
}

/* All sites are planted except those with an error. */
static void answer_plant(uint32_t bad)
{
	const struct wire_head *h = hear(WIRE_PLANT);
	const struct wire_place *p = (const struct wire_place *)(h + 1);
	struct {
		struct wire_head head;
		struct wire_result results[8];
	} answer = { .head = { WIRE_PLANTED, h->seq, h->value, 0 } };

	for (uint32_t i = 0; i < h->value; i++) {
		assert_int_equal(p[i].addr, CODE + p[i].site * 64);
		assert_int_equal(p[i].nbytes, 4);
		assert_memory_equal(p[i].bytes, ((uint8_t[]){ 1, 2, 3, 4 }), 4);
		answer.results[i] = (struct wire_result){ p[i].site, p[i].site == bad ? -EILSEQ : 0 };
	}
	send_message(&answer, sizeof(answer.head) + h->value * sizeof(answer.results[0]));
}

static void plant(uint32_t first, uint32_t n)
{
	send_command(COMMAND_PLANT, first, n);
	answer_plant(UINT32_MAX);
	assert_int_equal(await_done(), n);
}

/* --- one relay a test --- */

static int setup(void **state)
{
	static char name[] = "test_relay with room for another name";
	char *argv[] = { name, NULL };
	int ends[2];

	(void)state;
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	gdb = ends[0];
	sh->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sh->gdb = ends[1];
	sh->gdb_mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	sh->slice_bytes = 4096;
	sh->max_stall_ns = 50000000;
	sh->silence_ns = 60000000000;
	sh->hold_ns = 300000000;
	ring_init(&sh->ring, sh->ring_bytes, SHARED_RING);
	for (uint32_t i = 0; i < STACK_WORDS; i++)
		stack[i] = 0x5000 + i;
	if (keeper_start(sh, 1, argv, &relay, &relay_fd))
		return -1;
	close(ends[1]);
	return command(COMMAND_SEIZE, getpid(), 0) == 0 ? 0 : -1;
}

static void assert_ends(enum leave_reason why)
{
	struct pollfd p = { .fd = relay_fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, LIMIT_MS), 1);
	assert_int_equal(atomic_load(&sh->end.left), why);
}

static int teardown(void **state)
{
	(void)state;
	kill(relay, SIGKILL);
	waitpid(relay, NULL, 0);
	close(relay_fd);
	close(gdb);
	close(sh->bell);
	close(sh->gdb_mem);
	munmap(sh, sizeof(*sh));
	return 0;
}

/* --- the tests --- */

static void sites_are_planted_by_gdb(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		set_site(i, SITE_EMIT);
	send_command(COMMAND_PLANT, 0, 3);
	answer_plant(1);
	assert_int_equal(await_done(), 2);
	assert_int_equal(sh->plant_result[0], 0);
	assert_int_equal(sh->plant_result[1], -EILSEQ);
	assert_int_equal(sh->plant_result[2], 0);
}

static void a_hit_becomes_a_record(void **state)
{
	const struct record_hit *rec;

	(void)state;
	set_site(0, SITE_EMIT | SITE_EXIT | SITE_SLICE);
	sh->sites[0].loads[0] = (struct site_load){ .base = SITE_BASE_RESULT, .width = 8 };
	plant(0, 1);
	struct wire_hit h = hit_at(1, 0, getpid());
	h.regs.rax = (uintptr_t)&stack[5];
	send_message(&h, sizeof(h));
	assert_go(1);
	rec = (const struct record_hit *)next_record();
	assert_int_equal(rec->head.kind, RECORD_HIT);
	assert_int_equal(rec->head.site, 0);
	assert_int_equal(rec->head.tid, getpid());
	assert_int_equal(rec->head.flags & RECORD_STATIC, RECORD_STATIC);
	assert_int_equal(rec->loads_read, 1);
	assert_int_equal(rec->loads[0], stack[5]);
	assert_true(rec->slice_len >= sizeof(stack));
	assert_memory_equal(rec->slice, stack, sizeof(stack));
	ring_consume(&sh->ring, &rec->head);
	assert_no_record();
}

/* A breakpoint that is not ours any more, a site that was never planted, registers with another pc. */
static void what_is_no_hit_goes_on(void **state)
{
	(void)state;
	set_site(0, SITE_EMIT);
	set_site(1, SITE_EMIT);
	plant(0, 1);
	hit(1, 1);
	assert_go(1);
	hit(2, SHARED_SITES + 7);
	assert_go(2);
	struct wire_hit h = hit_at(3, 0, getpid());
	h.regs.rip++;
	send_message(&h, sizeof(h));
	assert_go(3);
	send_command(COMMAND_FORGET, 0, 1);
	const struct wire_head *head = hear(WIRE_FORGET);
	assert_int_equal(head->value, 1);
	send_head(WIRE_FORGOTTEN, head->seq, 0, 0);
	assert_int_equal(await_done(), 0);
	hit(4, 0);
	assert_go(4);
	assert_no_record();
}

/* A module is loaded: the hit is held, and gdb plants meanwhile. */
static void a_held_hit_waits_for_the_controller(void **state)
{
	const struct record *rec;

	(void)state;
	set_site(0, SITE_EMIT | SITE_WAIT | SITE_MODULES);
	set_site(1, SITE_EMIT);
	plant(0, 1);
	hit(1, 0);
	rec = next_record();
	assert_int_equal(rec->flags & RECORD_HELD, RECORD_HELD);
	assert_silence();
	plant(1, 1);
	assert_silence();
	assert_int_equal(command(COMMAND_RELEASE, rec->tid, rec->value + 1), -ESRCH);
	assert_int_equal(command(COMMAND_RELEASE, rec->tid, rec->value), 0);
	assert_go(1);
	assert_int_equal(command(COMMAND_RELEASE, rec->tid, rec->value), -ESRCH);
	ring_consume(&sh->ring, rec);
	hit(2, 1);
	assert_go(2);
	ring_consume(&sh->ring, next_record());
	assert_no_record();
}

static void no_thread_waits_for_ever(void **state)
{
	(void)state;
	set_site(0, SITE_EMIT | SITE_WAIT | SITE_MODULES);
	plant(0, 1);
	hit(1, 0);
	assert_go(1);
	assert_int_equal(atomic_load(&sh->counts.overdue), 1);
}

static void a_hit_that_gdb_gives_up(void **state)
{
	const struct record *rec;

	(void)state;
	sh->hold_ns = 60000000000;
	set_site(0, SITE_EMIT | SITE_WAIT | SITE_MODULES);
	set_site(1, SITE_EMIT);
	plant(0, 2);
	hit(1, 0);
	rec = next_record();
	hit(2, 1);
	assert_go(2);
	assert_int_equal(command(COMMAND_RELEASE, rec->tid, rec->value), -ESRCH);
	assert_silence();
	ring_consume(&sh->ring, rec);
	ring_consume(&sh->ring, next_record());
	hit(3, 0);
	rec = next_record();
	assert_int_equal(command(COMMAND_RELEASE, rec->tid, rec->value), 0);
	assert_go(3);
}

/* The ring is not read: a hit waits for max_stall, then hits are dropped and counted, until there is room. */
static void a_full_ring(void **state)
{
	uint32_t seq = 0;

	(void)state;
	set_site(0, SITE_EMIT | SITE_SLICE);
	plant(0, 1);
	while (atomic_load(&sh->counts.dropped) < 3) {
		hit(++seq, 0);
		assert_go(seq);
		assert_true(seq < 1000000);
	}
	assert_int_equal(atomic_load(&sh->counts.stalls), 1);
	while (ring_peek(&sh->ring))
		ring_consume(&sh->ring, ring_peek(&sh->ring));
	hit(++seq, 0);
	assert_go(seq);
	assert_int_equal(next_record()->kind, RECORD_GAP);
	assert_int_equal(atomic_load(&sh->counts.dropped), 3);
}

static void frames_that_gdb_walked(void **state)
{
	struct {
		struct wire_hit hit;
		uint64_t frames[3];
	} h = { hit_at(1, 0, getpid()), { CODE | 1ull << 63, 0x402000, 0x403000 } };
	const struct record_hit *rec;

	(void)state;
	set_site(0, SITE_EMIT | SITE_SLICE);
	plant(0, 1);
	send_message(&h, sizeof(h));
	assert_go(1);
	rec = (const struct record_hit *)next_record();
	assert_int_equal(rec->head.flags & RECORD_FRAMES, RECORD_FRAMES);
	assert_int_equal(rec->slice_len, sizeof(h.frames));
	assert_memory_equal(rec->slice, h.frames, sizeof(h.frames));
}

static void threads_that_end(void **state)
{
	const struct record *rec;

	(void)state;
	set_site(0, SITE_EMIT);
	plant(0, 1);
	hit(1, 0);
	assert_go(1);
	struct wire_hit h = hit_at(2, 0, 0x3fffffff);
	send_message(&h, sizeof(h));
	assert_go(2);
	ring_consume(&sh->ring, next_record());
	ring_consume(&sh->ring, next_record());
	/* not a thread of ours: the relay finds that it has ended */
	rec = next_record();
	assert_int_equal(rec->kind, RECORD_THREAD_END);
	assert_int_equal(rec->tid, 0x3fffffff);
	ring_consume(&sh->ring, rec);
	send_head(WIRE_THREAD_END, 0, 0, getpid());
	rec = next_record();
	assert_int_equal(rec->kind, RECORD_THREAD_END);
	assert_int_equal(rec->tid, getpid());
}

static void the_targets_end(void **state)
{
	const struct record *rec;

	(void)state;
	send_head(WIRE_END, 0, 3 << 8, 0);
	rec = next_record();
	assert_int_equal(rec->kind, RECORD_END);
	assert_int_equal(rec->value, 3 << 8);
	hear(WIRE_BYE);
	assert_ends(LEFT_ENDED);
}

static void gdbs_end(void **state)
{
	(void)state;
	shutdown(gdb, SHUT_RDWR);
	assert_ends(LEFT_DEBUGGER);
}

static void the_watchs_end(void **state)
{
	(void)state;
	set_site(0, SITE_EMIT | SITE_WAIT);
	plant(0, 1);
	hit(1, 0);
	ring_consume(&sh->ring, next_record());
	send_command(COMMAND_LEAVE, 0, 0);
	assert_int_equal(hear(WIRE_GO)->value, 1);
	hear(WIRE_BYE);
	assert_ends(LEFT_ASKED);
}

/* gdb has released all threads, also of a hit that is held: none of these threads is the keeper's. */
static void the_keeper_takes_over(void **state)
{
	uint64_t beat;

	(void)state;
	sh->hold_ns = 60000000000;
	set_site(0, SITE_EMIT | SITE_WAIT);
	set_site(1, SITE_EMIT);
	plant(0, 2);
	hit(1, 1);
	assert_go(1);
	hit(2, 0);
	ring_consume(&sh->ring, next_record());
	ring_consume(&sh->ring, next_record());
	assert_int_equal(command(COMMAND_TAKE_OVER, 0, 0), 0);
	beat = atomic_load(&sh->beat);
	for (int ms = 0; ms < LIMIT_MS && atomic_load(&sh->beat) < beat + 2; ms++)
		poll(NULL, 0, 1);
	assert_int_equal(atomic_load(&sh->threads), 0);
	assert_int_equal(atomic_load(&sh->end.left), LEFT_NOT);
	send_command(COMMAND_LEAVE, 0, 0);
	assert_ends(LEFT_ASKED);
}

static void another_process(void **state)
{
	int other = memfd_create("memory", MFD_CLOEXEC);
	struct wire_head h = { WIRE_MOVED, 0, (uint32_t)getpid(), 0 };
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { &h, sizeof(h) };
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	const struct record_hit *rec;
	uint64_t word = 77;

	(void)state;
	assert_int_equal(pwrite(other, &word, sizeof(word), 0x10000), sizeof(word));
	*c = (struct cmsghdr){
		.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)),
	};
	memcpy(CMSG_DATA(c), &other, sizeof(other));
	assert_int_equal(sendmsg(gdb, &m, 0), sizeof(h));
	assert_int_equal(next_record()->kind, RECORD_MOVED);
	ring_consume(&sh->ring, next_record());
	set_site(0, SITE_EMIT);
	sh->sites[0].loads[0] = (struct site_load){ .base = SITE_BASE_ARG1, .width = 8 };
	plant(0, 1);
	/* not a thread of ours, so its memory cannot be read directly */
	struct wire_hit hit = hit_at(1, 0, 0x3fffffff);
	hit.regs.rdi = 0x10000;
	send_message(&hit, sizeof(hit));
	assert_go(1);
	rec = (const struct record_hit *)next_record();
	assert_int_equal(rec->loads[0], 77);
	close(other);
}

/* Whatever arrives, the relay does not crash, and still serves a valid message. */
static void nonsense(void **state)
{
	uint64_t x = 88172645463325252ull;
	uint8_t junk[600];

	(void)state;
	set_site(0, SITE_EMIT | SITE_SLICE);
	plant(0, 1);
	for (int round = 0; round < 20000; round++) {
		size_t n;

		for (size_t i = 0; i < sizeof(junk); i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			junk[i] = x;
		}
		n = 1 + x % sizeof(junk);
		/* more often than not a kind that exists; never the end */
		((struct wire_head *)junk)->kind = 1 + (x >> 20) % 9;
		if (((struct wire_head *)junk)->kind == WIRE_END)
			continue;
		if (x & 1 << 30)
			((struct wire_head *)junk)->value = 0;
		while (wire_send(gdb, junk, n) == -EAGAIN)
			poll(NULL, 0, 1);
		while (recv(gdb, buf, sizeof(buf), MSG_DONTWAIT) > 0)
			;
		while (ring_peek(&sh->ring))
			ring_consume(&sh->ring, ring_peek(&sh->ring));
	}
	assert_int_equal(command(COMMAND_SEIZE, getpid(), 0), 0);
	hit(0x10001, 0);
	while (hear(WIRE_GO)->seq != 0x10001)
		;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sites_are_planted_by_gdb, setup, teardown),
		cmocka_unit_test_setup_teardown(a_hit_becomes_a_record, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_hit_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(a_held_hit_waits_for_the_controller, setup, teardown),
		cmocka_unit_test_setup_teardown(no_thread_waits_for_ever, setup, teardown),
		cmocka_unit_test_setup_teardown(a_hit_that_gdb_gives_up, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_ring, setup, teardown),
		cmocka_unit_test_setup_teardown(frames_that_gdb_walked, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_that_end, setup, teardown),
		cmocka_unit_test_setup_teardown(the_targets_end, setup, teardown),
		cmocka_unit_test_setup_teardown(gdbs_end, setup, teardown),
		cmocka_unit_test_setup_teardown(the_watchs_end, setup, teardown),
		cmocka_unit_test_setup_teardown(the_keeper_takes_over, setup, teardown),
		cmocka_unit_test_setup_teardown(another_process, setup, teardown),
		cmocka_unit_test_setup_teardown(nonsense, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
