package dnscapture

import "github.com/jitterscope/jitterscope/collector/internal/dnswire"

// Connect counts an established TCP connection of a client; call it for all of a tick, with the tracker locked.
func (s *Server) Connect(client *dnswire.Address) {
	s.total.connections++
	for _, p := range s.paths[1:] {
		if p != nil && p.client == *client {
			p.connections++
			return
		}
	}
	s.paths[0].connections++
}

// RecordConnections writes what Connect counted into the current tick and starts again from zero.
func (s *Server) RecordConnections(recorder Recorder) {
	s.total.recordConnections(recorder)
	for _, p := range s.paths {
		if p != nil {
			p.recordConnections(recorder)
		}
	}
}

func (c *Counted) recordConnections(recorder Recorder) {
	recorder.SetAt(0, c.connectionsSlot, float64(c.connections))
	c.connections = 0
}
