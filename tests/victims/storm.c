/* SPDX-License-Identifier: MIT */
/*
 * storm [THREADS]: a process that notices every disturbance by a tracer.
 *
 * A third of the threads malloc and free in bursts, with rests between these, so that they use a third of a processor
 * while nothing watches them; the others wait in the system calls that an interruption ends early, malloc once when
 * they wake, and wait again. One thread has every signal blocked while it allocates.
 *
 *	signals		start the signal storm: a child sends queued signals with
 *			serial numbers to the process, a thread sends others to
 *			single hot threads, until the end
 *	now		{"turns", "eintr", "odd", "damaged"} so far
 *	miss		count a signal as sent that was not: "end" must report it as lost
 *	end		{"eintr", "odd", "damaged", "sent", "lost", "doubled", "wrong_info",
 *			 "mask_kept", "turns", "idle_kinds": wakes per kind of sleep}
 *
 * Sleepers (storm_sleeps.h) have the storm's signals blocked, so that only a tracer can cause an EINTR. At
 * the end they are woken by what they wait for, or their time runs out; never by a signal.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "storm_sleeps.h"
#include "victim.h"

#define MAX_THREADS 1024
#define SERIALS (1u << 22)
#define WINDOW 256		/* signals in flight: far below RLIMIT_SIGPENDING */
/*
 * a signal that has not arrived by then is lost; by the clock, since the thread may wait long for a processor
 */
#define LOST_NS 10000000000ull

#define BURST 256		/* turns of a hot thread between two rests */
#define REST_NS 300000u		/* for each hot thread, so that together they are as busy */

#define SIG_SHARED (SIGRTMIN + 1)
#define SIG_THREAD (SIGRTMIN + 2)

struct worker {
	pthread_t thread;
	const struct sleeper *kind;
	uint64_t rng, turns, damaged, eintr, odd;
	bool is_long;
	bool mask_kept;
};

/* The signals that arrived: how often each serial number did. */
struct inbox {
	_Atomic uint8_t seen[SERIALS];
	_Atomic uint32_t received;
	_Atomic uint32_t wrong_info;
};

static struct worker workers[MAX_THREADS];
static unsigned nworkers, nhot;
static struct inbox shared_inbox, thread_inbox;
static pid_t sender_pid;
static int sender_orders[2], sender_credit[2];
static pthread_t thread_sender;
static uint32_t thread_sent;
static atomic_bool storming, settling;

/* One sleep; counted as odd unless it lasted until its time limit, or until the end. */
static void sleep_once(struct worker *w)
{
	int ms = w->is_long	  ? LONG_MS
		 : w->kind->woken ? SHORT_MS
				  : SHORT_MS + (int)(victim_random(&w->rng) % 400);
	int err = w->kind->sleep(ms);

	if (err == EINTR)
		w->eintr++;
	else if (err != ETIMEDOUT && !(err == 0 && ending))
		w->odd++;
}

/* --- the threads --- */

static void block_signals(bool all)
{
	sigset_t set;

	if (all) {
		sigfillset(&set);
	} else {
		sigemptyset(&set);
		for (int sig = SIG_SHARED; sig <= SIG_WAITED; sig++)
			sigaddset(&set, sig);
	}
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void *sleeper(void *arg)
{
	struct worker *w = arg;

	block_signals(false);
	for (; !ending; w->turns++) {
		sleep_once(w);
		w->damaged += !victim_malloc_free(&w->rng);
	}
	return NULL;
}

/* Signals do not make it shorter, and what a tracer does is not looked at: that is for the sleepers. */
static void rest(void)
{
	struct timespec t;
	uint64_t until = now_ns() + (uint64_t)nhot * REST_NS;

	t = (struct timespec){ .tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u) };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR && !ending)
		;
}

static void *hot(void *arg)
{
	struct worker *w = arg;

	for (; !ending; w->turns++) {
		w->damaged += !victim_malloc_free(&w->rng);
		if (settling || w->turns % BURST == 0)
			rest();
	}
	return NULL;
}

