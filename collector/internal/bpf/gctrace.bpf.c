//go:build ignore

/* Entry probes on functions of the Go runtime that mark the phases of a garbage collection. Entry probes only: a return
 * probe replaces the return address, which the Go runtime, walking and moving stacks, does not survive. */
#include "kernel.h"
#include "lost.h"

struct moment {
	__u64 time_ns;  /* CLOCK_MONOTONIC */
	__u64 cookie;   /* given at attachment: which process, which function */
	__u64 argument; /* first integer argument in Go's register ABI */
};

const struct moment *unused_moment __attribute__((unused));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} moments SEC(".maps");

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax;
};
#define FIRST_ARGUMENT(ctx) ((ctx)->ax)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	unsigned long regs[31];
};
#define FIRST_ARGUMENT(ctx) ((ctx)->regs[0])
#endif

static __always_inline int record(struct pt_regs *ctx)
{
	struct moment moment = {
		.time_ns = bpf_ktime_get_ns(),
		.cookie = bpf_get_attach_cookie(ctx),
		.argument = FIRST_ARGUMENT(ctx),
	};

	if (bpf_ringbuf_output(&moments, &moment, sizeof(moment), BPF_RB_NO_WAKEUP))
		count_lost();
	return 0;
}

SEC("uprobe")
int single_probe(struct pt_regs *ctx)
{
	return record(ctx);
}

SEC("uprobe.multi")
int multi_probe(struct pt_regs *ctx)
{
	return record(ctx);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
