package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/server/ws"
)

// ServeHTTP implements http.Handler. A handshake on any path is an agent's; Options.OtherHandler answers all other
// requests.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if ws.IsUpgrade(r) {
		s.serveAgent(w, r)
		return
	}
	s.options.OtherHandler.ServeHTTP(w, r)
}

// Listen opens the listener. Errors: the address cannot be listened on.
func (s *Server) Listen(ctx context.Context) error { return s.http.Listen(ctx) }

// Addr returns the address, after Listen.
func (s *Server) Addr() net.Addr { return s.http.ListenAddr() }

// Serve answers requests until [Server.Stop], or until the listener fails. Errors: the listener's.
func (s *Server) Serve() error { return s.http.Serve() }

// Run renews the replica's lease in the database until [Server.Stop] has closed all connections. If ctx ends before
// that, connections are cut and the replica ends when its lease expires. Handshakes get 503 until Run has reached the
// database.
func (s *Server) Run(ctx context.Context) {
	defer close(s.runEnded)
	var running sync.WaitGroup
	defer running.Wait()
	// The keys are read until the last replica has ended: an agent whose key is revoked while the server stops is still
	// closed.
	keys, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() { s.refreshKeys(keys) })
	s.serveReplicas(ctx)
}

// Replica returns the id of this replica in the database, or uuid.Nil before it has one. The id changes after another
// replica or a worker has ended this replica.
func (s *Server) Replica() uuid.UUID {
	if r := s.currentReplica.Load(); r != nil {
		return r.id
	}
	return uuid.Nil
}

// Stop ends the replica. Its agents stay listed for three heartbeats; over two seconds, it closes their connections so
// that they connect elsewhere. Then it waits for the calls in flight. When ctx ends, the remaining connections are cut.
// Errors: a connection was cut.
func (s *Server) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() { close(s.stopping) })
	err := s.waitForRun(ctx)
	err = errors.Join(err, s.http.Shutdown(ctx))
	// Wait comes after Shutdown, since a handshake that is under way may add a refused socket.
	s.closingSockets.Wait()
	return errors.Join(err, s.http.Close())
}

// waitForRun waits until Run has returned, and cuts the remaining connections when ctx ends.
func (s *Server) waitForRun(ctx context.Context) error {
	select {
	case <-s.runEnded:
		return nil
	case <-ctx.Done():
	}
	if r := s.currentReplica.Load(); r != nil {
		// The goroutine of a connection waits for its lane, which may wait for the database.
		r.stopLanes()
		for _, socket := range r.sockets.Conns() {
			socket.cutLost(ctx.Err())
		}
	}
	return fmt.Errorf("connections of agents were cut off: %w", ctx.Err())
}

// refreshKeys reads the keys each second, and closes the connections whose key was revoked.
func (s *Server) refreshKeys(ctx context.Context) {
	follow.Loop{
		Name: "agent keys", Every: lookEvery, Timeout: callTimeout, Guard: s.guard,
		Report: s.outageLog.Call("keys").Report,
		Do:     func(ctx context.Context, _ bool) error { return s.refreshKeysOnce(ctx) },
	}.Run(ctx)
}

// refreshKeysOnce reads the keys, and closes the connections of this replica whose key is no longer among them.
func (s *Server) refreshKeysOnce(ctx context.Context) error {
	rows, err := s.options.Store.AgentKeys(ctx, s.options.Region)
	if err != nil {
		return err
	}
	// The keys are set before the connections are checked: one that is accepted from here on is judged by the new rows.
	s.agentKeys.setRows(rows)
	r := s.currentReplica.Load()
	if r == nil {
		return nil
	}
	for _, socket := range r.sockets.Conns() {
		if s.agentKeys.isRevoked(socket.key) {
			socket.handleEvent(func(c *conversation) effects {
				return c.endConnection(closeKey, "", "its key was revoked")
			})
		}
	}
	return nil
}