/* If a blocked signal is forced upon a thread (as an int3 does), the kernel unblocks it. */
static void *masked(void *arg)
{
	struct worker *w = arg;
	struct timespec t = span(1);
	sigset_t before, after;

	block_signals(true);
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	w->mask_kept = true;
	for (; !ending; w->turns++) {
		w->damaged += !victim_malloc_free(&w->rng);
		pthread_sigmask(SIG_BLOCK, NULL, &after);
		w->mask_kept &= sigismember(&after, SIGTRAP) == 1 && memcmp(&before, &after, 8) == 0;
		nanosleep(&t, NULL);
	}
	return NULL;
}

static void start(struct worker *w, unsigned i)
{
	void *(*run)(void *) = i == 0 ? masked : i <= nhot ? hot : sleeper;
	unsigned nth = i - nhot - 1;

	w->rng = 0x9e3779b97f4a7c15u ^ (i + 1);
	if (run == sleeper) {
		w->kind = &sleepers[nth % KINDS];
		w->is_long = w->kind->woken && nth / KINDS % 2 == 0;
	}
	if (pthread_create(&w->thread, NULL, run, w) != 0)
		victim_die("pthread_create");
}

/* --- the signal storm --- */

static void receive(struct inbox *in, const siginfo_t *info)
{
	uint32_t serial = (uint32_t)info->si_value.sival_int;

	if (info->si_code != SI_QUEUE || serial >= SERIALS) {
		in->wrong_info++;
		return;
	}
	in->seen[serial]++;
	in->received++;
}

static void on_shared(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	if (info->si_pid != sender_pid)
		shared_inbox.wrong_info++;
	receive(&shared_inbox, info);
}

static void on_thread(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	receive(&thread_inbox, info);
}

/*
 * The child that sends: one signal for each byte of credit, so that the queue stays short; when credit ends,
 * it reports how many it sent.
 */
static void sender(void)
{
	uint32_t serial = 0;
	char credit[WINDOW];
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(sender_credit[1]);
	while ((n = read(sender_credit[0], credit, sizeof(credit))) > 0)
		for (ssize_t i = 0; i < n; i++, serial++)
			while (sigqueue(getppid(), SIG_SHARED, (union sigval){ .sival_int = (int)serial }) != 0)
				if (errno != EAGAIN)
					_exit(1);
	if (write(sender_orders[1], &serial, sizeof(serial)) != sizeof(serial))
		_exit(1);
	_exit(0);
}

static bool room(const struct inbox *in, uint32_t sent)
{
	return sent - in->received < WINDOW && sent < SERIALS - WINDOW;
}

/* Send to single threads, and give the child credit for its own signals. */
static void *send_to_threads(void *arg)
{
	struct timespec t = span(1);
	uint32_t credit = 0;
	static const char bytes[16];

	block_signals(false);
	for (; storming; nanosleep(&t, NULL)) {
		for (int i = 0; i < 16 && room(&thread_inbox, thread_sent); i++, thread_sent++)
			while (pthread_sigqueue(workers[1 + thread_sent % nhot].thread, SIG_THREAD,
						(union sigval){ .sival_int = (int)thread_sent }) == EAGAIN)
				;
		if (room(&shared_inbox, credit) && write(sender_credit[1], bytes, sizeof(bytes)) > 0)
			credit += sizeof(bytes);
	}
	return arg;
}

static void start_storm(void)
{
	storming = true;
	if (pthread_create(&thread_sender, NULL, send_to_threads, NULL) != 0)
		victim_die("pthread_create");
}

/*
 * Stop the senders, then wait until their signals have arrived or are lost. The receiving threads must still
 * run: signals pending for a thread are lost when it ends.
 */
static uint32_t end_storm(void)
{
	uint64_t until;
	uint32_t sent = 0;
	struct timespec t = span(2);

	if (storming) {
		storming = false;
		pthread_join(thread_sender, NULL);
	}
	close(sender_credit[1]);
	if (read(sender_orders[0], &sent, sizeof(sent)) != sizeof(sent))
		victim_die("the sender");
	waitpid(sender_pid, NULL, 0);
	settling = true;
	until = now_ns() + LOST_NS;
	while ((shared_inbox.received < sent || thread_inbox.received < thread_sent) && now_ns() < until)
		nanosleep(&t, NULL);
	return sent;
}

