//go:build ignore

/* Follows the frames of HTTP/2 (RFC 9113) in one direction of a connection from segment to segment. Only their headers
 * are read: 9 bytes each. */
#ifndef JITTERSCOPE_FRAMES_H
#define JITTERSCOPE_FRAMES_H

#include "control.h"

#define PREFACE 24 /* bytes with which a client begins (RFC 9113, 3.4) */
#define FRAMES_AT_ONCE 512
#define END_HEADERS 0x4

/* What is known of a connection: `framed` in struct connection. */
enum {
	UNKNOWN,
	OTHERWISE, /* it has begun with something else */
	FOLLOWED,
	ASTRAY /* frames were followed until segments were missed */
};

enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION, LAST_TYPE = 16 };

struct frames {
	__u32 next;   /* sequence number of the first byte that was not seen yet */
	__u32 left;   /* bytes of the current frame that are still to come */
	__u32 stream; /* of the current frame */
	__u8 type;
	__u8 flags;
	__u8 open;     /* a frame has begun and not ended */
	__u8 have;     /* bytes of the next frame's header that have come */
	__u8 told;     /* its bytes are reported: see blocks.h */
	__u8 begins;   /* it has begun and nothing of it was reported: its type */
	__u32 at;      /* during a loop: where in the segment. The verifier would follow each value of a register */
	__u32 part;    /* how many parts of frames were reported */
	__u8 head[32]; /* FRAME_HEADER of them are used; the verifier wants room for any length of 4 bits */
};

struct bpf_iter_num {
	__u64 opaque;
} __attribute__((aligned(8)));

/* Linux 6.4: older than reading packets. */
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym __weak;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym __weak;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym __weak;

/* What the data of a segment begin with. */
enum { NO_FRAMES, REQUEST_FRAME, PREFACE_FRAMES, TEXT };

/* FRAME_HEADER bytes tell. */
static __always_inline __u8 beginning(const __u8 *head)
{
	if (head[0] == 'P' && head[1] == 'R' && head[2] == 'I' && head[3] == ' ' && head[4] == '*')
		return PREFACE_FRAMES;
	if (head[0] >= ' ')
		return TEXT;
	if (head[0] || head[1] > 0x40 || !(head[1] | head[2]) || head[3] != HEADERS || (head[4] & ~0x29) != END_HEADERS)
		return NO_FRAMES;
	return head[5] < 0x80 && head[8] & 1 ? REQUEST_FRAME : NO_FRAMES;
}

static __noinline __u8 beginning_of(struct sk_buff *skb)
{
	unsigned int at = data_at(skb);
	struct bpf_dynptr packet;
	__u8 head[FRAME_HEADER];

	if (at + FRAME_HEADER > skb->len || bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &packet))
		return NO_FRAMES;
	return bpf_dynptr_read(head, sizeof(head), &packet, at, 0) ? NO_FRAMES : beginning(head);
}

/* Reads the header of a frame. 0: it is none, so the boundaries were lost. */
static __always_inline int begin_frame(struct frames *d)
{
	const __u8 *head = d->head;
	__u32 length = head[0] << 16 | head[1] << 8 | head[2];

	d->have = 0;
	d->open = 1;
	d->left = length;
	d->type = head[3];
	d->flags = head[4];
	d->stream = (__u32)head[5] << 24 | head[6] << 16 | head[7] << 8 | head[8];
	if (d->stream >> 31 || length > 0xfffff)
		return 0;
	switch (d->type) {
	case DATA:
		return d->stream && !(d->flags & ~0x09);
	case HEADERS:
		return d->stream && length && !(d->flags & ~0x2d);
	case PRIORITY:
		return d->stream && length == 5;
	case RST_STREAM:
		return d->stream && length == 4;
	case SETTINGS:
		return !d->stream && length % 6 == 0;
	case PING:
		return !d->stream && length == 8;
	case GOAWAY:
		return !d->stream && length >= 8;
	case WINDOW_UPDATE:
		return length == 4;
	case PUSH_PROMISE:
	case CONTINUATION:
		return d->stream != 0;
	}
	return d->type <= LAST_TYPE;
}

#endif
