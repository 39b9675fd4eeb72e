package flightrecorder

import "golang.org/x/sys/unix"

// legacyCalls wait for descriptors or signals. Newer architectures have only their successors.
var legacyCalls = map[int32]string{
	unix.SYS_EPOLL_WAIT: "epoll_wait", unix.SYS_PAUSE: "pause", unix.SYS_POLL: "poll", unix.SYS_SELECT: "select",
}
