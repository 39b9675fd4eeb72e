//go:build ignore

/* Times each stream of an HTTP/2 connection in cleartext: from the end of its request to the first frame of its answer.
 * Streams that were opened before the boundaries of frames were known are left out. If the boundaries are lost, the
 * connection is timed like any other until a segment begins with a request again. */
#ifndef JITTERSCOPE_STREAMS_H
#define JITTERSCOPE_STREAMS_H

#include "blocks.h"
#include "connection.h"
#include "frames.h"
#include "head.h"
#include "status.h"

#define STREAMS 128 /* a power of 2; all of them fit into half of what sockets may keep (net.core.optmem_max) */
#define PATIENCE_NS 10000000000ULL
#define UNREAD 0xffffffff

struct stream {
	__u64 came_ns; /* the latest part of its request */
	__u32 id;      /* 0: none, or it was answered */
	__u32 end;     /* sequence number after that part */
	__u32 waited;  /* 0: nothing has come completely; UNREAD; or how long it was unread, in units of 1,024 ns, plus 1 */
	__u32 tick;
};

struct streams {
	struct frames in, out;
	__u64 connection;  /* its name in the ring; 0: its headers are not reported, because the first ones were not seen */
	__u64 answered_ns; /* when the answer with the current frame began */
	__u32 last;   /* the newest stream; a client opens them in ascending order, with odd numbers */
	/* The verifier forgets what is in memory. Of a register it would follow each value. */
	__u32 left;   /* during a loop: the first stream that stays unread */
	__u32 unread; /* no stream before this one has a request that was not read */
	struct stream at[STREAMS]; /* by number; a stream that has no answer yet keeps its place */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct streams);
} streams SEC(".maps");

/* How often the boundaries of frames were lost. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} astray SEC(".maps");

static __always_inline struct stream *place_of(struct streams *h, __u32 id) { return &h->at[id >> 1 & (STREAMS - 1)]; }

/* An open stream; 0: it was answered, or is not known. */
static __always_inline struct stream *open_stream(struct streams *h, __u32 id)
{
	struct stream *s = place_of(h, id);

	if (s->id != id)
		s = 0;
	asm volatile("" : "+r"(s)); /* the caller compares the pointer: the verifier learns nothing from the numbers */
	return s;
}

/* A global function, so that the verifier looks at it once instead of on each way to it. */
__noinline int end_stream(struct connection *c, struct streams *h, struct stream *s, __u32 end, __u64 now)
{
	__u64 read;

	if (!c || !h || !s)
		return 0;
	read = s->waited && s->waited != UNREAD ? s->came_ns + ((__u64)(s->waited - 1) << 10) : 0;
	if (now < (read ?: s->came_ns))
		now = bpf_ktime_get_ns();
	c->head_length = 0;
	report(c, h->connection, s->id, s->came_ns, read, s->tick, end, 0, now);
	s->id = 0;
	return 0;
}

/* Nobody waits for a stream any more. */
static __always_inline void leave_stream(struct connection *c, struct streams *h, struct stream *s, __u64 now)
{
	end_stream(c, h, s, now - s->came_ns < FAREWELL_NS ? WITHDRAWN : ABANDONED, now);
}

/* A request begins. If its place is taken by one that waits for its answer, it is counted without a time. */
static __always_inline void begin_stream(struct connection *c, struct counts *a, struct streams *h, __u64 now)
{
	__u32 id = h->in.stream;
	struct stream *s = place_of(h, id);

	h->last = id;
	count_arrival(c, a, now);
	if (s->id && now - s->came_ns < PATIENCE_NS) {
		report(c, 0, 0, now, 0, c->tick, WITHDRAWN, 0, now);
		return;
	}
	if (s->id)
		end_stream(c, h, s, WITHDRAWN, now);
	s->came_ns = now;
	s->id = id;
	s->waited = 0;
	s->tick = c->tick;
}

/* The client has begun a frame. 0: it cannot be one. */
static __always_inline int asked(struct connection *c, struct counts *a, struct streams *h, __u64 now)
{
	struct frames *d = &h->in;
	struct stream *s;

	if (d->type == HEADERS && d->stream > h->last) {
		if (!(d->stream & 1))
			return 0;
		begin_stream(c, a, h, now);
	}
	if (d->type == RST_STREAM) {
		s = open_stream(h, d->stream);
		if (s)
			leave_stream(c, h, s, now);
	}
	return d->stream <= h->last || !(d->stream & 1) || d->type == PRIORITY;
}

