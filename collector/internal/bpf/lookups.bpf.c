//go:build ignore

/* Which programs look up names that do not exist: system calls on a path that end with ENOENT. Attached only while
 * negative dentries grow: while anything traces system calls, every system call on the machine takes a slower path.
 * Every failure is counted. The first ones of a CPU and tick are all recorded in detail, the rest are sampled at
 * random: enough to tell who looks up which names, at any rate. */
#include "kernel.h"

#define ENOENT 2
#define SLOTS 256 /* a power of 2 */
#define PATH_BYTES 160
/* This many per CPU and tick are recorded in detail, then one of FEW, and from MANY_AFTER on one of SCARCE. */
#define ALL_UP_TO 64
#define FEW 16
#define MANY_AFTER 256
#define SCARCE 256

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long di, si, orig_ax;
};
struct thread_info {
	__u32 status;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__s32 syscallno;
};
#endif

#pragma clang attribute pop

#include "task.h"

struct lookup {
	__u64 cgroup; /* inode of its directory */
	__u32 pid;
	__u32 weight; /* how many failures this one stands for */
	__u32 length; /* of path, without the closing 0 */
	char command[16];
	char path[PATH_BYTES];
	__u32 pad;
};

const struct lookup *unused_lookup __attribute__((unused));

/* By CPU, a cache line each. CPUs that are SLOTS apart share one and can then occasionally miss a failure; on one CPU
 * the kernel lets no program interrupt itself. */
struct slot {
	__u64 failures;
	__u32 tick;
	__u32 seen; /* failures in this tick */
	__u64 lost; /* failures to be recorded that did not fit into the ring */
	__u32 next; /* the next one of this tick to be recorded */
	__u32 pad[9];
};

struct tracing {
	__u64 tick; /* incremented by user space */
	__u64 pad[7];
	struct slot slots[SLOTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tracing);
} state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 131072);
} lookups SEC(".maps");

/* Returns the path argument of a system call, 0 if it has none. The registers still hold the arguments when it ends,
 * except the first one on arm64, where no system call takes the path there. */
static __always_inline const char *path_of(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	switch (regs->orig_ax) {
	case 2: /* open */
	case 4: /* stat */
	case 6: /* lstat */
	case 21: /* access */
	case 59: /* execve */
	case 80: /* chdir */
	case 84: /* rmdir */
	case 87: /* unlink */
	case 89: /* readlink */
	case 137: /* statfs */
	case 191: /* getxattr */
	case 192: /* lgetxattr */
		return (const char *)regs->di;
	case 254: /* inotify_add_watch */
	case 257: /* openat */
	case 262: /* newfstatat */
	case 263: /* unlinkat */
	case 267: /* readlinkat */
	case 269: /* faccessat */
	case 322: /* execveat */
	case 332: /* statx */
	case 437: /* openat2 */
	case 439: /* faccessat2 */
		return (const char *)regs->si;
	}
#elif defined(__TARGET_ARCH_arm64)
	switch (regs->syscallno) {
	case 35: /* unlinkat */
	case 48: /* faccessat */
	case 56: /* openat */
	case 78: /* readlinkat */
	case 79: /* newfstatat */
	case 281: /* execveat */
	case 291: /* statx */
	case 437: /* openat2 */
	case 439: /* faccessat2 */
		return (const char *)BPF_CORE_READ(regs, regs[1]);
	}
#endif
	return 0;
}

/* A 32-bit program on a 64-bit kernel uses other numbers and registers. */
static __always_inline int is_compat(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread_info.status) & 2; /* TS_COMPAT */
#else
	return 0;
#endif
}

SEC("tp_btf/sys_exit")
int call_ended(__u64 *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];
	struct task_struct *task;
	struct lookup *lookup;
	struct tracing *s;
	struct slot *slot;
	const char *path;
	__u32 zero = 0, weight = 1, seen;
	long length;

	if ((long)ctx[1] != -ENOENT)
		return 0;
	path = path_of(regs);
	if (!path)
		return 0;
	s = bpf_map_lookup_elem(&state, &zero);
	if (!s)
		return 0;
	slot = &s->slots[bpf_get_smp_processor_id() & (SLOTS - 1)];
	slot->failures++;
	if (slot->tick != (__u32)s->tick) {
		slot->tick = s->tick;
		slot->seen = 0;
		slot->next = 0;
	}
	seen = slot->seen++;
	if (seen < slot->next)
		return 0;
	if (seen >= ALL_UP_TO) {
		/* One of this many on average, at random: a program with a regular pattern cannot hide between samples. */
		weight = seen < MANY_AFTER ? FEW : SCARCE;
		slot->next = seen + 1 + bpf_get_prandom_u32() % (2 * weight - 1);
	}
	task = (struct task_struct *)bpf_get_current_task();
	if (is_compat(task))
		return 0;
	lookup = bpf_ringbuf_reserve(&lookups, sizeof(*lookup), 0);
	if (!lookup) {
		slot->lost++;
		return 0;
	}
	lookup->cgroup = cgroup_of(task);
	lookup->pid = bpf_get_current_pid_tgid() >> 32;
	lookup->weight = weight;
	lookup->pad = 0;
	BPF_CORE_READ_STR_INTO(&lookup->command, task, group_leader, comm);
	length = bpf_probe_read_user_str(lookup->path, sizeof(lookup->path), path);
	lookup->length = length > 0 ? length - 1 : 0;
	bpf_ringbuf_submit(lookup, BPF_RB_NO_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
