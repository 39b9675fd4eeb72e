//go:build ignore

/* When TCP servers receive requests, read them, and begin to answer.  tcp:tcp_probe fires when a segment arrives,
 * tcp:tcp_rcv_space_adjust when a program has read, and net:net_dev_queue when a packet is sent: the end of a send call
 * would be too late, because a program that writes more than the socket's buffer holds stays in it until its client has
 * taken the rest. The state of a connection is kept with its socket (BPF_MAP_TYPE_SK_STORAGE): the kernel frees it with
 * the socket, and sockets of other programs have none.  A request is data that arrived while the server owed no answer.
 * Its time starts at the first byte that was unread before the server's last read ahead of its answer: if the server
 * keeps up, that is the last data of the request; if it stalled, it is what arrived first during the stall.  Requests
 * of HTTP/2 in cleartext are told apart by their frames (streams.h). */
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

#include "connection.h"
#include "streams.h"
#include "calls.h"
#include "connections.h"

/* Whether requests that begin like this belong to a protocol without statuses and frames: RESP, and what PostgreSQL
 * receives. */
static __always_inline int is_plain(const __u8 *head)
{
	return head[0] == '*' || (head[0] >= 'A' && head[0] <= 'Z' && !head[1]);
}

/* Whether these bytes are a TLS record header. A connection that has begun with TLS stays with it. */
static __always_inline int is_tls(const __u8 *head)
{
	return head[0] >= 20 && head[0] <= TLS_DATA && head[1] == 3 && head[2] <= 4;
}

/* What a segment brings. */
enum { REQUEST, CONTROL, FRAMES_BEGIN, FRAMES_BEGIN_ANEW };

/* Whether frames begin on a connection that might speak HTTP/2. */
static __always_inline int frames_begin(struct connection *c, __u8 begins)
{
	if (begins == TEXT && c->framed == UNKNOWN)
		c->framed = OTHERWISE;
	if (begins == PREFACE_FRAMES)
		return FRAMES_BEGIN_ANEW;
	return begins == REQUEST_FRAME ? FRAMES_BEGIN : 0;
}

/* Examines data that arrived while nothing was unread. */
static __always_inline int examine_first(struct connection *c, struct sk_buff *skb)
{
	__u8 length;
	int found;

	length = head_of(skb, c->head);
	c->head_length = 0;
	c->plain = length > 1 && is_plain(c->head);
	c->opaque = length >= TLS_HEADER && is_tls(c->head);
	if (c->opaque)
		return is_control(skb);
	if (length >= FRAME_HEADER) {
		found = frames_begin(c, beginning(c->head));
		if (found)
			return found;
		if (may_be_control(c->head) && is_control(skb))
			return CONTROL;
	}
	c->head_length = length;
	return REQUEST;
}

/* Examines data that arrived: whether it only keeps a connection going, or frames begin. */
static __always_inline int examine(struct connection *c, struct sk_buff *skb)
{
	int found = 0;

	if (!reads_packets)
		return REQUEST;
	if (reads_heads && !c->opaque && !c->came_ns && !c->unread_ns)
		return examine_first(c, skb);
	if (!c->opaque && !c->plain && c->framed != OTHERWISE)
		found = frames_begin(c, beginning_of(skb));
	if (found || c->unread_ns)
		return found;
	return !c->plain && is_control(skb);
}

