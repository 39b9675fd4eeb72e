//go:build ignore

/* Distinguishes HTTP/2 control frames, which only keep a connection going, from requests and answers. */
#ifndef JITTERSCOPE_CONTROL_H
#define JITTERSCOPE_CONTROL_H

#include "kernel.h"

/* HTTP/2 frames of these types are neither requests nor answers (RFC 9113): RST_STREAM, SETTINGS, PING, GOAWAY,
 * WINDOW_UPDATE. */
#define CONTROL_FRAMES (1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 8)
#define FRAME_HEADER 9
#define FRAMES 8
#define CONTROL_BYTES 160
#define TLS_DATA 23
#define TLS_HEADER 5
#define TLS_EXTRA 17 /* content type and tag of TLS 1.3 (RFC 8446, 5.2) */

struct __sk_buff {
	__u32 len;
};

struct bpf_dynptr {
	__u64 opaque[2];
} __attribute__((aligned(8)));

/* Whether the kernel lets these programs read packets, set before loading: Linux 6.12. */
const volatile __u32 reads_packets = 1;

extern int bpf_dynptr_from_skb(struct __sk_buff *skb, __u64 flags, struct bpf_dynptr *ptr__uninit) __ksym __weak;

/* Where the data of a segment begin, from the start of the packet. */
static __always_inline unsigned int data_at(struct sk_buff *skb)
{
	struct tcphdr *tcp = read_as(tcphdr, skb->head + skb->transport_header);

	return skb->transport_header - (skb->data - skb->head) + 4 * BPF_CORE_READ_BITFIELD(tcp, doff);
}

/* Whether data that begins like this could be control frames: FRAME_HEADER bytes, which rule out most other data. */
static __always_inline int may_be_control(const __u8 *head)
{
	if (head[0] == TLS_DATA)
		return head[1] == 3;
	return !head[0] && !head[1] && head[3] <= 8 && CONTROL_FRAMES >> head[3] & 1;
}

/* Reports whether a segment holds nothing but HTTP/2 control frames, several if they were written right after one
 * another. In TLS their size must suffice: WINDOW_UPDATE and RST_STREAM have 13 bytes, PING 17, the acknowledgment of
 * SETTINGS 9, two frames in a record 26 or 30; the closing alert has 2. It is a separate function because its dynptr is
 * kept on the stack: nothing else may write there. */
static __noinline int is_control(struct sk_buff *skb)
{
	unsigned int at = data_at(skb), end = skb->len, length;
	struct bpf_dynptr packet;
	__u8 head[FRAME_HEADER];
	int i;

	/* The first comparison also covers what the header alone fills: an acknowledgment. */
	if (!reads_packets || at + FRAME_HEADER > end || end - at > CONTROL_BYTES)
		return 0;
	if (bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &packet))
		return 0;
	for (i = 0; i < FRAMES; i++) {
		if (bpf_dynptr_read(head, sizeof(head), &packet, at, 0))
			return 0;
		length = (unsigned int)head[3] << 8 | head[4];
		if (head[0] == TLS_DATA && head[1] == 3) {
			at += TLS_HEADER + length;
			length -= TLS_EXTRA;
			if (length != 2 && length != 9 && length != 13 && length != 17 && length != 26 && length != 30)
				return 0;
		} else {
			if (head[0] || head[1] || head[3] > 8 || !(CONTROL_FRAMES >> head[3] & 1))
				return 0;
			at += FRAME_HEADER + head[2];
		}
		if (at >= end)
			return at == end;
	}
	return 0;
}

#endif
