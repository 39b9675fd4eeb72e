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

/* A query whose datagram was read. */
struct query {
	__u64 read_ns;   /* CLOCK_MONOTONIC */
	__u8 client[16]; /* IPv4 mapped into IPv6 */
	__u16 client_port;
	__u16 server_port;
	__u16 id;
	__u16 pad;
};

const struct query *unused_query __attribute__((unused));

struct datagram {
	__u64 number; /* counts the datagrams of the socket, from 1; 0: not known which one it was */
	__u8 client[16];
	__u16 client_port;
	__u16 server_port;
	__u16 id;
	__u16 pad;
};

#define DEPTH 512 /* a power of 2; the default receive buffer holds fewer small datagrams */

struct queue {
	__u64 queued; /* datagrams noted so far */
	__u64 read;   /* datagrams read so far */
	__u64 last;   /* the datagram noted last: the kernel may announce a batch at once */
	struct datagram datagrams[DEPTH];
};

/* By address of the socket. User space empties it when it is full: sockets end without notice. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u64);
	__type(value, struct queue);
} queues SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct queue);
} empty SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 262144);
} queries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

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
	d->server_port = (__u16)udp[2] << 8 | udp[3];
	d->id = (__u16)udp[8] << 8 | udp[9];
	return 0;
}

static __always_inline struct queue *queue_of(__u64 key, int alone)
{
	struct queue *queue = bpf_map_lookup_elem(&queues, &key);
	__u32 zero = 0;
	void *fresh;

	/* What is queued already was not seen: begin when the queue holds this datagram alone. */
	if (queue || !alone)
		return queue;
	fresh = bpf_map_lookup_elem(&empty, &zero);
	if (!fresh || bpf_map_update_elem(&queues, &key, fresh, BPF_NOEXIST))
		return 0;
	return bpf_map_lookup_elem(&queues, &key);
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
	/* Alone in the queue: whatever went uncounted (a read that failed, a purge) is put right here. */
	if (alone)
		queue->read = number - 1;
	last = sk->sk_receive_queue.prev;
	d = &queue->datagrams[number & (DEPTH - 1)];
	d->number = 0;
	if ((__u64)last != queue->last && (void *)last != (void *)&sk->sk_receive_queue && !identify(last, d))
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
	struct query *q;
	__u64 key = (__u64)sk;
	__u64 number;
	__u32 zero = 0;
	__u64 *count;

	if (length < 0 || flags & MSG_PEEK || sk->sk_protocol != IPPROTO_UDP)
		return 0;
	queue = bpf_map_lookup_elem(&queues, &key);
	if (!queue || queue->read >= queue->queued)
		return 0;
	number = __sync_fetch_and_add(&queue->read, 1) + 1;
	d = &queue->datagrams[number & (DEPTH - 1)];
	if (d->number != number)
		return 0;
	q = bpf_ringbuf_reserve(&queries, sizeof(*q), 0);
	if (!q) {
		count = bpf_map_lookup_elem(&lost, &zero);
		if (count)
			__sync_fetch_and_add(count, 1);
		return 0;
	}
	q->read_ns = bpf_ktime_get_ns();
	__builtin_memcpy(q->client, d->client, 16);
	q->client_port = d->client_port;
	q->server_port = d->server_port;
	q->id = d->id;
	q->pad = 0;
	bpf_ringbuf_submit(q, BPF_RB_NO_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
