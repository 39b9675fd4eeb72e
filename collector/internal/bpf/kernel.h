//go:build ignore

/* The few kernel types that the programs read. The loader relocates every field offset to the running kernel (CO-RE),
 * so only names and types matter here, not the layout. Needs /sys/kernel/btf/vmlinux. */
#ifndef JITTERSCOPE_KERNEL_H
#define JITTERSCOPE_KERNEL_H

typedef unsigned char __u8;
typedef short int __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long int __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_MMAPABLE = 1024 };
/* The reader polls every tick, so waking it for each record would only cost the observed process time. */
enum { BPF_RB_NO_WAKEUP = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	__u16 skc_num;
	__be16 skc_dport;
};

struct sk_buff {
	unsigned char *head;
	__u16 transport_header;
	__u16 network_header;
};

struct sk_buff_head {
	struct sk_buff *next;
	struct sk_buff *prev;
	__u32 qlen;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
	struct sk_buff_head sk_receive_queue;
};

struct udp_sock {
	struct sk_buff_head reader_queue;
};

#pragma clang attribute pop

#endif
