/* SPDX-License-Identifier: MIT */
/*
 * forms: one of each kind of instruction that probes/decode knows, and some
 * that it must refuse: the seed of fuzz_decode. It is never run.
 */
	.text
	endbr64
	nop
	nopw	0x0(%rax,%rax,1)
	push	%rbp
	push	$-5
	push	0x10(%rdi)
	mov	%rsp, %rbp
	push	%r12
	pop	%r12
	pop	8(%rsp)
	sub	$0x18, %rsp
	sub	$0x1234, %rsp
	and	$-16, %rsp
	add	$0x18, %rsp
	lea	-0x8(%rsp), %rsp
	lea	0x1000(%rip), %rax
	mov	0x1000(%rip), %rdx
	mov	%fs:0x28, %rcx
	mov	%gs:(%rdi), %rcx
	movb	$3, 0x5(%rdi,%rsi,4)
	movw	$3, (%rdi)
	movl	$3, -8(%rsp)
	movabs	$0x1122334455667788, %r9
	mov	%al, %bl
	mov	%ah, %bl
	movzbl	(%rdi), %eax
	movzwl	%ax, %eax
	movsbq	%al, %rax
	movslq	%edi, %rsi
	test	%rdi, %rdi
	test	$1, %dil
	cmp	$0x10, %rsi
	cmp	%eax, (%rdi)
	xor	%eax, %eax
	or	$-1, %rax
	add	%cl, %dl
	sub	%rdx, (%rdi)
	leave
	ret
	ret	$8
	jmp	1f
1:	jmp	.+0x1000
	jmp	*0x1000(%rip)
	jmp	*%rax
	jmp	*(%rdi,%rcx,8)
	notrack jmp *%rdx
	je	1b
	jle	.+0x1000
	jrcxz	1b
	loop	1b
	call	1b
	call	*0x1000(%rip)
	call	*%rax
	call	*8(%rdi)
	cmova	%rsi, %rdi
	sete	%al
	imul	%rsi, %rdi
	lock	xadd %rax, (%rdi)
	xchg	%rax, (%rdi)
	rep	movsb
	repz	ret
	bnd	jmp 1b
	data16	push $3
	enter	$8, $0
	pushf
	popf
	syscall
	sysenter
	int	$0x80
	int3
	ud2
	hlt
	movdqu	(%rdi), %xmm0
	vmovdqu	(%rdi), %ymm0
	shl	$4, %rdi
	lods	(%rsi), %al
	xbegin	1b
	rdsspq	%rax
