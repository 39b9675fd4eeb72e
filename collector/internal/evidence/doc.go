// Package evidence reads packet captures (pcap, pcapng, either in gzip) as a stream and reports what they show about
// DNS; README.md documents the output. The input is hostile: every length is checked and every table bounded, so that
// memory and the work per packet do not depend on the content of the file.
package evidence
