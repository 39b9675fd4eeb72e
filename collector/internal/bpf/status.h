//go:build ignore

/* Reads the status class that a plaintext HTTP/1 answer begins with. */
#ifndef JITTERSCOPE_STATUS_H
#define JITTERSCOPE_STATUS_H

#include "control.h"

#define STATUS_LINE 12 /* "HTTP/1.1 503" (RFC 9112, 4) */

/* Whether the status of answers is read, set before loading. */
const volatile __u32 reads_status = 1;

/* Returned for a packet whose frames have to be examined. */
#define MAY_BE_CONTROL 0xff

/* 1 to 5; 0: the packet does not begin with an HTTP/1 status, as in TLS and HTTP/2. No byte of it is kept. The same
 * read also tells whether it can hold nothing but control frames. */
static __noinline __u8 status_of(struct sk_buff *skb)
{
	unsigned int at = data_at(skb), end = skb->len;
	struct bpf_dynptr packet;
	__u8 line[STATUS_LINE];

	if (!reads_packets || at + FRAME_HEADER > end)
		return 0;
	if (at + STATUS_LINE > end)
		return MAY_BE_CONTROL;
	if (bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &packet) || bpf_dynptr_read(line, sizeof(line), &packet, at, 0))
		return 0;
	if (may_be_control(line))
		return MAY_BE_CONTROL;
	if (!reads_status)
		return 0;
	if (line[0] != 'H' || line[1] != 'T' || line[2] != 'T' || line[3] != 'P' || line[4] != '/' || line[5] != '1' || line[6] != '.' || line[8] != ' ')
		return 0;
	return line[9] >= '1' && line[9] <= '5' ? line[9] - '0' : 0;
}

#endif
