//go:build ignore

/* Tasks and their cgroups. A file can define struct thread_info before it includes this. */
#ifndef JITTERSCOPE_TASK_H
#define JITTERSCOPE_TASK_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};
struct cgroup {
	struct kernfs_node *kn;
};
struct cgroup_subsys_state {
	struct cgroup *cgroup;
};
struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
};
struct signal_struct {
	int nr_threads;
};
struct thread_info;
struct task_struct {
#if defined(__TARGET_ARCH_x86)
	struct thread_info thread_info;
#endif
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct css_set *cgroups;
	struct signal_struct *signal;
	char comm[16];
};

#pragma clang attribute pop

enum cgroup_subsys_id { cpu_cgrp_id = 1 };

/* Set before loading: cgroup v2. */
const volatile __u32 unified;

/* Returns the inode of the task's cgroup directory, that of the CPU controller under v1; 0 if there is none. */
static __always_inline __u64 cgroup_of(struct task_struct *task)
{
	struct cgroup_subsys_state *css = 0;
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	__u32 controller;

	if (unified)
		return BPF_CORE_READ(set, dfl_cgrp, kn, id);
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id))
		return 0;
	controller = bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id);
	bpf_probe_read_kernel(&css, sizeof(css),
			      (void *)set + bpf_core_field_offset(struct css_set, subsys) + 8 * controller);
	return BPF_CORE_READ(css, cgroup, kn, id);
}

#endif
