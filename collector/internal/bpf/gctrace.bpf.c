//go:build ignore

/* Probes on functions and static probe points of runtimes that mark the phases of a GC cycle. Entry probes only: a
 * return probe replaces the return address, which breaks the Go runtime because it walks and moves stacks. */
#include "kernel.h"
#include "lost.h"

struct moment {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	/* Set at attachment. Bits 0 to 7: which place, 8 to 31: which process, 32 to 47: signed offset, 48 to 55: 1 +
	 * number of the register in struct pt_regs with the argument, 0 for none, 56: the argument is in memory at register
	 * plus offset. */
	__u64 cookie;
	__u64 argument;
	__u32 thread;
	__u32 unused;
};

const struct moment *unused_moment __attribute__((unused));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} moments SEC(".maps");

static __always_inline __u64 argument_at(void *ctx, __u64 cookie)
{
	__u64 number = cookie >> 48 & 0xff, value = 0;

	if (!number)
		return 0;
	bpf_probe_read_kernel(&value, sizeof(value), ctx + 8 * (number - 1));
	if (cookie >> 56 & 1)
		bpf_probe_read_user(&value, sizeof(value), (void *)(value + (__s64)(__s16)(cookie >> 32)));
	return value;
}

static __always_inline int record(void *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct moment moment = {
		.time_ns = bpf_ktime_get_ns(),
		.cookie = cookie,
		.argument = argument_at(ctx, cookie),
		.thread = bpf_get_current_pid_tgid(),
	};

	if (bpf_ringbuf_output(&moments, &moment, sizeof(moment), BPF_RB_NO_WAKEUP))
		count_lost();
	return 0;
}

SEC("uprobe")
int single_probe(void *ctx)
{
	return record(ctx);
}

SEC("uprobe.multi")
int multi_probe(void *ctx)
{
	return record(ctx);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
