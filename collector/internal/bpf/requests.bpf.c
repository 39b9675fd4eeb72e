//go:build ignore

/* When TCP servers are asked, read what they are asked, and begin to answer.
 *
 * tcp:tcp_probe fires when a segment comes, tcp:tcp_rcv_space_adjust when a program has read, and net:net_dev_queue when a packet
 * leaves: the end of a send call would be too late, as a program that writes more than the socket's buffer holds is kept in it
 * until its client has taken the rest. What is known of a connection is kept with its socket (BPF_MAP_TYPE_SK_STORAGE): the
 * kernel frees it with the socket, and sockets of no server have none.
 *
 * A request is data that came while the server owed no answer. Its time starts at the first byte that the server had not read
 * before the last read ahead of its answer: where the server keeps up that is the last data of the request, and where it
 * stood still it is what came first meanwhile. */
#include "control.h"
#include "head.h"
#include "kernel.h"
#include "lost.h"
#include "servers.h"
#include "status.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
	int pid;
	int tgid;
};

#pragma clang attribute pop

#define IPPROTO_TCP 6
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_CLOSE 7
#define TCP_LISTEN 10
#define RCV_SHUTDOWN 1
#define SEND_SHUTDOWN 2
#define BPF_SK_STORAGE_GET_F_CREATE 1

#define TICKS 32 /* a power of 2 */
#define TICK_NS 100000000ULL
/* A client that closes so soon behind its data waits for no answer: a farewell (TLS close_notify), or data that want none. */
#define FAREWELL_NS 10000000ULL

/* Requests that came to a server, by tick of the wall clock. The counters only grow: the collector, which maps them, knows
 * what it has read before. */
struct counts {
	__u32 generation; /* of the server that has the place now */
	__u32 lost;	  /* finished requests for which the ring had no room */
	__u32 queued;	  /* most connections that waited to be accepted, since the collector set it to 0 */
	__u32 came[TICKS];
	__u8 pad[52];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SERVERS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct counts);
} arrivals SEC(".maps");

const struct counts *unused_counts __attribute__((unused));

/* Nanoseconds from CLOCK_MONOTONIC to the wall clock, set by the collector. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} wall SEC(".maps");

enum { ANSWERED, ABANDONED, WITHDRAWN, CONNECTED, SYNACK_RESENT, RESENT, RECOVERED };

/* A finished request, or what happened to a connection. Times are CLOCK_MONOTONIC. Of CONNECTED came_ns is when the SYN was
 * answered; of RESENT and RECOVERED, when data were last on their way before they had to be sent again. */
struct request {
	__u64 came_ns;
	__u64 read_ns; /* 0: not seen; of CONNECTED 1: the client had opened another connection just before */
	__u64 ended_ns;
	__u8 client[16]; /* IPv4 mapped into IPv6 */
	__u32 server;
	__u32 generation;
	__u32 tick; /* in which it was counted as come */
	/* ANSWERED; ABANDONED: the client or the connection went away; WITHDRAWN: no answer was waited for; CONNECTED: a client
	 * has a connection; SYNACK_RESENT, RESENT: a segment was sent again; RECOVERED: what was sent again has come through. */
	__u8 end;
	__u8 status; /* class of the answer's status in HTTP/1, 1 to 5; 0: it has none that could be read */
	__u8 head_length;
	__u8 pad;
	__u8 head[HEAD]; /* how the request begins, where that was seen */
};

const struct request *unused_request __attribute__((unused));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} requests SEC(".maps");

