// Package evidence reads packet captures (pcap, pcapng, either in gzip) as a stream and tells what they say about DNS:
// README.md has the output. The input is hostile: every length is checked and every table bounded, so that memory and
// the work for a packet do not depend on what the file holds.
package evidence
