//go:build ignore

/* How long threads of watched processes are blocked in the kernel (state D), and how much of that they wait for I/O. */
#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
	int pid;
	int tgid;
	unsigned int in_iowait : 1;
};

#pragma clang attribute pop

#define SLOTS 1024 /* watched processes */
#define BLOCKED 16384 /* threads blocked at one time */
#define MARKS 1024 /* a power of 2 */
#define TASK_UNINTERRUPTIBLE 2
#define TASK_NOLOAD 0x400 /* kernel threads with nothing to do */

/* Threads of a process that are blocked now, and their blocked time: an end adds the current time and a start subtracts
 * it, so time_ns + count * now is the total of all of them up to now. */
struct waits {
	__s64 time_ns; /* CLOCK_MONOTONIC */
	__s64 count;
};

/* One cache line each; user space reads them. */
struct account {
	struct waits all;
	struct waits io; /* for I/O itself */
	__u32 life; /* whose it is: a process that is no longer watched can still have threads that wake up */
	__u32 pad[7];
};

struct place {
	__u32 slot;
	__u32 life;
};

struct since {
	struct place place;
	__u32 io;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct account);
} accounts SEC(".maps");

/* Accounts by process; user space creates them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct place);
} watched SEC(".maps");

/* By thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BLOCKED);
	__type(key, __u32);
	__type(value, struct since);
} blocked SEC(".maps");

/* How many blocked threads have IDs with these low bits: cheaper than a lookup in `blocked` to tell that a thread is
 * not among them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MARKS);
	__type(key, __u32);
	__type(value, __u32);
} marks SEC(".maps");

static __always_inline void count(struct since *since, __s64 time_ns, __s64 threads)
{
	__u32 slot = since->place.slot;
	struct account *account = bpf_map_lookup_elem(&accounts, &slot);

	if (!account || account->life != since->place.life)
		return;
	__sync_fetch_and_add(&account->all.time_ns, time_ns);
	__sync_fetch_and_add(&account->all.count, threads);
	if (since->io) {
		__sync_fetch_and_add(&account->io.time_ns, time_ns);
		__sync_fetch_and_add(&account->io.count, threads);
	}
}

static __always_inline void leaves(struct task_struct *task, __u64 state)
{
	struct since since = {};
	__u32 tgid, pid = task->pid, number = pid & (MARKS - 1), *mark;
	struct place *place;

	if (!(state & TASK_UNINTERRUPTIBLE) || (state & TASK_NOLOAD))
		return;
	tgid = task->tgid;
	place = bpf_map_lookup_elem(&watched, &tgid);
	if (!place)
		return;
	since.place = *place;
	since.io = BPF_CORE_READ_BITFIELD(task, in_iowait);
	mark = bpf_map_lookup_elem(&marks, &number);
	if (!mark || bpf_map_update_elem(&blocked, &pid, &since, BPF_NOEXIST))
		return;
	__sync_fetch_and_add(mark, 1);
	count(&since, -(__s64)bpf_ktime_get_ns(), 1);
}

static __always_inline void runs(struct task_struct *task)
{
	__u32 pid = task->pid, number = pid & (MARKS - 1), *mark = bpf_map_lookup_elem(&marks, &number);
	struct since since, *found;

	if (!mark || !*mark)
		return;
	found = bpf_map_lookup_elem(&blocked, &pid);
	if (!found)
		return;
	since = *found;
	if (bpf_map_delete_elem(&blocked, &pid) == 0)
		__sync_fetch_and_add(mark, -1);
	count(&since, bpf_ktime_get_ns(), -1);
}

SEC("tp_btf/sched_switch")
int switched(__u64 *ctx)
{
	/* The previous state is the fourth argument since Linux 5.18: by then the thread itself can be awake again. */
	leaves((struct task_struct *)ctx[1], ctx[3]);
	runs((struct task_struct *)ctx[2]);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
