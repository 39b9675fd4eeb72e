//go:build ignore

/* How long threads of watched processes are blocked in the kernel (state D), and which part of it they wait for I/O. */
#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
	int pid;
	int tgid;
	unsigned int in_iowait : 1;
};

#pragma clang attribute pop

#define SLOTS 1024 /* watched processes */
#define BLOCKED 16384 /* threads that are blocked at one time */
#define TASK_UNINTERRUPTIBLE 2
#define TASK_NOLOAD 0x400 /* kernel threads with nothing to do */

/* A cache line each; what user space reads. */
struct account {
	__u64 blocked_ns;
	__u64 io_ns;
	__u64 pad[6];
};

struct since {
	__u64 ns; /* CLOCK_MONOTONIC */
	__u32 slot;
	__u32 io;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct account);
} accounts SEC(".maps");

/* By process, its index in accounts; user space writes them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, __u32);
} watched SEC(".maps");

/* By thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BLOCKED);
	__type(key, __u32);
	__type(value, struct since);
} blocked SEC(".maps");

static __always_inline void leaves(struct task_struct *task, __u64 state)
{
	struct since since = {};
	__u32 tgid, pid = task->pid;
	__u32 *slot;

	if (!(state & TASK_UNINTERRUPTIBLE) || (state & TASK_NOLOAD))
		return;
	tgid = task->tgid;
	slot = bpf_map_lookup_elem(&watched, &tgid);
	if (!slot)
		return;
	since.ns = bpf_ktime_get_ns();
	since.slot = *slot;
	since.io = BPF_CORE_READ_BITFIELD(task, in_iowait);
	bpf_map_update_elem(&blocked, &pid, &since, BPF_ANY);
}

static __always_inline void runs(struct task_struct *task)
{
	__u32 slot, pid = task->pid;
	struct since *since = bpf_map_lookup_elem(&blocked, &pid);
	struct account *account;
	__u64 took;

	if (!since)
		return;
	took = bpf_ktime_get_ns() - since->ns;
	slot = since->slot;
	account = bpf_map_lookup_elem(&accounts, &slot);
	if (account) {
		__sync_fetch_and_add(&account->blocked_ns, took);
		if (since->io)
			__sync_fetch_and_add(&account->io_ns, took);
	}
	bpf_map_delete_elem(&blocked, &pid);
}

SEC("tp_btf/sched_switch")
int switched(__u64 *ctx)
{
	/* The state is the fourth argument since Linux 5.18: by then the thread itself may be awake again. */
	leaves((struct task_struct *)ctx[1], ctx[3]);
	runs((struct task_struct *)ctx[2]);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