SEC("tp_btf/tcp_probe")
int segment_came(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct sk_buff *skb = (struct sk_buff *)ctx[1];
	struct connection *c = connection_of(sk);
	struct tcp_skb_cb *cb;
	struct counts *a;
	struct tcp_sock *tp;
	__u32 next, end;
	__u64 now;
	int data, closes, found;

	if (c && c->caller && !c->came_ns && !c->old)
		return 0; /* no answer is expected */
	tp = read_as(tcp_sock, sk);
	cb = read_as(tcp_skb_cb, skb->cb);
	next = tp->rcv_nxt;
	end = cb->seq + skb->len - data_at(skb);
	data = (__s32)(cb->seq - next) <= 0 && (__s32)(end - next) > 0; /* it continues where the last one ended */
	closes = cb->end_seq != end;				       /* the FIN counts as one byte */
	if (!c) {
		c = data ? keep_connection(sk) : 0;
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
	/* A retransmitted request acknowledges nothing: its answer was lost, and with it the acknowledgment of the request.
	 * */
	if (tp->packets_out && (__s32)(cb->ack_seq - tp->snd_una) > 0) {
		c->acked_ns = now;
		if (c->stuck_ns)
			recovered(c, c->resent_ns);
	}
	make_up_read(c, sk, tp);
	if (data) {
		a = arrivals_of(c, sk);
		if (!a)
			return 0;
		choose(c, a);
		found = c->framed == FOLLOWED || (c->passed && !c->opaque) ? REQUEST : examine(c, skb);
		if (found == CONTROL)
			return 0;
		/* HTTP/2 begins with its preface. */
		if (!tp->bytes_received && found == REQUEST && c->framed == UNKNOWN && end - cb->seq >= FRAME_HEADER)
			c->framed = OTHERWISE;
		if (reads_packets && found != REQUEST)
			follow_frames(c, sk, skb, found == FRAMES_BEGIN_ANEW);
		if (reads_packets && c->framed == FOLLOWED && frames_came(c, a, sk, skb, now)) {
			if (closes)
				end_streams(c, sk, ABANDONED, now);
			return 0;
		}
		c->farewell = closes;
		data_came(c, a, tp, now);
		return 0;
	}
	if (!closes || end != next)
		return 0;
	if (reads_packets && c->framed == FOLLOWED)
		end_streams(c, sk, ABANDONED, now);
	if (!c->unread_ns && !c->came_ns)
		return 0;
	if (now - (c->unread_ns ?: c->came_ns) < FAREWELL_NS) {
		c->farewell = 1;
		return 0;
	}
	/* The client has given up: the server might notice only when it answers. */
	end_request(c, ABANDONED, 0, now);
	c->came_ns = c->unread_ns = 0;
	return 0;
}

/* A program has read, or only peeked. */
SEC("tp_btf/tcp_rcv_space_adjust")
int data_read(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = connection_of(sk);
	struct tcp_sock *tp;
	__u32 read;

	if (!c || !c->unread_ns)
		return 0;
	/* Most are answered at once, and then nobody needs to know when they were read. See make_up_read. */
	if (c->passed && !c->came_ns && c->jiffies == (__u32)bpf_jiffies64())
		return 0;
	tp = read_as(tcp_sock, sk);
	read = tp->copied_seq;
	if (reads_packets && c->framed == FOLLOWED) {
		requests_read(c, sk, read);
		return 0;
	}
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
	c = connection_of(sk);
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
	if (reads_packets && c->framed == FOLLOWED) {
		frames_left(c, sk, skb, now);
		return 0;
	}
	if (!c->came_ns && !c->unread_ns)
		return 0;
	/* An acknowledgment or a retransmission: the program has written nothing. The FIN counts as one byte. */
	next = tp->write_seq;
	written = next - c->written;
	if (written == 0 || (written == 1 && sk->sk_shutdown & SEND_SHUTDOWN))
		return 0;
	make_up_read(c, sk, tp);
	/* As far as known it has not been read, so this is not its answer. */
	if (!c->came_ns && (__s32)(tp->copied_seq - behind(sk, tp)) < 0)
		return 0;
	if (c->opaque)
		told = MAY_BE_CONTROL;
	else if (!c->plain && !c->passed)
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
	if (c->partly) { /* the rest of a request that is already answered */
		c->partly = 0;
		c->unread_ns = 0;
	}
	/* What arrived in the meantime is the next request. */
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
	} else if ((int)ctx[2] == TCP_SYN_SENT) { /* in the system call of the connecting process */
		follow_client(sk, bpf_get_current_pid_tgid() >> 32);
		return 0;
	} else if ((int)ctx[2] == TCP_LISTEN) {
		follow_listener(sk);
		return 0;
	}
	if ((int)ctx[2] != TCP_CLOSE)
		return 0;
	c = connection_of(sk);
	if (!c)
		return 0;
	if (c->stuck_ns)
		recovered(c, bpf_ktime_get_ns());
	make_up_read(c, sk, read_as(tcp_sock, sk));
	if (reads_packets && c->framed == FOLLOWED)
		end_streams(c, sk, ABANDONED, bpf_ktime_get_ns());
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

/* Connections that predate these programs: run once over the files of all processes. */
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
	if (connection_of(sk))
		return 0;
	follow_client(sk, task->tgid);
	c = connection_of(sk);
	if (c)
		c->old = 1;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