struct connection {
	__u64 unread_ns; /* when the first data came that were not read yet, 0: all were */
	__u64 came_ns;	 /* start of the request that was read and not answered yet, 0: none; of a client: when it was sent */
	__u64 read_ns;
	__u64 left_ns;	 /* when data began to leave of which nothing was acknowledged then */
	__u64 acked_ns;	 /* when the client last acknowledged some */
	__u64 stuck_ns;	 /* since when data are on their way that had to be sent again, 0: none */
	__u64 resent_ns; /* when they were sent last */
	__u32 seen;    /* behind what the program had read when the request came, or when it read last */
	__u32 written; /* behind what it had written before its answer */
	__u32 tick;
	__u32 server;
	__u32 generation;
	__u8 partly;   /* a part of what is unread was read */
	__u8 plain;    /* what is asked now is neither HTTP nor TLS: its answer has no status, and no frames come */
	__u8 farewell; /* the client closed right behind its data */
	__u8 old;      /* it was there before these programs: which end it is was told from who listened then */
	__u8 client[16]; /* of a client: the server */
	__u32 caller;	 /* the process that connected; 0: this is a server's end */
	__u8 head_length;
	__u8 head[HEAD];
	__u64 listener; /* address of the listening socket: a connection has it from there, with all of this */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

/* Where the connection's server counts; looked up anew where the place belongs to another one by now. */
static __always_inline struct counts *arrivals_of(struct connection *c, struct sock *sk)
{
	struct counts *a = bpf_map_lookup_elem(&arrivals, &c->server);
	struct server *server;

	if (a && a->generation == c->generation)
		return a;
	server = server_of(sk);
	if (!server || server->number == NO_SERVER)
		return 0;
	c->server = server->number;
	c->generation = server->generation;
	c->unread_ns = c->came_ns = 0;
	c->partly = c->farewell = 0;
	copy_address(c->client, sk, 0);
	return bpf_map_lookup_elem(&arrivals, &c->server);
}

static __always_inline void count_arrival(struct connection *c, struct counts *a, __u64 now)
{
	__u32 zero = 0;
	__u64 *offset = bpf_map_lookup_elem(&wall, &zero);

	if (!offset)
		return;
	c->tick = (now + *offset) / TICK_NS;
	__sync_fetch_and_add(&a->came[c->tick & (TICKS - 1)], 1);
}

static __always_inline void end_request(struct connection *c, __u8 end, __u8 status, __u64 now)
{
	struct request *r = bpf_ringbuf_reserve(&requests, sizeof(*r), 0);
	struct counts *a;

	if (!r) {
		a = bpf_map_lookup_elem(&arrivals, &c->server);
		if (a && a->generation == c->generation)
			__sync_fetch_and_add(&a->lost, 1);
		count_lost();
		return;
	}
	r->came_ns = c->came_ns ?: c->unread_ns;
	r->read_ns = c->came_ns ? c->read_ns : 0;
	r->ended_ns = now;
	__builtin_memcpy(r->client, c->client, sizeof(r->client));
	r->server = c->server;
	r->generation = c->generation;
	r->tick = c->tick;
	r->end = end;
	r->status = status;
	r->pad = 0;
	r->head_length = c->head_length;
	__builtin_memcpy(r->head, c->head, HEAD);
	c->head_length = 0;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/* What is known of a connection of a server; made where nothing is yet. 0: of no server. */
static __always_inline struct connection *connection_of(struct sock *sk)
{
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, 0);
	struct server *server;

	if (c)
		return c;
	server = server_of(sk);
	if (!server || server->number == NO_SERVER)
		return 0;
	c = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (c)
		c->server = NO_SERVER; /* as is the place of one that is gone */
	return c;
}

/* The sequence number behind all that has come in order. The end of the connection is counted as a byte. */
static __always_inline __u32 behind(struct sock *sk, struct tcp_sock *tp)
{
	return sk->sk_shutdown & RCV_SHUTDOWN ? tp->rcv_nxt - 1 : tp->rcv_nxt;
}

/* Data of a server's client have come. */
static __always_inline void data_came(struct connection *c, struct counts *a, struct tcp_sock *tp, __u64 now)
{
	if (!c->unread_ns) {
		if (!c->came_ns) {
			count_arrival(c, a, now);
			c->written = tp->write_seq;
		}
		c->seen = tp->copied_seq;
	}
	/* Of what the program is reading, the newest part is the end of the request. */
	if (!c->unread_ns || c->partly) {
		c->unread_ns = now;
		c->partly = 0;
	}
}

#include "calls.h"
#include "connections.h"

/* Whether requests that begin so are of a protocol without statuses and frames: RESP, and what PostgreSQL is sent. */
static __always_inline int is_plain(const __u8 *head)
{
	return head[0] == '*' || (head[0] >= 'A' && head[0] <= 'Z' && !head[1]);
}

/* Looks at data that came while nothing was unread: whether they only keep a connection going. */
static __always_inline int only_control(struct connection *c, struct sk_buff *skb)
{
	__u8 length;

	if (!reads_packets || !reads_heads)
		return is_control(skb);
	if (c->came_ns) /* not the first data of a request */
		return !c->plain && is_control(skb);
	length = head_of(skb, c->head);
	c->head_length = 0;
	c->plain = length > 1 && is_plain(c->head);
	if (length >= FRAME_HEADER && may_be_control(c->head) && is_control(skb))
		return 1;
	c->head_length = length;
	return 0;
}

SEC("tp_btf/tcp_probe")
int segment_came(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct sk_buff *skb = (struct sk_buff *)ctx[1];
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, 0);
	struct tcp_skb_cb *cb;
	struct counts *a;
	struct tcp_sock *tp;
	__u32 next, end;
	__u64 now;
	int data, closes;

