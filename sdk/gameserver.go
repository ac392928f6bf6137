package sdk

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/lattice-director/director/token"
)

// ErrClosed says that the [GameServer] was closed by its own process.
var ErrClosed = errors.New("sdk: game server closed")

const (
	// A third of the director's default lease, so that two heartbeats may be lost.
	defaultHeartbeatEvery = 5 * time.Second
	// goodbyeTimeout bounds the last calls of a server whose context has ended already.
	goodbyeTimeout = 5 * time.Second
)

// ServerOptions describes a game server to the director. InstanceID, Endpoint, Region, Modes and Capacity are
// required; the director refuses what is outside its limits with [ErrInvalid].
type ServerOptions struct {
	// InstanceID names this process among all of the title, in all regions.
	InstanceID string
	// Endpoint is where players connect, "host:port" or a URL; session tokens must name exactly this.
	Endpoint string
	Region   string
	Modes    []string
	// Capacity is how many players fit, over all sessions. MaxSessions bounds the sessions too; 0 is no bound.
	Capacity, MaxSessions int
	Labels                map[string]string
	Version               string
	// Load is asked before each heartbeat how busy the server is; new sessions go to the least loaded. Any scale that
	// the whole fleet shares will do. Nil reports none.
	Load func() float64
	// FleetToken is the secret shared with the director.
	FleetToken string
	// HeartbeatEvery should be a third of the director's lease. Default 5 s. The pauses are up to a fifth shorter, so
	// that a fleet started at once does not stay in step.
	HeartbeatEvery time.Duration
}

// GameServer is a registered game server. It heartbeats until it is closed or superseded, whatever the director does
// meanwhile: an outage of the director costs new players, never the sessions that run. Safe for concurrent use.
type GameServer struct {
	opts     ServerOptions
	client   *Client
	log      *slog.Logger
	bootID   string
	keys     *token.KeySource
	verifier *token.SessionVerifier
	seats    *seatBook
	spent    *spentTokens

	life  context.Context //nolint:containedctx // ends with the reason that Err returns
	end   context.CancelCauseFunc
	loops sync.WaitGroup

	// registering is held by whoever registers: a second one would find a new incarnation in the making.
	registering chan struct{}

	mu          sync.Mutex
	incarnation string
	draining    bool
	closing     bool

	closeOnce sync.Once
	closeErr  error
}

// Start registers a game server and keeps it registered until Close, Shutdown or [ErrSuperseded]. ctx bounds the
// registration only, which is repeated while the director is away; wrong options or tokens fail at once.
func Start(ctx context.Context, client *Client, opts ServerOptions) (*GameServer, error) {
	s, err := newGameServer(client, opts)
	if err != nil {
		return nil, err
	}
	if err := s.register(ctx); err != nil {
		s.end(err)
		return nil, err
	}
	s.loops.Go(s.heartbeats)
	_, _ = s.keys.Keys(ctx) // Read early, so that the first player does not wait for it.
	return s, nil
}

func newGameServer(client *Client, opts ServerOptions) (*GameServer, error) {
	opts.HeartbeatEvery = positive(opts.HeartbeatEvery, defaultHeartbeatEvery)
	s := &GameServer{
		opts: opts, client: client, bootID: rand.Text(), spent: newSpentTokens(),
		log:         client.opts.Logger.With(slog.String("instance_id", opts.InstanceID)),
		registering: make(chan struct{}, 1),
	}
	keys, err := newKeySource(client)
	if err != nil {
		return nil, err
	}
	s.keys, s.verifier = keys, token.NewSessionVerifier(keys, 0)
	s.life, s.end = context.WithCancelCause(context.Background())
	s.seats = newSeatBook(s.life, client.opts, s.report)
	return s, nil
}

// Done is closed when the server has ended for good; Err then says why.
func (s *GameServer) Done() <-chan struct{} { return s.life.Done() }

