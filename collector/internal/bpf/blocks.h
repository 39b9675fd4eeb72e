//go:build ignore

/* Reports the headers of HTTP/2 requests and answers. They are compressed: to understand one, the collector has to
 * follow all of its connection. It keeps method, path and status, and skips the rest. */
#ifndef JITTERSCOPE_BLOCKS_H
#define JITTERSCOPE_BLOCKS_H

#include "connection.h"
#include "frames.h"
#include "status.h"

#define PART 96

/* What a part begins, apart from a frame of HEADERS or CONTINUATION; 0: nothing. */
enum { CONNECTION_BEGINS = 32, CONNECTION_ENDS };

/* Part of a frame, in the ring of requests: it is smaller than one. */
struct block {
	__u64 connection;
	__u32 stream;
	__u32 number; /* of the part; 0: it could not be read */
	__u32 frame;  /* length of the frame that begins */
	__u8 begins;
	__u8 flags;
	__u8 answer;
	__u8 length;
	__u8 bytes[PART];
};

const struct block *unused_block __attribute__((unused));

static __always_inline void tell_connection(__u64 connection, __u8 begins)
{
	struct block *b = bpf_ringbuf_reserve(&requests, sizeof(*b), 0);

	if (!b)
		return;
	__builtin_memset(b, 0, sizeof(*b));
	b->connection = connection;
	b->begins = begins;
	bpf_ringbuf_submit(b, BPF_RB_NO_WAKEUP);
}

/* Reports what it can of the next bytes of a frame, and returns how many. If there is no room, the next part has a
 * number that does not follow. */
static __always_inline __u32 tell_part(__u64 connection, struct frames *d, struct bpf_dynptr *packet, __u32 at, __u64 length, __u8 answer)
{
	struct block *b = bpf_ringbuf_reserve(&requests, sizeof(*b), 0);

	/* The verifier does not know the bounds that the compiler knows. */
	asm volatile("if %0 <= %1 goto +1\n%0 = %1" : "+r"(length) : "i"(PART));
	d->part++;
	if (!b)
		return length;
	b->connection = connection;
	b->stream = d->stream;
	b->frame = d->left;
	b->begins = d->begins;
	b->flags = d->flags;
	b->answer = answer;
	b->length = length;
	b->number = bpf_dynptr_read(b->bytes, length, packet, at, 0) ? 0 : d->part;
	d->begins = 0;
	bpf_ringbuf_submit(b, BPF_RB_NO_WAKEUP);
	return length;
}

#endif