static void tally(const struct inbox *in, uint32_t sent, uint32_t *lost, uint32_t *doubled)
{
	for (uint32_t i = 0; i < SERIALS; i++) {
		*lost += i < sent && !in->seen[i];
		*doubled += in->seen[i] > (i < sent);
	}
}

/* --- start and end --- */

static void prepare_signals(void)
{
	struct sigaction shared = { .sa_sigaction = on_shared, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction single = { .sa_sigaction = on_thread, .sa_flags = SA_SIGINFO | SA_RESTART };

	sigaction(SIG_SHARED, &shared, NULL);
	sigaction(SIG_THREAD, &single, NULL);
	if (pipe(sender_orders) || pipe(sender_credit))
		victim_die("pipe");
	sender_pid = fork();
	if (sender_pid == 0)
		sender();
	close(sender_credit[0]);
	close(sender_orders[1]); /* so that the death of a killed child is seen */
}

static void print_kinds(void)
{
	for (unsigned k = 0; k < KINDS; k++) {
		uint64_t turns = 0;

		for (unsigned i = 0; i < nworkers; i++)
			turns += workers[i].kind == &sleepers[k] ? workers[i].turns : 0;
		printf("%s\"%s\": %llu", k ? ", " : "", sleepers[k].name, (unsigned long long)turns);
	}
}

static void print_now(void)
{
	uint64_t turns = 0, damaged = 0, eintr = 0, odd = 0;

	for (unsigned i = 0; i < nworkers; i++) {
		turns += workers[i].turns;
		damaged += workers[i].damaged;
		eintr += workers[i].eintr;
		odd += workers[i].odd;
	}
	printf("{\"turns\": %llu, \"eintr\": %llu, \"odd\": %llu, \"damaged\": %llu}\n", (unsigned long long)turns,
	       (unsigned long long)eintr, (unsigned long long)odd, (unsigned long long)damaged);
	fflush(stdout);
}

static void finish(void)
{
	uint64_t turns = 0, damaged = 0, eintr = 0, odd = 0;
	uint32_t sent = end_storm(), lost = 0, doubled = 0;

	wake_all(nworkers);
	for (unsigned i = 0; i < nworkers; i++) {
		pthread_join(workers[i].thread, NULL);
		turns += workers[i].turns;
		damaged += workers[i].damaged;
		eintr += workers[i].eintr;
		odd += workers[i].odd;
	}
	tally(&shared_inbox, sent, &lost, &doubled);
	tally(&thread_inbox, thread_sent, &lost, &doubled);
	printf("{\"eintr\": %llu, \"odd\": %llu, \"damaged\": %llu, \"turns\": %llu, \"sent\": %u, \"lost\": "
	       "%u, "
	       "\"doubled\": %u, \"wrong_info\": %u, \"mask_kept\": %s, \"idle_kinds\": {",
	       (unsigned long long)eintr, (unsigned long long)odd, (unsigned long long)damaged,
	       (unsigned long long)turns, sent + thread_sent, lost, doubled,
	       shared_inbox.wrong_info + thread_inbox.wrong_info, workers[0].mask_kept ? "true" : "false");
	print_kinds();
	printf("}}\n");
	semctl(end_sem, 0, IPC_RMID);
}

int main(int argc, char **argv)
{
	char line[ORDER_MAX];

	nworkers = argc > 1 ? (unsigned)atoi(argv[1]) : 64;
	if (nworkers < 4 || nworkers > MAX_THREADS)
		return 2;
	nhot = nworkers / 3;
	prepare_sleeps();
	prepare_signals();
	for (unsigned i = 0; i < nworkers; i++)
		start(&workers[i], i);
	block_signals(false);
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0)
		if (strcmp(line, "signals") == 0 && !storming)
			start_storm();
		else if (strcmp(line, "now") == 0)
			print_now();
		else if (strcmp(line, "miss") == 0)
			thread_sent++;
	finish();
	return 0;
}
