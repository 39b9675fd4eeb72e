//go:build ignore

/* Tells the class of the status that an answer of HTTP/1 in clear begins with. */
#ifndef JITTERSCOPE_STATUS_H
#define JITTERSCOPE_STATUS_H

#include "control.h"

#define STATUS_LINE 12 /* "HTTP/1.1 503" (RFC 9112, 4) */

/* Whether the status of answers is read, set before loading. */
const volatile __u32 reads_status = 1;

/* 1 to 5; 0: the packet begins with no status of HTTP/1, as in TLS and HTTP/2. No byte of it is kept. */
static __noinline __u8 status_of(struct sk_buff *skb)
{
	unsigned int at = skb->transport_header - (skb->data - skb->head), end = skb->len;
	struct bpf_dynptr packet;
	__u8 line[STATUS_LINE], offset;

	if (!reads_packets || !reads_status || end - at < 20 + STATUS_LINE)
		return 0;
	if (bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &packet) || bpf_dynptr_read(&offset, 1, &packet, at + 12, 0))
		return 0;
	at += (offset >> 4) * 4;
	if (at + STATUS_LINE > end || bpf_dynptr_read(line, sizeof(line), &packet, at, 0))
		return 0;
	if (line[0] != 'H' || line[1] != 'T' || line[2] != 'T' || line[3] != 'P' || line[4] != '/' || line[5] != '1' || line[6] != '.' || line[8] != ' ')
		return 0;
	return line[9] >= '1' && line[9] <= '5' ? line[9] - '0' : 0;
}

#endif
