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
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_CLONE = 512, BPF_F_MMAPABLE = 1024 };
/* The reader polls every tick; waking it for each record would only cost the observed process time. */
enum { BPF_RB_NO_WAKEUP = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	__u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__u16 skc_num;
	__be16 skc_dport;
	__u16 skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock;

struct sk_buff {
	struct sock *sk;
	unsigned int len;
	unsigned char *head;
	unsigned char *data;
	__u16 transport_header;
	__u16 network_header;
	char cb[48];
};

struct tcp_skb_cb {
	__u32 seq;
	__u32 end_seq;
	__u32 ack_seq;
	__u16 tcp_gso_segs;
};

struct tcphdr {
	__be32 seq;
	__u16 doff : 4;
};

struct sk_buff_head {
	struct sk_buff *next;
	struct sk_buff *prev;
	__u32 qlen;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
	__u8 sk_shutdown;
	struct sk_buff_head sk_receive_queue;
	__u32 sk_ack_backlog;
	struct bpf_local_storage *sk_bpf_storage;
};

struct udp_sock {
	struct sk_buff_head reader_queue;
};

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
};

struct tcp_sock {
	__u32 rcv_nxt;
	__u32 copied_seq;
	__u32 write_seq;
	__u32 snd_una;
	__u32 packets_out;
	__u32 srtt_us;
	__u32 total_retrans;
	__u32 snd_nxt;
	__u32 data_segs_in;
	__u64 bytes_received;
	__u64 tcp_clock_cache;
};

struct socket {
	struct sock *sk;
};

struct file;
struct task_struct;

struct bpf_iter__task_file {
	struct task_struct *task;
	struct file *file;
};

#pragma clang attribute pop

extern void *bpf_rdonly_cast(const void *object, __u32 btf_id) __ksym __weak;

/* Reads a kernel object with plain loads, which the kernel makes safe; BPF_CORE_READ calls a helper for each. Linux
 * 6.2. */
#define read_as(type, object) ((struct type *)bpf_rdonly_cast((object), bpf_core_type_id_kernel(struct type)))

#endif