// Err is nil while the server lives, then [ErrClosed], or an error that is [ErrSuperseded]: another process has this
// instance id, all sessions here are void, and this process should stop.
func (s *GameServer) Err() error { return context.Cause(s.life) }

// Drain stops or resumes the coming of new players. Sessions go on, and heartbeats must and do. The wish survives a
// new registration.
func (s *GameServer) Drain(ctx context.Context, drain bool) error {
	s.mu.Lock()
	s.draining = drain
	s.mu.Unlock()
	err := s.sendDrain(ctx, drain)
	if errors.Is(err, ErrUnknownInstance) {
		return nil // Registered anew meanwhile, and that carried the wish along.
	}
	return err
}

func (s *GameServer) sendDrain(ctx context.Context, drain bool) error {
	return s.fenced(ctx, "/fleet/drain", false, func(ref instanceRef) any {
		return drainRequest{instanceRef: ref, Drain: drain}
	}, nil)
}

// Close reports what is left to report, deregisters and stops. It ends the server even when ctx runs out on the way,
// and then returns why it could not say goodbye; the director finds out when the lease expires. The sessions still
// open are closed by the director. Closing again waits for the first time and returns the same.
func (s *GameServer) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		s.mu.Lock()
		s.closing = true
		s.mu.Unlock()
		if s.life.Err() == nil {
			s.closeErr = errors.Join(s.seats.flush(ctx), s.deregister(ctx))
		}
		s.finish(ctx)
	})
	return s.closeErr
}

func (s *GameServer) finish(ctx context.Context) {
	s.end(ErrClosed)
	s.loops.Wait()
	_ = s.seats.flush(context.WithoutCancel(ctx)) // Reports in flight end with the life.
}

// deregister waits for a registration in flight, which would otherwise arrive after it and put a dead server in service.
func (s *GameServer) deregister(ctx context.Context) error {
	if err := s.lockRegistration(ctx); err != nil {
		return err
	}
	defer s.unlockRegistration()
	err := s.call(ctx, "/fleet/deregister", false, s.ref(), nil)
	if errors.Is(err, ErrUnknownInstance) || errors.Is(err, ErrSuperseded) {
		return nil // The first attempt's answer was lost, or there was nothing left to end.
	}
	return err
}

// Shutdown leaves as a good server does: it drains, waits until the last player has left or ctx ends, and closes.
// It returns early with [ErrSuperseded] if that happens meanwhile.
func (s *GameServer) Shutdown(ctx context.Context) error {
	drainCtx, cancel := context.WithTimeout(ctx, goodbyeTimeout)
	defer cancel()
	if err := s.Drain(drainCtx, true); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "could not drain", slog.Any("error", err))
	}
	_ = s.seats.empty(ctx) // Out of time or superseded, what follows is the same.
	if errors.Is(s.Err(), ErrSuperseded) {
		s.finish(ctx)
		return s.Err()
	}
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeTimeout)
	defer cancel()
	return s.Close(bye)
}

func (s *GameServer) ref() instanceRef {
	s.mu.Lock()
	defer s.mu.Unlock()
	return instanceRef{InstanceID: s.opts.InstanceID, Incarnation: s.incarnation}
}

func (s *GameServer) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

func (s *GameServer) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// load asks the game. What JSON or the director's limits cannot carry counts as not reported.
func (s *GameServer) load() *float64 {
	if s.opts.Load == nil {
		return nil
	}
	load := s.opts.Load()
	if math.IsNaN(load) || load < 0 || load > 1e9 {
		return nil
	}
	return &load
}

func (s *GameServer) call(ctx context.Context, path string, once bool, body, out any) error {
	header := http.Header{}
	if s.opts.FleetToken != "" {
		header.Set("X-Fleet-Token", s.opts.FleetToken)
	}
	return s.client.do(ctx, call{method: http.MethodPost, path: path, header: header, body: body, once: once}, out)
}
