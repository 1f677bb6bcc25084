/* SPDX-License-Identifier: MIT */
/*
 * patched MODE: a process whose code in memory is not that of its file.
 *
 *	own	patched_free begins with another nop than in the file
 *	int3	patched_free begins with an int3 of this program's own, which
 *		its SIGTRAP handler steps past, as a debugger inside would do
 *	jump	the same at the jump that is its next instruction, which
 *		is where the kernel's probe would be
 *	shared	patched_free is the file's, but its page is mapped shared
 *	libc	libc's free tests its argument with another instruction that
 *		does the same (exits with 77, a skip, if that free begins otherwise)
 *
 * "go N" allocates and frees N times with patched_alloc and patched_free, and N times with malloc and free,
 * and answers {"pairs": N, "traps": SIGTRAPs of this program's own}.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "victim.h"

#define NOP_LEN 4
#define BLOCKS 8

void *patched_alloc(size_t n);
void patched_free(void *p);
void slot_free(void *p);

static char blocks[BLOCKS][64];
static bool used[BLOCKS];
static atomic_ulong traps;

__attribute__((noipa)) void *patched_alloc(size_t n)
{
	for (int i = 0; n <= sizeof(blocks[0]) && i < BLOCKS; i++)
		if (!used[i]) {
			used[i] = true;
			return blocks[i];
		}
	return NULL;
}

__attribute__((noipa)) void slot_free(void *p)
{
	used[((uintptr_t)p - (uintptr_t)blocks) / sizeof(blocks[0])] = false;
}

/* In a page of its own. */
__asm__(".text\n"
	".p2align 12\n"
	".globl patched_free\n"
	".type patched_free, @function\n"
	"patched_free:\n"
	"	.byte 0x0f, 0x1f, 0x40, 0x00\n"	/* nopl 0(%rax) */
	"	jmp slot_free\n"
	".size patched_free, . - patched_free\n"
	".p2align 12\n");

static void patch(void *at, const void *bytes, size_t n)
{
	uintptr_t page = (uintptr_t)at & ~4095ul;
	size_t len = ((uintptr_t)at + n - page + 4095) & ~4095ul;

	if (mprotect((void *)page, len, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		victim_die("mprotect");
	memcpy(at, bytes, n);
	if (mprotect((void *)page, len, PROT_READ | PROT_EXEC) != 0)
		victim_die("mprotect");
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)sig, (void)info;
	if (*pc == (greg_t)(uintptr_t)patched_free + 1)
		*pc += NOP_LEN - 1;
	else if (*pc == (greg_t)(uintptr_t)patched_free + NOP_LEN + 1)
		*pc = (greg_t)(uintptr_t)slot_free;
	else
		victim_die("a trap that is not ours");
	traps++;
}

static void patch_own(void)
{
	patch((void *)patched_free, "\x66\x90\x66\x90", NOP_LEN);
}

static void patch_int3_at(uintptr_t offset)
{
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &act, NULL);
	patch((void *)((uintptr_t)patched_free + offset), "\xcc", 1);
}

static void patch_int3(void)
{
	patch_int3_at(0);
}

static void patch_jump(void)
{
	patch_int3_at(NOP_LEN);
}

/* The file offset of the code at patched_free. Returns 0 to go on to the next program. */
static int find_offset(struct dl_phdr_info *program, size_t size, void *offset)
{
	(void)size;
	for (int i = 0; i < program->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &program->dlpi_phdr[i];
		uintptr_t at = (uintptr_t)patched_free - program->dlpi_addr - p->p_vaddr;

		if (p->p_type != PT_LOAD || at >= p->p_filesz)
			continue;
		*(off_t *)offset = (off_t)(p->p_offset + at);
		return 1;
	}
	return 0;
}

static void map_shared(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	off_t offset;

	if (!dl_iterate_phdr(find_offset, &offset) ||
	    mmap((void *)patched_free, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, offset) !=
		    (void *)patched_free)
		victim_die("mapping the code shared");
	close(fd);
}

/* test rdi,rdi becomes or rdi,rdi: the same flags, and rdi unchanged. */
static void patch_libc(void)
{
	unsigned char *code = (unsigned char *)free;
	size_t at = memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;

	if (memcmp(code + at, "\x48\x85\xff", 3) != 0) {
		fprintf(stderr, "victim: this free begins otherwise\n");
		_exit(77);
	}
	patch(code + at, "\x48\x09\xff", 3);
}

static void go(unsigned long n)
{
	uint64_t rng = 42;

	for (unsigned long i = 0; i < n; i++) {
		void *p = patched_alloc(32);

		if (!p || !victim_malloc_free(&rng))
			victim_die("allocating");
		patched_free(p);
	}
	printf("{\"pairs\": %lu, \"traps\": %lu}\n", n, traps);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct mode {
		const char *name;
		void (*patch)(void);
	} modes[] = {
		{ "own", patch_own }, { "int3", patch_int3 }, { "jump", patch_jump },
		{ "shared", map_shared }, { "libc", patch_libc }
	};
	char line[ORDER_MAX];

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++)
		if (strcmp(modes[i].name, argv[1]) == 0)
			modes[i].patch();
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0)
		if (strncmp(line, "go ", 3) == 0)
			go(strtoul(line + 3, NULL, 10));
	printf("{\"ended\": true}\n");
	return 0;
}