	if (c && c->caller && !c->came_ns && !c->old)
		return 0; /* no answer is waited for */
	tp = read_as(tcp_sock, sk);
	cb = read_as(tcp_skb_cb, skb->cb);
	next = tp->rcv_nxt;
	end = cb->seq + skb->len - data_at(skb);
	data = (__s32)(cb->seq - next) <= 0 && (__s32)(end - next) > 0; /* it goes on where the last one ended */
	closes = cb->end_seq != end;				       /* the end of the connection is counted as a byte */
	if (!c) {
		c = data ? connection_of(sk) : 0;
		if (!c)
			return 0;
	}
	if (c->caller && c->old && server_of(sk))
		c->caller = c->came_ns = 0;
	if (c->caller) {
		if (c->came_ns)
			answer_came(c, sk, skb, data, closes);
		return 0;
	}
	if (!data && !closes && !tp->packets_out)
		return 0;
	now = bpf_ktime_get_ns();
	/* A request that comes again acknowledges nothing: its answer was lost, and with it the word that it had come. */
	if (tp->packets_out && (__s32)(cb->ack_seq - tp->snd_una) > 0) {
		c->acked_ns = now;
		if (c->stuck_ns)
			recovered(c, c->resent_ns);
	}
	if (data) {
		a = arrivals_of(c, sk);
		if (!a || (!c->unread_ns && only_control(c, skb)))
			return 0;
		c->farewell = closes;
		data_came(c, a, tp, now);
		return 0;
	}
	if (!closes || end != next || (!c->unread_ns && !c->came_ns))
		return 0;
	if (now - (c->unread_ns ?: c->came_ns) < FAREWELL_NS) {
		c->farewell = 1;
		return 0;
	}
	/* The client has given up: the server may notice only when it answers. */
	end_request(c, ABANDONED, 0, now);
	c->came_ns = c->unread_ns = 0;
	return 0;
}

/* A program has read, or only looked at what is there. */
SEC("tp_btf/tcp_rcv_space_adjust")
int data_read(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, 0);
	struct tcp_sock *tp;
	__u32 read;

	if (!c || !c->unread_ns)
		return 0;
	tp = read_as(tcp_sock, sk);
	read = tp->copied_seq;
	if (read == c->seen)
		return 0;
	c->seen = read;
	if (!c->partly) {
		if (!c->came_ns)
			c->written = tp->write_seq;
		c->came_ns = c->unread_ns;
		c->read_ns = bpf_ktime_get_ns();
	}
	c->partly = (__s32)(read - behind(sk, tp)) < 0;
	if (!c->partly)
		c->unread_ns = 0;
	return 0;
}

