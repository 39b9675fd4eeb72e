// Package pollstop provides a descriptor for poll(2) that becomes readable when a context ends.
package pollstop

import (
	"context"

	"golang.org/x/sys/unix"
)

// Stop is such a descriptor.
type Stop struct{ fd int }

// New makes a Stop.
func New() (*Stop, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &Stop{fd}, nil
}

// Poll returns the descriptor to wait for.
func (s *Stop) Poll() unix.PollFd { return unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN} }

// When makes Poll readable when ctx ends. Call release before Close: it waits for a write in progress.
func (s *Stop) When(ctx context.Context) (release func()) {
	written := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		_, _ = unix.Write(s.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		close(written)
	})
	return func() {
		if !cancel() {
			<-written
		}
	}
}

// Close closes the descriptor.
func (s *Stop) Close() { _ = unix.Close(s.fd) }
