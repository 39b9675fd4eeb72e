//go:build ignore

/* Times the calls that processes of servers make to other servers, at the client's end of the connection: from the
 * packet with the end of the request to the first data of the answer. What the caller does in the meantime, or is kept
 * from doing, does not affect it. */
#ifndef JITTERSCOPE_CALLS_H
#define JITTERSCOPE_CALLS_H

#define CALLERS 8192

/* The processes whose calls are wanted, and their owner: a number that the collector gives to each cgroup that serves.
 * */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CALLERS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} callers SEC(".maps");

/* A finished call. Times are CLOCK_MONOTONIC. */
struct call {
	__u64 sent_ns;
	__u64 ended_ns;
	__u8 server[16]; /* IPv4 mapped into IPv6 */
	__u8 from[16];	 /* the caller's own end */
	__u32 namespace;
	__u32 caller; /* as in `callers` */
	__u16 port;   /* in network byte order */
	__u16 end;    /* ANSWERED or ABANDONED */
};

const struct call *unused_call __attribute__((unused));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} calls SEC(".maps");

static __always_inline void follow_client(struct sock *sk, __u32 caller)
{
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!c)
		return;
	c->server = NO_SERVER;
	c->caller = caller;
	c->came_ns = c->unread_ns = 0;
	c->old = 0;
	copy_address(c->client, sk, 0);
}

static __always_inline void end_call(struct connection *c, struct sock *sk, __u32 end)
{
	__u64 sent = c->came_ns;
	__u32 *caller = bpf_map_lookup_elem(&callers, &c->caller);
	struct call *call;

	c->came_ns = 0;
	if (!caller)
		return;
	call = bpf_ringbuf_reserve(&calls, sizeof(*call), 0);
	if (!call) {
		count_lost();
		return;
	}
	call->sent_ns = sent;
	call->ended_ns = bpf_ktime_get_ns();
	__builtin_memcpy(call->server, c->client, sizeof(call->server));
	copy_address(call->from, sk, 1);
	call->namespace = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	call->caller = *caller;
	call->port = sk->__sk_common.skc_dport;
	call->end = end;
	bpf_ringbuf_submit(call, BPF_RB_NO_WAKEUP);
}

/* The client or the connection went away. A client that closes right after its last data does not wait for an answer.
 * */
static __always_inline void give_up(struct connection *c, struct sock *sk)
{
	if (bpf_ktime_get_ns() - c->came_ns < FAREWELL_NS)
		c->came_ns = 0;
	else
		end_call(c, sk, ABANDONED);
}

/* A packet is sent. Until it has been, new data lies between `snd_nxt` and `write_seq`; an acknowledgment and a
 * retransmission bring none. */
static __always_inline void call_left(struct connection *c, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_sock *tp = read_as(tcp_sock, sk);
	__u32 fresh = tp->write_seq - tp->snd_nxt;

	/* Most processes are not servers: their calls are not wanted, and what they receive is not examined (see
	 * segment_came). */
	if (!bpf_map_lookup_elem(&callers, &c->caller))
		return;
	if (fresh == 0 || sk->__sk_common.skc_state == TCP_SYN_SENT)
		return;
	if (fresh == 1 && sk->sk_shutdown & SEND_SHUTDOWN) {
		if (c->came_ns)
			give_up(c, sk);
		return;
	}
	if (is_control(skb))
		return;
	c->came_ns = bpf_ktime_get_ns();
}

/* A segment arrived at a caller that waits for an answer. */
static __always_inline void answer_came(struct connection *c, struct sock *sk, struct sk_buff *skb, int data, int closes)
{
	if (data && !is_control(skb))
		end_call(c, sk, ANSWERED);
	else if (closes)
		give_up(c, sk);
}

#endif