SEC("tp_btf/net_dev_queue")
int packet_left(__u64 *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];
	struct sock *sk = skb->sk;
	struct connection *c;
	struct counts *a;
	struct tcp_sock *tp;
	__u32 next, written;
	__u64 now;
	__u8 told = 0;

	if (!sk)
		return 0;
	c = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (!c)
		return 0;
	if (c->caller) {
		call_left(c, sk, skb);
		return 0;
	}
	tp = read_as(tcp_sock, sk);
	now = tp->tcp_clock_cache; /* when the kernel began to send this: CLOCK_MONOTONIC */
	if (!tp->packets_out)
		c->left_ns = now;
	if (!c->came_ns && !c->unread_ns)
		return 0;
	/* An acknowledgment, or something sent again: the program has written nothing. The end of the connection counts as a byte. */
	next = tp->write_seq;
	written = next - c->written;
	if (written == 0 || (written == 1 && sk->sk_shutdown & SEND_SHUTDOWN))
		return 0;
	/* Not read as far as is known: this is no answer to it. */
	if (!c->came_ns && (__s32)(tp->copied_seq - behind(sk, tp)) < 0)
		return 0;
	if (!c->plain)
		told = status_of(skb);
	if (told == MAY_BE_CONTROL) {
		if (is_control(skb)) {
			c->written = next;
			return 0;
		}
		told = 0;
	}
	if (now < (c->came_ns ? c->read_ns : c->unread_ns))
		now = bpf_ktime_get_ns();
	end_request(c, ANSWERED, told, now);
	if (!c->came_ns)
		c->unread_ns = 0;
	c->came_ns = 0;
	if (c->partly) { /* the rest of a request that is answered already */
		c->partly = 0;
		c->unread_ns = 0;
	}
	/* What came meanwhile is the next request. */
	if (c->unread_ns) {
		a = bpf_map_lookup_elem(&arrivals, &c->server);
		if (a && a->generation == c->generation)
			count_arrival(c, a, now);
		c->written = next;
	}
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int state_set(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c;

	if (sk->sk_protocol != IPPROTO_TCP)
		return 0;
	if ((int)ctx[1] == TCP_SYN_RECV && (int)ctx[2] == TCP_ESTABLISHED) {
		connected(sk);
	} else if ((int)ctx[2] == TCP_SYN_SENT) { /* in the system call of the process that connects */
		follow_client(sk, bpf_get_current_pid_tgid() >> 32);
		return 0;
	} else if ((int)ctx[2] == TCP_LISTEN) {
		follow_listener(sk);
		return 0;
	}
	if ((int)ctx[2] != TCP_CLOSE)
		return 0;
	c = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (!c)
		return 0;
	if (c->stuck_ns)
		recovered(c, bpf_ktime_get_ns());
	if (!c->came_ns && !c->unread_ns)
		return 0;
	if (c->caller) {
		give_up(c, sk);
		return 0;
	}
	end_request(c, c->farewell ? WITHDRAWN : ABANDONED, 0, bpf_ktime_get_ns());
	c->came_ns = c->unread_ns = 0;
	return 0;
}

/* Connections that were there before these programs: run once over the files of all processes. */
SEC("iter/task_file")
int connection_found(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct connection *c;
	struct socket *socket;
	struct sock *sk;

	if (!task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk || sk->sk_protocol != IPPROTO_TCP)
		return 0;
	if (sk->__sk_common.skc_state == TCP_LISTEN)
		follow_listener(sk);
	if (sk->__sk_common.skc_state != TCP_ESTABLISHED || server_of(sk))
		return 0;
	if (bpf_sk_storage_get(&connections, sk, 0, 0))
		return 0;
	follow_client(sk, task->tgid);
	c = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (c)
		c->old = 1;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
