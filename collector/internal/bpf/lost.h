//go:build ignore

/* Counts the records that did not fit into a ring. */
#ifndef JITTERSCOPE_LOST_H
#define JITTERSCOPE_LOST_H

#include "kernel.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

static __always_inline void count_lost(void)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&lost, &zero);

	if (count)
		__sync_fetch_and_add(count, 1);
}

#endif
