//go:build ignore

/* How long a DNS query waits in the socket's receive queue before the server reads it.
 *
 * sock:sk_data_ready fires when a datagram was queued: the program notes which one (it is the queue's last) and when.
 * sock:sock_recv_length fires when the server has read one. A UDP receive queue is first in, first out, so the n-th
 * read is the n-th queued. No kprobe or fentry is needed.
 *
 * The first runs in whoever sends the query, the second in the server: it does as little as possible. */
#include "kernel.h"

#define IPPROTO_UDP 17
#define MSG_PEEK 2

/* Server ports, host byte order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, __u8);
} ports SEC(".maps");

/* What is known about a datagram of a socket. The collector reads it here, in memory that it maps: passing it through a
 * ring would cost the server a second record. */
struct datagram {
	__u64 read_ns;	/* CLOCK_MONOTONIC; 0: not read yet */
	__u8 client[16]; /* IPv4 mapped into IPv6 */
	__u16 client_port; /* 0: the client is not known */
	__u16 id;
	__u32 number; /* counts the datagrams of the socket, from 1, modulo 2^32 */
};

#define DEPTH 2048 /* a power of 2 */
#define SOCKETS 64

/* The sender and the reader are on different CPUs: each has its own cache line. */
struct queue {
	__u64 queued; /* datagrams noted so far */
	__u64 last;   /* the datagram noted last: the kernel can announce a batch at once */
	__u16 server_port;
	__u8 pad[46];
	__u64 read; /* datagrams read so far */
	__u8 pad_read[56];
	struct datagram datagrams[DEPTH];
};

const struct queue *unused_queue __attribute__((unused));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SOCKETS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct queue);
} queues SEC(".maps");

/* The place in `queues` by socket address. User space empties it when it fills up: sockets end without notice. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SOCKETS);
	__type(key, __u64);
	__type(value, __u32);
} places SEC(".maps");

/* How many places have been given out so far. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} given SEC(".maps");

static __always_inline void map_ipv4(__u8 *address, const __u8 *from)
{
	__builtin_memset(address, 0, 10);
	address[10] = 0xff;
	address[11] = 0xff;
	__builtin_memcpy(address + 12, from, 4);
}

static __always_inline int identify(struct sk_buff *skb, struct datagram *d)
{
	unsigned char *head = BPF_CORE_READ(skb, head);
	__u16 network = BPF_CORE_READ(skb, network_header);
	__u16 transport = BPF_CORE_READ(skb, transport_header);
	__u8 ip[40];
	__u8 udp[10];

	if (bpf_probe_read_kernel(ip, sizeof(ip), head + network) ||
	    bpf_probe_read_kernel(udp, sizeof(udp), head + transport))
		return -1;
	if (ip[0] >> 4 == 4)
		map_ipv4(d->client, ip + 12);
	else
		__builtin_memcpy(d->client, ip + 8, 16);
	d->client_port = (__u16)udp[0] << 8 | udp[1];
	d->id = (__u16)udp[8] << 8 | udp[9];
	return 0;
}

static __always_inline struct queue *queue_of(__u64 key, int alone)
{
	__u32 *known = bpf_map_lookup_elem(&places, &key);
	__u32 zero = 0, place;
	struct queue *queue;
	__u64 *count;

	if (known) {
		place = *known;
		return bpf_map_lookup_elem(&queues, &place);
	}
	/* What is already queued was not seen: begin when the queue holds only this datagram. */
	count = alone ? bpf_map_lookup_elem(&given, &zero) : 0;
	if (!count)
		return 0;
	place = __sync_fetch_and_add(count, 1) % SOCKETS;
	queue = bpf_map_lookup_elem(&queues, &place);
	/* Its counters continue, so that the collector sees no break when a place is reused. */
	if (!queue || bpf_map_update_elem(&places, &key, &place, BPF_NOEXIST))
		return 0;
	return queue;
}

SEC("tp_btf/sk_data_ready")
int datagram_queued(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct udp_sock *up = (struct udp_sock *)sk;
	struct queue *queue;
	struct datagram *d;
	struct sk_buff *last;
	__u64 number;
	__u16 port;
	int alone;

	/* A connected socket is the server's way to its upstream, not to its clients. */
	if (sk->sk_protocol != IPPROTO_UDP || sk->__sk_common.skc_dport != 0)
		return 0;
	port = sk->__sk_common.skc_num;
	if (!bpf_map_lookup_elem(&ports, &port))
		return 0;
	alone = sk->sk_receive_queue.qlen == 1 && BPF_CORE_READ(up, reader_queue.qlen) == 0;
	queue = queue_of((__u64)sk, alone);
	if (!queue)
		return 0;
	number = __sync_fetch_and_add(&queue->queued, 1) + 1;
	/* Alone in the queue: anything that went uncounted (a failed read, a purge) is corrected here. */
	if (alone)
		queue->read = number - 1;
	queue->server_port = port;
	last = sk->sk_receive_queue.prev;
	d = &queue->datagrams[number & (DEPTH - 1)];
	d->number = 0;
	d->read_ns = 0;
	/* A datagram alone in the queue is new, even if it has the address of the one before. */
	if ((!alone && (__u64)last == queue->last) || (void *)last == (void *)&sk->sk_receive_queue || identify(last, d))
		d->client_port = 0;
	barrier();
	d->number = number;
	queue->last = (__u64)last;
	return 0;
}

SEC("tp_btf/sock_recv_length")
int datagram_read(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	int length = (int)ctx[1];
	int flags = (int)ctx[2];
	struct datagram *d;
	struct queue *queue;
	__u64 key = (__u64)sk;
	__u64 number;
	__u32 *place;

	if (length < 0 || flags & MSG_PEEK || sk->sk_protocol != IPPROTO_UDP)
		return 0;
	place = bpf_map_lookup_elem(&places, &key);
	if (!place)
		return 0;
	queue = bpf_map_lookup_elem(&queues, place);
	if (!queue)
		return 0;
	number = queue->read + 1;
	if (queue->datagrams[number & (DEPTH - 1)].number != (__u32)number) /* not noted */
		return 0;
	number = __sync_fetch_and_add(&queue->read, 1) + 1;
	d = &queue->datagrams[number & (DEPTH - 1)];
	if (d->number == (__u32)number)
		d->read_ns = bpf_ktime_get_ns();
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
