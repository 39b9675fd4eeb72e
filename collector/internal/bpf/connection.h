//go:build ignore

/* What is known about a connection of a server or of a caller, and what is reported about it. */
#ifndef JITTERSCOPE_CONNECTION_H
#define JITTERSCOPE_CONNECTION_H

#include "head.h"
#include "frames.h"
#include "lost.h"
#include "servers.h"

#define TICKS 32 /* a power of 2 */
#define MOST_SHIFT 7
#define TICK_NS 100000000ULL
/* A client that closes this soon after its data does not wait for an answer: a farewell (TLS close_notify), or data
 * that needs none. */
#define FAREWELL_NS 10000000ULL

/* Answers that took this long are reported one and all. Set before loading. */
const volatile __u64 slow_ns = 0;

/* Requests that a server received, by tick of the wall clock. The counters only grow: the collector, which maps them,
 * knows what it has already read. What each request changes is in other cache lines than what is only read. */
struct counts {
	__u32 generation; /* of the server that has this place now */
	__u32 shift;	  /* of requests with fast answers, one in 2^shift is reported: set by the collector */
	__u32 lost;	  /* finished requests that did not fit into the ring */
	__u32 queued;	  /* most connections waiting to be accepted since the collector set it to 0 */
	__u32 ended;	  /* requests that are no longer waited for, without those that were passed */
	__u8 pad[44];
	__u32 came[TICKS];
	__u32 passed[TICKS]; /* of these, those that were answered and not reported */
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

/* A finished request, or an event of a connection. Times are CLOCK_MONOTONIC. For CONNECTED, came_ns is when the SYN
 * was answered; for RESENT and RECOVERED, when the data was last sent before it had to be retransmitted. */
struct request {
	__u64 came_ns;
	__u64 read_ns; /* 0: not seen; for CONNECTED, 1: the client had opened another connection shortly before; for RESENT,
			* how many segments; for RECOVERED, 1: a timer ran out */
	__u64 ended_ns;
	__u8 client[16]; /* IPv4 mapped into IPv6 */
	__u32 server;
	__u32 generation;
	__u32 tick; /* in which its arrival was counted */
	/* ANSWERED; ABANDONED: the client or the connection went away; WITHDRAWN: no answer was waited for; CONNECTED: a
	 * client has a connection; SYNACK_RESENT, RESENT: segments were retransmitted; RECOVERED: the retransmitted data
	 * was delivered. */
	__u8 end;
	__u8 status; /* class of the answer's HTTP/1 status, 1 to 5; 0: none could be read */
	__u8 head_length;
	__u8 shift; /* its head and status stand for those of 2^shift requests, as does its time if that is below slow_ns */
	__u8 head[HEAD]; /* how the request begins, if that was seen */
	__u64 connection; /* whose headers are reported, of HTTP/2: see blocks.h; 0: they are not */
	__u32 stream;
};

const struct request *unused_request __attribute__((unused));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} requests SEC(".maps");

