package nats

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
)

// Store is the part of db.Store that this face calls.
type Store interface {
	DeployedServer(ctx context.Context, of provision.Joining) (db.DeployedServer, error)
	Register(ctx context.Context, r db.Registration) (db.Registered, error)
	NoteRefusedRegistration(ctx context.Context, of provision.Joining, why string) error
	Heartbeat(ctx context.Context, ref db.InstanceRef, load *float64) (db.Alive, error)
	ConnectedClients(ctx context.Context, instanceID string) ([]uint64, error)
	ClientSession(ctx context.Context, of provision.Joining, client uint64) (session string, err error)
	ReportClients(ctx context.Context, l db.ClientList) (db.ClientListResult, error)
	Timing() db.Timing
}

// maxClients of a game server, as in a list over HTTP.
const maxClients = 1024

const (
	callTimeout = 3 * time.Second
	retryPause  = 250 * time.Millisecond
)

// gameServer is the registration behind a connection, and the clients of which the game server has told. Safe for
// concurrent use.
type gameServer struct {
	options    Options
	store      Store
	deployment provision.Joining
	facts      db.DeployedServer
	log        *slog.Logger
	metrics    *metrics

	mu          sync.Mutex // held during calls, so that they are decided in order
	bootID      string     // of the process; "" before it is known
	digest      string     // of its certificate; "": not reported
	incarnation uuid.UUID
	mustStore   pending
	clients     map[uint64]bool // false: it has left, and its row is not read yet
	changes     int64           // of clients, which numbers the lists
	isJoined    bool            // clients has those of earlier connections
}

// pending is what a game server has said and no row has yet.
type pending struct{ registration, list bool }

func newGameServer(s *Server, of provision.Joining, facts db.DeployedServer, log *slog.Logger) *gameServer {
	return &gameServer{options: s.options, store: s.options.Store, deployment: of, facts: facts, log: log,
		metrics: s.metrics,
		clients: map[uint64]bool{}}
}

// ref has a copy of the incarnation: a batch may still read it after the call that waited for it has given up.
func (g *gameServer) ref() db.InstanceRef {
	incarnation := g.incarnation
	return db.InstanceRef{InstanceID: g.deployment.ID.String(), Incarnation: &incarnation}
}

// begin names the process, once, and returns false after that. A process that was connected before has reported its
// digest then.
func (g *gameServer) begin(bootID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bootID != "" {
		return false
	}
	g.bootID, g.mustStore = bootID, pending{registration: true, list: true}
	if g.facts.BootID == bootID {
		g.digest = g.facts.CertDigest
	}
	return true
}

// hasBegun reports whether the process is known.
func (g *gameServer) hasBegun() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.bootID != ""
}

// join adds a client. It returns false if there are too many.
func (g *gameServer) join(client uint64) bool { return g.change(client, true) }

// leave removes a client.
func (g *gameServer) leave(client uint64) bool { return g.change(client, false) }

func (g *gameServer) change(client uint64, isHere bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, known := g.clients[client]; !known && len(g.clients) >= maxClients {
		return false
	}
	g.clients[client] = isHere
	g.changes++
	g.mustStore.list = true
	return true
}

// reportDigest replaces the digest of the certificate.
func (g *gameServer) reportDigest(digest string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.digest != digest {
		g.digest, g.mustStore.registration = digest, true
	}
}

// currentDigest returns the digest, "" if none was reported.
func (g *gameServer) currentDigest() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.digest
}

// isHere reports whether a client is connected, as far as the game server has told.
func (g *gameServer) isHere(client uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clients[client]
}

// endsRegistration reports whether an error says that this process speaks for the deployment no more: it is over, another
// process took its place, or it may not register.
func endsRegistration(err error) bool {
	return slices.ContainsFunc([]fault.Kind{fault.Gone, fault.Superseded, fault.Forbidden, fault.Invalid},
		func(kind fault.Kind) bool { return fault.Is(err, kind) })
}

// settle stores what is pending, and tries again while the database is unavailable, within holdWrite. Errors: those of
// a registration and of a list.
func (g *gameServer) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, g.options.holdWrite)
	defer cancel()
	for {
		err := g.storePending(ctx)
		if !fault.Is(err, fault.Unavailable) {
			return err
		}
		if !wait.For(ctx, retryPause) {
			return nil // the next renewal stores it
		}
	}
}

// renew renews the lease, and stores what is pending. The list is compared with the rows each time, since those change
// by themselves: a seat may have been freed.
func (g *gameServer) renew(ctx context.Context) error {
	if err := g.heartbeat(ctx); err != nil {
		return err
	}
	return g.storePending(ctx)
}