/* A frame of the client has come completely, up to a sequence number. */
static __always_inline void asked_completely(struct connection *c, struct streams *h, __u32 end, __u64 now)
{
	struct frames *d = &h->in;
	struct stream *s;

	if (d->type != DATA && d->type != HEADERS && d->type != CONTINUATION)
		return;
	s = open_stream(h, d->stream);
	if (!s)
		return;
	s->came_ns = now;
	s->end = end;
	s->waited = UNREAD;
	if (!c->unread_ns || d->stream < h->unread)
		h->unread = d->stream;
	c->unread_ns = now;
}

/* The server has begun a frame. 0: it cannot be one. */
static __always_inline int answered(struct connection *c, struct streams *h, __u64 now)
{
	struct frames *d = &h->out;
	struct stream *s;

	h->answered_ns = now;
	if (d->type == DATA || (d->type == HEADERS && !d->told) || d->type == RST_STREAM) {
		s = open_stream(h, d->stream);
		if (s)
			end_stream(c, h, s, d->type == RST_STREAM ? ABANDONED : ANSWERED, now);
	}
	return d->stream <= h->last || !(d->stream & 1);
}

/* A frame of the server has left completely. An answer is reported behind its headers. */
static __always_inline void answered_completely(struct connection *c, struct streams *h)
{
	struct frames *d = &h->out;
	struct stream *s;

	if (d->type != HEADERS || !d->told)
		return;
	s = open_stream(h, d->stream);
	if (s)
		end_stream(c, h, s, ANSWERED, h->answered_ns);
}

static __always_inline int begins(struct connection *c, struct counts *a, struct streams *h, struct frames *d, __u64 now)
{
	if (!begin_frame(d))
		return 0;
	d->told = (d->type == HEADERS || d->type == CONTINUATION) && h->connection && (a ? reads_heads : reads_status);
	d->begins = d->type;
	return a ? asked(c, a, h, now) : answered(c, h, now);
}

/* Follows the frames in a segment; `a` for those of the client. 0: their boundaries are lost. */
static __always_inline int follow(struct connection *c, struct counts *a, struct streams *h, struct sk_buff *skb, __u64 now)
{
	struct tcphdr *tcp = read_as(tcphdr, skb->head + skb->transport_header);
	struct frames *d = a ? &h->in : &h->out;
	unsigned int at = data_at(skb), end = skb->len, part, have;
	__u32 seq = __builtin_bswap32(tcp->seq), skip = d->next - seq;
	struct bpf_iter_num turns;
	struct bpf_dynptr packet;
	int followed = 0;

	if (at >= end)
		return 1;
	if ((__s32)skip < 0) { /* something was missed: no matter if a frame covers it */
		if (!d->open || -skip > d->left)
			return 0;
		d->left += skip;
		d->part += d->told; /* these are missing from what was reported */
		skip = 0;
	}
	if (skip >= end - at)
		return 1; /* retransmitted */
	d->next = seq + end - at;
	d->at = at + skip;
	if (bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &packet))
		return 0;
	bpf_iter_num_new(&turns, 0, FRAMES_AT_ONCE);
	while (bpf_iter_num_next(&turns)) {
		if (d->open) {
			part = end - d->at < d->left ? end - d->at : d->left;
			if (d->told && part)
				part = tell_part(h->connection, d, &packet, d->at, part, !a);
			d->left -= part;
			d->at += part;
			d->open = d->left > 0;
			if (!d->open && a)
				asked_completely(c, h, d->next - (end - d->at), now);
			else if (!d->open)
				answered_completely(c, h);
		}
		followed = d->at >= end;
		if (followed)
			break;
		if (d->open)
			continue;
		have = d->have;
		part = end - d->at < FRAME_HEADER - have ? end - d->at : FRAME_HEADER - have;
		/* The verifier does not know the bounds that the compiler knows. */
		asm volatile("%0 &= 15" : "+r"(have));
		asm volatile("%0 &= 15" : "+r"(part));
		if (bpf_dynptr_read(d->head + have, part, &packet, d->at, 0))
			break;
		d->at += part;
		d->have = have + part;
		followed = d->have < FRAME_HEADER;
		if (followed || !begins(c, a, h, d, now))
			break;
	}
	bpf_iter_num_destroy(&turns);
	return followed;
}