struct connection {
	__u64 unread_ns; /* when the first data arrived that has not been read, 0: all was read */
	__u64 came_ns;	 /* start of the request that was read and not answered yet, 0: none; of a client: when it was sent */
	__u64 read_ns;
	__u64 left_ns;	 /* when data began to be sent while nothing was unacknowledged */
	__u64 acked_ns;	 /* when the client last acknowledged some */
	__u64 stuck_ns;	 /* since when retransmitted data has been in flight, 0: none */
	__u64 resent_ns; /* when it was last sent */
	__u32 seen;    /* end of what the program had read when the request arrived, or when it last read */
	__u32 written; /* end of what it had written before its answer */
	__u32 tick;
	__u32 server;
	__u32 generation;
	__u8 partly;   /* part of the unread data was read */
	__u8 plain;    /* the current request is neither HTTP nor TLS: its answer has no status, and there are no frames */
	__u8 opaque;   /* it uses TLS: only the sizes of frames can be read */
	__u8 farewell; /* the client closed right after its data */
	__u8 framed;   /* whether it speaks HTTP/2: see frames.h */
	__u8 timed_out; /* the data in flight since stuck_ns waited for a timer */
	__u8 passed;   /* the current request is not reported if its answer is fast, and nothing of it is looked at */
	__u8 shift;    /* if it is not passed, it stands for 2^shift */
	__u8 turn;     /* counts requests, in rows of 2^shift */
	__u8 pick;     /* which one of a row is not passed */
	__u8 old;      /* it predates these programs: which end it is follows from who was listening then */
	__u8 client[16]; /* of a client: the server */
	__u32 jiffies;	 /* when the current request came, if it is passed */
	__u32 caller;	 /* the process that connected; 0: this is a server's end */
	__u8 head_length;
	__u8 head[HEAD];
	__u64 listener; /* address of the listening socket, from which a connection inherits all of this */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

/* The counters of the connection's server; looked up again if the place now belongs to another server. */
static __always_inline struct counts *arrivals_of(struct connection *c, struct sock *sk)
{
	struct counts *a = bpf_map_lookup_elem(&arrivals, &c->server);
	struct server *server;
	__u32 drawn;

	if (a && a->generation == c->generation)
		return a;
	server = server_of(sk);
	if (!server || server->number == NO_SERVER)
		return 0;
	c->server = server->number;
	c->generation = server->generation;
	c->unread_ns = c->came_ns = 0;
	c->partly = c->farewell = c->framed = c->passed = c->shift = 0;
	drawn = bpf_get_prandom_u32();
	c->turn = drawn;
	c->pick = drawn >> 8;
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

static __always_inline void report(struct connection *c, __u64 connection, __u32 stream, __u64 came, __u64 read, __u32 tick, __u8 end, __u8 status, __u64 now)
{
	struct request *r = bpf_ringbuf_reserve(&requests, sizeof(*r), 0);
	struct counts *a = bpf_map_lookup_elem(&arrivals, &c->server);

	if (a && a->generation != c->generation)
		a = 0;
	if (a)
		__sync_fetch_and_add(&a->ended, 1);
	if (!r) {
		if (a)
			__sync_fetch_and_add(&a->lost, 1);
		count_lost();
		return;
	}
	r->came_ns = came;
	r->read_ns = read;
	r->ended_ns = now;
	__builtin_memcpy(r->client, c->client, sizeof(r->client));
	r->server = c->server;
	r->generation = c->generation;
	r->tick = tick;
	r->connection = connection;
	r->stream = stream;
	r->end = end;
	r->status = status;
	r->shift = c->passed ? 0 : c->shift;
	r->head_length = c->head_length;
	__builtin_memcpy(r->head, c->head, HEAD);
	c->head_length = 0;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/* A fast answer to a request that is passed: nothing of it is reported but that it has ended. */
static __always_inline void pass(struct connection *c)
{
	struct counts *a = bpf_map_lookup_elem(&arrivals, &c->server);

	if (a && a->generation == c->generation)
		__sync_fetch_and_add(&a->passed[c->tick & (TICKS - 1)], 1);
}

static __always_inline void end_request(struct connection *c, __u8 end, __u8 status, __u64 now)
{
	__u64 came = c->came_ns ?: c->unread_ns;

	if (c->passed && end == ANSWERED && now - came < slow_ns)
		pass(c);
	else
		report(c, 0, 0, came, c->came_ns ? c->read_ns : 0, c->tick, end, status, now);
}

/* What is known about a connection; 0: nothing. Most sockets of a machine have no storage at all. */
static __always_inline struct connection *connection_of(struct sock *sk)
{
	return sk->sk_bpf_storage ? bpf_sk_storage_get(&connections, sk, 0, 0) : 0;
}

/* Begins to keep what is known about a connection. 0: not a server's. */
static __always_inline struct connection *keep_connection(struct sock *sk)
{
	struct server *server = server_of(sk);
	struct connection *c;

	if (!server || server->number == NO_SERVER)
		return 0;
	c = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (c)
		c->server = NO_SERVER; /* as is the place of a server that is gone */
	return c;
}

/* The sequence number after all data that arrived in order. The FIN counts as one byte. */
static __always_inline __u32 behind(struct sock *sk, struct tcp_sock *tp)
{
	return sk->sk_shutdown & RCV_SHUTDOWN ? tp->rcv_nxt - 1 : tp->rcv_nxt;
}

/* Decides whether the request that arrives is passed. Of a server with very many requests, one of each row of 2^shift on
 * a connection is not, drawn at random. On a connection that might speak HTTP/2 none is: its frames have to be followed.
 */
static __always_inline void choose(struct connection *c, struct counts *a)
{
	__u8 row;

	if (c->unread_ns || c->came_ns)
		return;
	c->shift = !reads_packets || c->plain || c->opaque || c->framed == OTHERWISE ? a->shift & MOST_SHIFT : 0;
	c->passed = 0;
	if (!c->shift)
		return;
	row = (1U << (c->shift & MOST_SHIFT)) - 1;
	if (!(++c->turn & row))
		c->pick = bpf_get_prandom_u32();
	if (!((c->turn ^ c->pick) & row))
		return;
	c->passed = 1;
	c->head_length = 0;
	c->jiffies = bpf_jiffies64();
}

/* Makes up for a read of a passed request that data_read left out. Its time is known to a jiffy. */
static __always_inline void make_up_read(struct connection *c, struct sock *sk, struct tcp_sock *tp)
{
	__u32 read;

	if (!c->passed || c->came_ns || !c->unread_ns)
		return;
	read = tp->copied_seq;
	if (read == c->seen)
		return;
	c->seen = read;
	c->came_ns = c->read_ns = c->unread_ns;
	c->partly = (__s32)(read - behind(sk, tp)) < 0;
	if (!c->partly)
		c->unread_ns = 0;
}

/* Data arrived from a server's client. */
static __always_inline void data_came(struct connection *c, struct counts *a, struct tcp_sock *tp, __u64 now)
{
	if (!c->unread_ns) {
		if (!c->came_ns) {
			count_arrival(c, a, now);
			c->written = tp->write_seq;
		}
		c->seen = tp->copied_seq;
	}
	/* The newest part of what the program is reading is the end of the request. */
	if (!c->unread_ns || c->partly) {
		c->unread_ns = now;
		c->partly = 0;
	}
}

#endif
