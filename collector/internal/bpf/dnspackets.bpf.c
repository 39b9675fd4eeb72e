//go:build ignore

/* Takes DNS packets in a packet socket's filter: packets whose ports identify them as DNS go into a ring, and the
 * socket itself takes nothing. The filter runs in the context of the sender, on loopback the observed server: writing
 * 100 or 300 bytes into a shared ring saves it part of the cost of a packet socket's own ring (status words, two locks,
 * a wake-up). The packet starts at its network header, as for every SOCK_DGRAM packet socket. */
#include "kernel.h"
#include "lost.h"

#define PACKET_OUTGOING 4
#define LOOPBACK_IFINDEX 1 /* in every network namespace */
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define TCP_SYN_RST 0x06

/* The fields of a packet that socket filters may read: the first ones of the struct of this name in linux/bpf.h. */
struct __sk_buff {
	__u32 len;
	__u32 pkt_type;
	__u32 mark;
	__u32 queue_mapping;
	__u32 protocol;
	__u32 vlan[3];
	__u32 priority;
	__u32 ingress_ifindex;
	__u32 ifindex;
};

#define SHORT_BYTES 104 /* two cache lines including the record's headers */
#define LONG_BYTES 304	/* the headers and any question */
#define HEAD_BYTES 40	/* IPv4, UDP and DNS headers, or IPv4 and TCP headers: with the record's headers one cache line */
#define DNS_RESPONSE 0x80 /* in the third byte of a message */

/* A bit for each port of a server, host byte order. */
struct port_set {
	__u64 words[65536 / 64];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct port_set);
} server_ports SEC(".maps");

/* A record of the ring, followed by the packet's first bytes. */
struct packet {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 ifindex;
	__u16 protocol; /* EtherType */
	__u16 length;	/* bytes kept */
	__u8 data[];
};

/* Packets from a server have their own ring: servers and their clients seldom share a CPU, and a ring whose end moves
 * between two CPUs costs each of them a cache miss per packet. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 524288);
} to_servers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 524288);
} from_servers SEC(".maps");

static __always_inline int is_server_port(struct port_set *set, __u8 high, __u8 low)
{
	__u16 port = (__u16)high << 8 | low;

	return set->words[port / 64] >> (port % 64) & 1;
}

/* A TCP segment without payload, SYN or RST: half of all segments. `length` is that of the TCP part. */
static __always_inline int is_plain_acknowledgement(const __u8 *tcp, __u32 length)
{
	return !(tcp[13] & TCP_SYN_RST) && length == (tcp[12] >> 4) * 4u;
}

enum kind { UNWANTED, TO_SERVER, FROM_SERVER, SHORT_ANSWER };

/* Classifies a packet by its ports. `head` gets its first HEAD_BYTES. IPv6 with extension headers is rare and is
 * examined in user space. */
static __always_inline enum kind kind_of(struct __sk_buff *skb, __u16 protocol, __u8 *head)
{
	__u8 far[14], transport, *next = head + 20;
	struct port_set *set;
	__u32 zero = 0, at = 20, length;
	int from;

	if (bpf_skb_load_bytes(skb, 0, head, HEAD_BYTES)) /* no DNS packet is shorter */
		return UNWANTED;
	if (protocol == ETH_P_IP) {
		at = (head[0] & 0xf) * 4;
		length = ((__u32)head[2] << 8 | head[3]) - at;
		transport = head[9];
		if ((head[6] & 0x1f) | head[7]) /* a later fragment has no ports */
			return UNWANTED;
	} else if (protocol == ETH_P_IPV6) {
		at = 40;
		length = (__u32)head[4] << 8 | head[5];
		transport = head[6];
		if (transport == 0 || transport == 43 || transport == 44 || transport == 60)
			return TO_SERVER;
	} else {
		return UNWANTED;
	}
	if (transport != IPPROTO_UDP && transport != IPPROTO_TCP)
		return UNWANTED;
	if (at != 20) {
		if (bpf_skb_load_bytes(skb, at, far, transport == IPPROTO_TCP ? 14 : 4))
			return UNWANTED;
		next = far;
	}
	set = bpf_map_lookup_elem(&server_ports, &zero);
	if (!set)
		return UNWANTED;
	from = is_server_port(set, next[0], next[1]);
	if (!from && !is_server_port(set, next[2], next[3]))
		return UNWANTED;
	if (transport == IPPROTO_TCP && is_plain_acknowledgement(next, length))
		return UNWANTED;
	if (!from)
		return TO_SERVER;
	return at == 20 && transport == IPPROTO_UDP && head[30] & DNS_RESPONSE ? SHORT_ANSWER : FROM_SERVER;
}

static __always_inline void describe(struct packet *p, struct __sk_buff *skb, __u16 protocol)
{
	p->time_ns = bpf_ktime_get_ns();
	p->ifindex = skb->ifindex;
	p->protocol = protocol;
}

/* The headers of an answer suffice: who asked, and the result. */
static __always_inline void take_head(struct __sk_buff *skb, __u16 protocol, const __u8 *head)
{
	struct packet *p = bpf_ringbuf_reserve(&from_servers, sizeof(*p) + HEAD_BYTES, 0);

	if (!p) {
		count_lost();
		return;
	}
	describe(p, skb, protocol);
	p->length = HEAD_BYTES;
	__builtin_memcpy(p->data, head, HEAD_BYTES);
	bpf_ringbuf_submit(p, BPF_RB_NO_WAKEUP);
}

static __always_inline void take_start(void *ring, struct __sk_buff *skb, __u16 protocol)
{
	__u32 length = skb->len;
	struct packet *p;

	if (length == 0)
		return;
	if (length <= SHORT_BYTES) {
		p = bpf_ringbuf_reserve(ring, sizeof(*p) + SHORT_BYTES, 0);
	} else {
		if (length > LONG_BYTES)
			length = LONG_BYTES;
		p = bpf_ringbuf_reserve(ring, sizeof(*p) + LONG_BYTES, 0);
	}
	if (!p) {
		count_lost();
		return;
	}
	describe(p, skb, protocol);
	p->length = bpf_skb_load_bytes(skb, 0, p->data, length) ? 0 : length;
	bpf_ringbuf_submit(p, BPF_RB_NO_WAKEUP);
}

SEC("socket")
int take_packet(struct __sk_buff *skb)
{
	__u16 protocol = __builtin_bswap16((__u16)skb->protocol);
	__u8 head[HEAD_BYTES];

	/* On loopback a packet is seen when it is sent and when it arrives: only the arrival counts. */
	if (skb->pkt_type == PACKET_OUTGOING && skb->ifindex == LOOPBACK_IFINDEX)
		return 0;
	switch (kind_of(skb, protocol, head)) {
	case TO_SERVER:
		take_start(&to_servers, skb, protocol);
		break;
	case FROM_SERVER:
		take_start(&from_servers, skb, protocol);
		break;
	case SHORT_ANSWER:
		take_head(skb, protocol, head);
		break;
	case UNWANTED:
		break;
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