func (g *gameServer) heartbeat(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mustStore.list = true
	// The registration that follows is the heartbeat.
	if g.incarnation == uuid.Nil || g.mustStore.registration {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := g.store.Heartbeat(ctx, g.ref(), nil)
	if fault.Is(err, fault.NotFound) { // its lease had expired
		g.mustStore.registration = true
		return nil
	}
	return err
}

func (g *gameServer) storePending(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bootID == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	// Before the list, which names the incarnation.
	if g.mustStore.registration {
		if err := g.register(ctx); err != nil {
			return err
		}
	}
	if g.mustStore.list {
		return g.reportList(ctx)
	}
	return nil
}

// register is called with mu locked. Whoever knows the credential of a deployment may offer all that its version has.
func (g *gameServer) register(ctx context.Context) error {
	out, err := g.store.Register(ctx, db.Registration{
		InstanceID: g.deployment.ID.String(), Region: g.deployment.Region, Modes: g.facts.Modes,
		Capacity: g.facts.Capacity,
		BootID:   g.bootID, CertDigest: g.digest, ReportsSeats: true, Joining: &g.deployment,
	})
	g.metrics.call("register", err)
	if err != nil {
		if !fault.Is(err, fault.Unavailable) {
			_ = g.store.NoteRefusedRegistration(ctx, g.deployment, err.Error()) // it is refused again, and noted then
		}
		return err
	}
	if g.incarnation != out.Incarnation {
		g.log.LogAttrs(ctx, slog.LevelInfo, "game server registered", slog.String("incarnation",
			out.Incarnation.String()))
	}
	g.incarnation, g.mustStore.registration = out.Incarnation, false
	return g.recall(ctx)
}

// recall reads the clients of the process's earlier connections, once, after its registration: they were acknowledged
// by another replica, and it does not tell them again.
func (g *gameServer) recall(ctx context.Context) error {
	if g.isJoined {
		return nil
	}
	clients, err := g.store.ConnectedClients(ctx, g.deployment.ID.String())
	if err != nil {
		g.mustStore.registration = true
		return err
	}
	for _, id := range clients {
		// What this connection has told counts more: the rows may be from before it.
		if _, told := g.clients[id]; !told && len(g.clients) < maxClients {
			g.clients[id] = true
		}
	}
	g.isJoined = true
	return nil
}

// reportList is called with mu locked. Clients that have no seat any more are dropped from the list: the plugin cannot
// be asked to disconnect them.
func (g *gameServer) reportList(ctx context.Context) error {
	// Those that have left were kept until here, so that the rows of earlier connections did not bring them back.
	maps.DeleteFunc(g.clients, func(_ uint64, isHere bool) bool { return !isHere })
	// The moment of this connection's beginning comes first in the number: a list of an earlier connection never counts
	// as newer.
	list := db.ClientList{Ref: g.ref(), Seq: g.facts.ReadAt + g.changes, Clients: slices.Sorted(maps.Keys(g.clients))}
	res, err := g.store.ReportClients(ctx, list)
	g.metrics.call("clients", err)
	switch {
	case fault.Is(err, fault.NotFound):
		g.mustStore.registration = true
		return nil
	case fault.Is(err, fault.Conflict): // its version has no connect tokens
		g.log.LogAttrs(ctx, slog.LevelWarn, "the clients of a game server cannot be stored", slog.Any("error", err))
	case err != nil:
		return err
	}
	g.mustStore.list = false
	for _, r := range res.Refused {
		delete(g.clients, r.ClientID)
		g.metrics.clients.WithLabelValues(string(r.Result)).Inc()
		g.log.LogAttrs(ctx, slog.LevelWarn, "a client without a seat is connected to the game server",
			slog.Uint64("client_id", r.ClientID), slog.String("result", string(r.Result)))
	}
	return nil
}

// session returns the session of a client, "" if it has none, and waits while the database is unavailable, within
// holdRead. Errors: it is still unavailable.
func (g *gameServer) session(ctx context.Context, client uint64) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, g.options.holdRead)
	defer cancel()
	for {
		session, err := g.readSession(ctx, client)
		g.metrics.call("session", err)
		if err == nil || !wait.For(ctx, retryPause) {
			return session, err
		}
	}
}

func (g *gameServer) readSession(ctx context.Context, client uint64) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return g.store.ClientSession(ctx, g.deployment, client)
}
