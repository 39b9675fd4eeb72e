//go:build ignore

/* Determines which server a socket belongs to, by network namespace, port and, if several programs share the port,
 * address. */
#ifndef JITTERSCOPE_SERVERS_H
#define JITTERSCOPE_SERVERS_H

#include "kernel.h"

#define AF_INET 2
#define SERVERS 512
#define NO_SERVER 0xffffffff

/* The server on a port of a network namespace. */
struct server {
	__u32 number; /* place in `arrivals`; NO_SERVER: addresses decide */
	__u32 generation;
	__u32 by_address; /* several programs share the port, each on its own addresses: see `addresses` */
};

/* By inode of the network namespace and port in host byte order: inode << 16 | port. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * SERVERS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct server);
} ports SEC(".maps");

/* The ports in `ports`, whatever their namespace, one bit each: enough to rule out most sockets. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} served SEC(".maps");

struct address {
	__u64 port;
	__u8 local[16]; /* IPv4 mapped into IPv6 */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * SERVERS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct address);
	__type(value, struct server);
} addresses SEC(".maps");

static __always_inline void copy_address(__u8 *to, struct sock *sk, int local)
{
	__be32 ipv4;

	if (sk->__sk_common.skc_family != AF_INET) {
		if (local)
			BPF_CORE_READ_INTO((struct in6_addr *)to, sk, __sk_common.skc_v6_rcv_saddr);
		else
			BPF_CORE_READ_INTO((struct in6_addr *)to, sk, __sk_common.skc_v6_daddr);
		return;
	}
	ipv4 = local ? sk->__sk_common.skc_rcv_saddr : sk->__sk_common.skc_daddr;
	__builtin_memset(to, 0, 10);
	to[10] = 0xff;
	to[11] = 0xff;
	__builtin_memcpy(to + 12, &ipv4, 4);
}

static __always_inline struct server *server_of(struct sock *sk)
{
	__u32 number = sk->__sk_common.skc_num, word = number >> 6;
	__u64 *bits = bpf_map_lookup_elem(&served, &word), port;
	struct server *server, *exact;
	struct address address = {};

	if (!bits || !(*bits >> (number & 63) & 1))
		return 0;
	port = (__u64)sk->__sk_common.skc_net.net->ns.inum << 16 | number;
	server = bpf_map_lookup_elem(&ports, &port);
	if (!server || !server->by_address)
		return server;
	address.port = port;
	copy_address(address.local, sk, 1);
	exact = bpf_map_lookup_elem(&addresses, &address);
	return exact ?: server;
}

#endif
