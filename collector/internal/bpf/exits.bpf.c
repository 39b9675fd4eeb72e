//go:build ignore

/* Threads that exit, and the processes that many of them belong to. */
#include "kernel.h"

#if defined(__TARGET_ARCH_x86)
struct thread_info {
	__u32 status;
} __attribute__((preserve_access_index));
#endif

#include "task.h"

#define SLOTS 64 /* a power of 2 */

/* By CPU; CPUs that are SLOTS apart share one. One cache line each. */
struct slot {
	__u64 exits;
	__u64 pad[7];
};

struct ended {
	__u64 cgroup; /* inode of its directory */
	__u64 first_ns; /* CLOCK_MONOTONIC */
	__u64 last_ns;
	__u32 threads;
	__u32 pad;
	char command[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct slot);
} exits SEC(".maps");

/* By process; user space removes them every second. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 512);
	__type(key, __u32);
	__type(value, struct ended);
} processes SEC(".maps");

SEC("tp_btf/sched_process_exit")
int thread_ended(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	__u32 slot = bpf_get_smp_processor_id() & (SLOTS - 1);
	struct slot *count = bpf_map_lookup_elem(&exits, &slot);
	struct ended fresh = {};
	struct ended *ended;
	__u32 tgid = task->tgid;
	int threads;

	if (count)
		__sync_fetch_and_add(&count->exits, 1);
	threads = BPF_CORE_READ(task, signal, nr_threads);
	if (threads <= 1 && task->pid == task->tgid)
		return 0;
	ended = bpf_map_lookup_elem(&processes, &tgid);
	if (ended) {
		__sync_fetch_and_add(&ended->threads, 1);
		ended->last_ns = bpf_ktime_get_ns();
		return 0;
	}
	fresh.cgroup = cgroup_of(task);
	fresh.first_ns = fresh.last_ns = bpf_ktime_get_ns();
	fresh.threads = 1;
	BPF_CORE_READ_STR_INTO(&fresh.command, task, group_leader, comm);
	/* Another thread of the process might be doing the same on another CPU: then this one is not counted. */
	bpf_map_update_elem(&processes, &tgid, &fresh, BPF_NOEXIST);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
