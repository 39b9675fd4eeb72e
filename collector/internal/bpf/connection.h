//go:build ignore

/* What is known of a connection of a server, or of who asks one, and what is told of it. */
#ifndef JITTERSCOPE_CONNECTION_H
#define JITTERSCOPE_CONNECTION_H

#include "head.h"
#include "lost.h"
#include "servers.h"

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
	__u8 opaque;   /* it speaks TLS: nothing is to be read but frames' sizes */
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

#endif
