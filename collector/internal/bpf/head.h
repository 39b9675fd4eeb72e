//go:build ignore

/* The first bytes of a request, from which the collector determines its kind. */
#ifndef JITTERSCOPE_HEAD_H
#define JITTERSCOPE_HEAD_H

#include "control.h"

#define HEAD 64 /* a power of 2 */

/* Whether they are read, set before loading. */
const volatile __u32 reads_heads = 1;

/* Copies up to HEAD bytes of a segment's data and returns how many. Not inline: the verifier allows no other writes
 * near a dynptr. */
static __noinline __u8 head_of(struct sk_buff *skb, __u8 *to)
{
	unsigned int at = data_at(skb), end = skb->len, length;
	struct bpf_dynptr packet;

	if (at >= end || bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &packet))
		return 0;
	length = end - at;
	if (length >= HEAD)
		return bpf_dynptr_read(to, HEAD, &packet, at, 0) ? 0 : HEAD;
	/* The verifier does not know the bounds that the compiler knows. */
	asm volatile("%0 &= %1" : "+r"(length) : "i"(HEAD - 1));
	return bpf_dynptr_read(to, length, &packet, at, 0) ? 0 : length;
}

#endif
