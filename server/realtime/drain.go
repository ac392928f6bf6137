package realtime

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/server/ws"
)

// maxSpread bounds the time over which a replica that stops closes its connections. Clients reconnect 250 ms after a
// close, so they arrive at the other replicas as evenly as they are closed here.
const maxSpread = 10 * time.Second

// Drain refuses upgrades with 503 from now on. Connections stay open. Safe to call more than once.
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isDraining = true
}

// IsReady reports whether upgrades are accepted.
func (s *Server) IsReady() bool {
	s.mu.Lock()
	own, draining := s.regionsByName[s.options.Region], s.isDraining
	s.mu.Unlock()
	return own != nil && own.currentReplica.Load() != nil && !draining
}

// Stop calls [Server.Drain] and closes the connections, evenly spaced over half of the time until ctx ends and at most
// ten seconds, with 1012. Then it waits until they are closed and their sessions are suspended; workers announce that
// to the rooms only five seconds later. When ctx ends, the remaining connections are cut. Errors: a connection was cut.
func (s *Server) Stop(ctx context.Context) error {
	s.Drain()
	// Before the first connection closes: from here on, sessions are suspended without an entry in their rooms at once.
	s.isStopping.Store(true)
	s.closeEvenly(ctx)
	// After the connections have begun to close: the replica ends when its set of connections is empty, and the set is
	// closed to new ones by this.
	s.stopOnce.Do(func() { close(s.connsClosed) })
	// Clients that have no session yet are refused now, and ask another replica.
	s.endHandshakes()
	// Connections whose handshake was under way were not in the list that closeEvenly took.
	for _, c := range s.openConns() {
		c.Close(websocket.StatusGoingAway, reasonStopping)
	}
	err := s.waitForRun(ctx)
	shutdownErr := s.http.Shutdown(ctx)
	_ = s.http.Close() // of connections without a request, which Shutdown leaves open when ctx ends
	return cmp.Or(err, shutdownErr)
}

// closeEvenly closes the connections over a time, so that the other replicas get their clients evenly.
func (s *Server) closeEvenly(ctx context.Context) {
	spread := maxSpread
	// The other half of the time is for the clients' close frames, and for the sessions that are suspended.
	if end, ok := ctx.Deadline(); ok {
		spread = min(spread, time.Until(end)/2)
	}
	ws.CloseEvenly(ctx, spread, s.openConns(), func(c *conn) { c.Close(closeRestart, reasonStopping) })
}

func (s *Server) openConns() (all []*conn) {
	for _, r := range s.allRegions() {
		if current := r.currentReplica.Load(); current != nil {
			all = append(all, current.conns.Conns()...)
		}
	}
	return all
}

// waitForRun waits until Run and the goroutines of connections have ended. When ctx ends before, it cuts the
// connections that are left, and returns an error.
func (s *Server) waitForRun(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// Without Run nobody closes runEnded, and a server that was only listening must be able to stop.
		if s.hasRun() {
			<-s.runEnded
		}
		s.connsServed.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	for _, c := range s.openConns() {
		c.cutOff()
	}
	return fmt.Errorf("connections of realtime clients were cut off: %w", ctx.Err())
}

// hasRun reports whether Run was called.
func (s *Server) hasRun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runContext != nil
}
