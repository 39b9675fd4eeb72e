//go:build ignore

/* What happens to connections of servers apart from requests: they are made, wait to be accepted, and have segments
 * retransmitted. */
#ifndef JITTERSCOPE_CONNECTIONS_H
#define JITTERSCOPE_CONNECTIONS_H

#define TCP_CA_RECOVERY 3 /* the client has later data: fast retransmit; above it: the timer ran out */
/* Timeout of the first SYN-ACK, after which it is retransmitted (RFC 6298, 2.1). */
#define SYNACK_TIMEOUT_NS 1000000000ULL
#define CLIENTS 16384
/* A client that opens a connection this soon after another one could have reused that one. */
#define AGAIN_NS 10000000000ULL

struct client {
	__u32 server;
	__u32 generation;
	__u8 address[16]; /* IPv4 mapped into IPv6 */
};

/* When a client last opened a connection. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CLIENTS);
	__type(key, struct client);
	__type(value, __u64);
} clients SEC(".maps");

/* Reports an event that is not a request and has no connection to be kept with. */
static __always_inline void tell(__u32 server, __u32 generation, __u8 end, __u64 from, __u64 to, __u64 more)
{
	struct request *r = bpf_ringbuf_reserve(&requests, sizeof(*r), 0);

	if (!r) {
		count_lost();
		return;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->came_ns = from;
	r->read_ns = more;
	r->ended_ns = to;
	r->server = server;
	r->generation = generation;
	r->end = end;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/* The retransmitted data was delivered, or never will be. */
static __always_inline void recovered(struct connection *c, __u64 until)
{
	tell(c->server, c->generation, RECOVERED, c->stuck_ns, until, c->timed_out);
	c->stuck_ns = c->resent_ns = 0;
	c->timed_out = 0;
}

/* Data is retransmitted. Data sent by a tail loss probe (RFC 8985) might have been delivered, unless it is all there
 * is: a client acknowledges every second segment at once, and a single one within 200 ms. If the client then says that
 * it lacks other data, those are retransmitted. */
SEC("tp_btf/tcp_retransmit_skb")
int segment_resent(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct sk_buff *skb = (struct sk_buff *)ctx[1];
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct connection *c;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct server *server;
	__u64 now, since;
	__u16 segments;
	__u8 state;

	if (!skb->len)
		return 0;
	segments = read_as(tcp_skb_cb, skb->cb)->tcp_gso_segs;
	c = bpf_sk_storage_get(&connections, (void *)sk, 0, 0);
	now = bpf_ktime_get_ns();
	if (!c) {
		server = server_of(sk);
		if (server && server->number != NO_SERVER)
			tell(server->number, server->generation, RESENT, now, now, segments);
		return 0;
	}
	if (c->caller || !arrivals_of(c, (void *)sk))
		return 0; /* its requests, not its answers */
	since = c->stuck_ns;
	state = BPF_CORE_READ_BITFIELD_PROBED(icsk, icsk_ca_state);
	if (!since && (state >= TCP_CA_RECOVERY || BPF_CORE_READ(tp, packets_out) == 1))
		since = c->stuck_ns = c->left_ns > c->acked_ns ? c->left_ns : c->acked_ns;
	if (since) {
		c->resent_ns = now;
		c->timed_out |= state != TCP_CA_RECOVERY;
	}
	tell(c->server, c->generation, RESENT, since ?: now, now, segments);
	return 0;
}

SEC("tp_btf/tcp_retransmit_synack")
int synack_resent(__u64 *ctx)
{
	struct server *server = server_of((struct sock *)ctx[0]);
	__u64 now;

	if (!server || server->number == NO_SERVER)
		return 0;
	now = bpf_ktime_get_ns();
	tell(server->number, server->generation, SYNACK_RESENT, now, now, 0);
	return 0;
}

/* A socket begins to listen: the kernel copies the socket's storage to each connection that it creates. */
static __always_inline void follow_listener(struct sock *sk)
{
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!c)
		return;
	c->server = NO_SERVER;
	c->listener = (__u64)sk;
}

/* A connection is made and waits to be accepted. The kernel holds its listener meanwhile. */
static __always_inline void queued(struct connection *c, struct counts *a)
{
	__u32 waiting;

	if (!c->listener)
		return;
	waiting = read_as(sock, (void *)c->listener)->sk_ack_backlog;
	c->listener = 0;
	if (a->queued < waiting)
		a->queued = waiting;
}

/* The kernel has measured how long the client took to acknowledge the SYN-ACK, unless that was sent twice. */
static __always_inline void connected(struct sock *sk)
{
	struct connection *c = connection_of(sk) ?: keep_connection(sk);
	struct counts *a = c ? arrivals_of(c, sk) : 0;
	struct tcp_sock *tp = read_as(tcp_sock, sk);
	struct client client = {};
	__u64 now, took, *last;

	if (!a)
		return;
	queued(c, a);
	now = bpf_ktime_get_ns();
	client.server = c->server;
	client.generation = c->generation;
	copy_address(client.address, sk, 0);
	last = bpf_map_lookup_elem(&clients, &client);
	took = tp->total_retrans ? SYNACK_TIMEOUT_NS : (__u64)(tp->srtt_us >> 3) * 1000;
	tell(client.server, client.generation, CONNECTED, now - took, now, last && now - *last < AGAIN_NS);
	bpf_map_update_elem(&clients, &client, &now, BPF_ANY);
	/* The last packet of its handshake carries data, as always if a server does not accept earlier (TCP_DEFER_ACCEPT).
	 * */
	if (tp->data_segs_in && !tp->bytes_received)
		data_came(c, a, tp, now);
}

#endif