/* All open streams end. */
static __noinline void end_streams(struct connection *c, struct sock *sk, __u32 end, __u64 now)
{
	struct streams *h = bpf_sk_storage_get(&streams, sk, 0, 0);
	struct bpf_iter_num turns;
	struct stream *s;
	int *i;

	c->unread_ns = 0;
	if (!h)
		return;
	bpf_iter_num_new(&turns, 0, STREAMS);
	while ((i = bpf_iter_num_next(&turns))) {
		s = &h->at[*i & (STREAMS - 1)];
		if (!s->id)
			continue;
		if (end == WITHDRAWN)
			end_stream(c, h, s, WITHDRAWN, now);
		else
			leave_stream(c, h, s, now);
	}
	bpf_iter_num_destroy(&turns);
	if (h->connection)
		tell_connection(h->connection, CONNECTION_ENDS);
	h->connection = 0;
}

/* The connection is timed like any other from now on. */
static __always_inline void lose_frames(struct connection *c, struct sock *sk, __u64 now)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&astray, &zero);

	if (count)
		__sync_fetch_and_add(count, 1);
	end_streams(c, sk, WITHDRAWN, now);
	c->framed = ASTRAY;
}

/* Data arrived on a connection whose frames are followed. 0: they no longer are. */
static __noinline int frames_came(struct connection *c, struct counts *a, struct sock *sk, struct sk_buff *skb, __u64 now)
{
	struct streams *h = bpf_sk_storage_get(&streams, sk, 0, 0);

	if (h && follow(c, a, h, skb, now))
		return 1;
	lose_frames(c, sk, now);
	return 0;
}

/* A packet leaves on such a connection. */
static __noinline void frames_left(struct connection *c, struct sock *sk, struct sk_buff *skb, __u64 now)
{
	struct streams *h;

	if (data_at(skb) >= skb->len)
		return;
	h = bpf_sk_storage_get(&streams, sk, 0, 0);
	if (!h || !follow(c, 0, h, skb, now))
		lose_frames(c, sk, now);
}

/* Begins to follow the frames of a connection with a segment that begins with a request or the preface. What the server
 * has written until now is taken for whole frames; if it is not, its next one will not look like one. */
static __noinline void follow_frames(struct connection *c, struct sock *sk, struct sk_buff *skb, __u32 preface)
{
	struct tcp_sock *tp = read_as(tcp_sock, sk);
	struct tcphdr *tcp = read_as(tcphdr, skb->head + skb->transport_header);
	__u64 now = bpf_ktime_get_ns();
	struct streams *h;

	if (__builtin_bswap32(tcp->seq) != tp->rcv_nxt)
		return;
	if (preface || c->framed != ASTRAY)
		bpf_sk_storage_delete(&streams, sk); /* of another server that had this place */
	h = bpf_sk_storage_get(&streams, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!h)
		return;
	if (c->came_ns || c->unread_ns)
		end_request(c, WITHDRAWN, 0, now);
	c->came_ns = c->unread_ns = 0;
	c->partly = c->plain = c->head_length = 0;
	c->framed = FOLLOWED;
	h->in.next = tp->rcv_nxt;
	h->out.next = tp->write_seq;
	h->in.have = h->out.have = h->out.open = 0;
	h->in.told = h->out.told = 0;
	h->in.open = preface;
	h->in.left = PREFACE; /* skipped like a frame */
	h->in.type = SETTINGS;
	if (preface && (reads_heads || reads_status)) {
		h->connection = (__u64)sk;
		tell_connection(h->connection, CONNECTION_BEGINS);
	}
}

/* A program has read up to a sequence number. */
static __noinline void requests_read(struct connection *c, struct sock *sk, __u32 read)
{
	struct streams *h = bpf_sk_storage_get(&streams, sk, 0, 0);
	struct bpf_iter_num turns;
	struct stream *s;
	__u64 now;
	__u32 id;
	int *i;

	if (!h)
		return;
	now = bpf_ktime_get_ns();
	h->left = 0;
	bpf_iter_num_new(&turns, 0, STREAMS);
	while ((i = bpf_iter_num_next(&turns))) {
		id = h->unread + 2 * *i;
		if (id > h->last)
			break;
		s = place_of(h, id);
		if (!s->id || s->waited != UNREAD)
			continue;
		if ((__s32)(read - s->end) >= 0)
			s->waited = 1 + ((now - s->came_ns) >> 10);
		else if (!h->left || s->id < h->left)
			h->left = s->id;
	}
	bpf_iter_num_destroy(&turns);
	h->unread = h->left;
	if (!h->left)
		c->unread_ns = 0;
}

#endif
