// Package bpf contains the kernel programs and their generated bindings. The objects are committed, so that building
// the collector needs no clang; "make gen" (clang, libbpf headers) rebuilds them.
package bpf

//go:generate go tool bpf2go -cc clang -strip llvm-strip -cflags "-O2 -g -Wall -Werror" -target amd64,arm64 -type moment GCTrace gctrace.bpf.c
//go:generate go tool bpf2go -cc clang -strip llvm-strip -cflags "-O2 -g -Wall -Werror" -target amd64,arm64 -type queue DNSPath dnspath.bpf.c
//go:generate go tool bpf2go -cc clang -strip llvm-strip -cflags "-O2 -g -Wall -Werror" -target amd64,arm64 -type lookup -type tracing Lookups lookups.bpf.c
//go:generate go tool bpf2go -cc clang -strip llvm-strip -cflags "-O2 -g -Wall -Werror" -target amd64,arm64 -type ended Exits exits.bpf.c
//go:generate go tool bpf2go -cc clang -strip llvm-strip -cflags "-O2 -g -Wall -Werror" -target amd64,arm64 -type account -type place Blocked blocked.bpf.c
//go:generate go tool bpf2go -cc clang -strip llvm-strip -cflags "-O2 -g -Wall -Werror" -target amd64,arm64 DNSPackets dnspackets.bpf.c
//go:generate go tool bpf2go -cc clang -strip llvm-strip -cflags "-O2 -g -Wall -Werror" -target amd64,arm64 -type counts -type request -type block -type server -type address -type call Requests requests.bpf.c
