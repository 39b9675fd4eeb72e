//go:build ignore

/* How long a DNS query waits in the socket's receive queue before the server reads it.
 *
 * sock:sk_data_ready fires when a datagram was queued: the program notes which one (it is the queue's last) and when.
 * sock:sock_recv_length fires when the server has read one. A UDP receive queue is first in, first out, so the n-th
 * read is the n-th queued. No kprobe, fentry or BTF-typed attachment is needed. */
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

struct query {
	__u64 queued_ns; /* CLOCK_MONOTONIC; 0: not known which datagram it was */
	__u64 read_ns;
	__u8 client[16]; /* IPv4 mapped into IPv6 */
	__u8 server[16];
	__u16 client_port;
	__u16 server_port;
	__u16 id;
	__u16 pad;
	__u32 netns;
	__u32 pad2;
};

const struct query *unused_query __attribute__((unused));

struct position {
	__u64 socket;
	__u64 number;
};

struct queue {
	__u64 queued; /* datagrams noted so far */
	__u64 read;   /* datagrams read so far */
	__u64 last;   /* the datagram noted last: the kernel may announce a batch at once */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, __u64);
	__type(value, struct queue);
} queues SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct position);
	__type(value, struct query);
} waiting SEC(".maps");

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

static __always_inline int is_server(struct sock *sk)
{
	__u16 port;

	if (BPF_CORE_READ(sk, sk_protocol) != IPPROTO_UDP)
		return 0;
	/* A connected socket is the server's way to its upstream, not to its clients. */
	if (BPF_CORE_READ(sk, __sk_common.skc_dport) != 0)
		return 0;
	port = BPF_CORE_READ(sk, __sk_common.skc_num);
	return bpf_map_lookup_elem(&ports, &port) != 0;
}

static __always_inline void map_ipv4(__u8 *address, const __u8 *from)
{
	__builtin_memset(address, 0, 10);
	address[10] = 0xff;
	address[11] = 0xff;
	__builtin_memcpy(address + 12, from, 4);
}

static __always_inline int identify(struct sk_buff *skb, struct query *q)
{
	unsigned char *head = BPF_CORE_READ(skb, head);
	__u16 network = BPF_CORE_READ(skb, network_header);
	__u16 transport = BPF_CORE_READ(skb, transport_header);
	__u8 ip[40];
	__u8 udp[10];

	if (bpf_probe_read_kernel(ip, sizeof(ip), head + network) ||
	    bpf_probe_read_kernel(udp, sizeof(udp), head + transport))
		return -1;
	if (ip[0] >> 4 == 4) {
		map_ipv4(q->client, ip + 12);
		map_ipv4(q->server, ip + 16);
	} else {
		__builtin_memcpy(q->client, ip + 8, 16);
		__builtin_memcpy(q->server, ip + 24, 16);
	}
	q->client_port = (__u16)udp[0] << 8 | udp[1];
	q->server_port = (__u16)udp[2] << 8 | udp[3];
	q->id = (__u16)udp[8] << 8 | udp[9];
	return 0;
}

SEC("raw_tracepoint/sk_data_ready")
int datagram_queued(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct udp_sock *up = (struct udp_sock *)sk;
	struct queue *queue, fresh = {};
	struct position position = {};
	struct query q = {};
	struct sk_buff *last;
	__u64 key = (__u64)sk;

	if (!is_server(sk))
		return 0;
	queue = bpf_map_lookup_elem(&queues, &key);
	if (!queue) {
		/* What is queued already was not seen: begin when the queue holds this datagram alone. */
		if (BPF_CORE_READ(sk, sk_receive_queue.qlen) != 1 || BPF_CORE_READ(up, reader_queue.qlen) != 0)
			return 0;
		bpf_map_update_elem(&queues, &key, &fresh, BPF_NOEXIST);
		queue = bpf_map_lookup_elem(&queues, &key);
		if (!queue)
			return 0;
	}
	position.socket = key;
	position.number = __sync_fetch_and_add(&queue->queued, 1);
	/* Alone in the queue: whatever went uncounted (a read that failed, a purge) is put right here. */
	if (BPF_CORE_READ(sk, sk_receive_queue.qlen) == 1 && BPF_CORE_READ(up, reader_queue.qlen) == 0)
		queue->read = position.number;
	last = BPF_CORE_READ(sk, sk_receive_queue.prev);
	if ((__u64)last != queue->last && (void *)last != (void *)&sk->sk_receive_queue && !identify(last, &q))
		q.queued_ns = bpf_ktime_get_ns();
	queue->last = (__u64)last;
	q.netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	bpf_map_update_elem(&waiting, &position, &q, BPF_ANY);
	return 0;
}

SEC("raw_tracepoint/sock_recv_length")
int datagram_read(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	int length = (int)ctx->args[1];
	int flags = (int)ctx->args[2];
	struct position position = {};
	struct queue *queue;
	struct query *q;
	__u64 key = (__u64)sk;
	__u32 zero = 0;
	__u64 *count;

	if (length < 0 || flags & MSG_PEEK || !is_server(sk))
		return 0;
	queue = bpf_map_lookup_elem(&queues, &key);
	if (!queue || queue->read >= queue->queued)
		return 0;
	position.socket = key;
	position.number = __sync_fetch_and_add(&queue->read, 1);
	q = bpf_map_lookup_elem(&waiting, &position);
	if (!q)
		return 0;
	if (q->queued_ns) {
		q->read_ns = bpf_ktime_get_ns();
		if (bpf_ringbuf_output(&queries, q, sizeof(*q), BPF_RB_NO_WAKEUP)) {
			count = bpf_map_lookup_elem(&lost, &zero);
			if (count)
				__sync_fetch_and_add(count, 1);
		}
	}
	bpf_map_delete_elem(&waiting, &position);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
