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

// ErrClosed means that this process has closed the [GameServer].
var ErrClosed = errors.New("sdk: game server closed")

// DefaultHeartbeatEvery is a third of the director's default lease of 15 s, so that the lease survives two lost
// heartbeats.
const DefaultHeartbeatEvery = 5 * time.Second

// shutdownCallTimeout bounds Shutdown's drain and, separately, its Close, which runs also when ctx has ended.
const shutdownCallTimeout = 5 * time.Second

// ServerOptions describes a game server to the director. InstanceID, Endpoint, Region, Modes and Capacity are required,
// but for the Endpoint of a deployed server; the director refuses values outside its limits with [ErrInvalid].
type ServerOptions struct {
	// InstanceID is unique among all game servers of the title, in all regions.
	InstanceID string
	// Endpoint is the address for players, "host:port" or a URL. Admit accepts only session tokens that name exactly
	// this. Empty for a deployed server (see [Deployed]): the director says it.
	Endpoint string
	Region   string
	Modes    []string
	// Capacity is the number of seats over all sessions. MaxSessions limits the number of sessions; 0 is no limit.
	Capacity, MaxSessions int
	Labels                map[string]string
	Version               string
	// CertDigest is the SHA-256 of the certificate that the server shows its players, in hex, for apps whose players
	// check it.
	CertDigest string
	// ProviderRef is the provider's name of a deployed server, if it knows it: with Agones NAME/TAG. With it, the
	// director adopts a server of which it never received the provider's answer. Up to 128 characters of A-Z a-z 0-9 .
	// _ : / -.
	ProviderRef string
	// Load returns how busy the server is, 0 or more, on a scale that the whole fleet shares. It is called before each
	// heartbeat; new sessions go to the least loaded servers. Nil reports no load.
	Load func() float64
	// FleetToken is the token of an enrolment, with which the server gets a credential of its own, or the secret that
	// all game servers share, or the token of a deployment. The credential is kept in memory and renewed.
	FleetToken string
	// HeartbeatEvery is the longest pause between heartbeats. Default [DefaultHeartbeatEvery]; use a third of the
	// director's lease. Each pause is up to a fifth shorter, so that game servers that start together do not heartbeat
	// together.
	HeartbeatEvery time.Duration
}

// GameServer is a registered game server. It sends heartbeats until it is closed or superseded, also through an outage
// of the director: an outage keeps new players out, and ends no running session. Safe for concurrent use.
type GameServer struct {
	serverOptions ServerOptions
	client        *Client
	log           *slog.Logger
	bootID        string
	seatReports   *seatReporter
	spentTokens   *spentTokens

	lifeContext  context.Context //nolint:containedctx // ends with the reason that Err returns
	endLife      context.CancelCauseFunc
	runningLoops sync.WaitGroup

	unwantedSignal chan struct{}

	// registerLock is a lock, held during a registration; a channel, so that waiting for it can end with a context.
	registerLock chan struct{}

	mu               sync.Mutex
	incarnation      string
	keySource        *token.KeySource
	verifier         *token.SessionVerifier // with keys
	formerVerifier   *token.SessionVerifier // of the cell in which the region was before; nil: it has not moved
	soughtAt         time.Time              // when a token with an unknown key last caused a heartbeat
	cellAddress      string                 // the address of the cell that gave the incarnation; "": that of the configured replicas
	credential       string                 // that it got by an enrolment; "": it uses the FleetToken
	endpoint         string
	isUnwantedClosed bool // unwanted is closed
	draining         bool
	closing          bool

	clientLock sync.Mutex
	clientsSeq int64 // of the last list of clients

	closeOnce sync.Once
	closeErr  error
}

// Start registers a game server and keeps it registered until Close, Shutdown or [ErrSuperseded]. ctx bounds only the
// first registration, which is retried while the director is unreachable. Invalid options and a wrong token fail at
// once.
func Start(ctx context.Context, client *Client, opts ServerOptions) (*GameServer, error) {
	s, err := newGameServer(client, opts)
	if err != nil {
		return nil, err
	}
	if err := s.registerOnce(ctx); err != nil {
		s.endLife(err)
		return nil, err
	}
	s.runningLoops.Go(s.runHeartbeats)
	_, _ = s.keysOfCell().Keys(ctx) // Read now, so that the first player need not wait; on failure, the first Admit reads them.
	return s, nil
}

func newGameServer(client *Client, opts ServerOptions) (*GameServer, error) {
	opts.HeartbeatEvery = positiveOr(opts.HeartbeatEvery, DefaultHeartbeatEvery)
	s := &GameServer{
		serverOptions: opts, client: client, bootID: rand.Text(), spentTokens: newSpentTokens(),
		log:          client.clientOptions.Logger.With(slog.String("instance_id", opts.InstanceID)),
		registerLock: make(chan struct{}, 1), endpoint: opts.Endpoint, unwantedSignal: make(chan struct{}),
	}
	if err := s.renewKeySource(); err != nil {
		return nil, err
	}
	s.lifeContext, s.endLife = context.WithCancelCause(context.Background())
	s.seatReports = newSeatReporter(s.lifeContext, client.clientOptions, s.reportSeats)
	return s, nil
}

// Done is closed when the server has ended. Err then returns the reason.
func (s *GameServer) Done() <-chan struct{} { return s.lifeContext.Done() }

// Err returns nil until the server ends, then [ErrClosed] or an error that wraps [ErrSuperseded]. After ErrSuperseded
// another process has this instance id, all admissions of this one have ended, and this process should stop.
func (s *GameServer) Err() error { return context.Cause(s.lifeContext) }

// Drain stops (true) or resumes (false) the placement of players on this server. Running sessions and heartbeats
// continue. The setting survives a new registration.
func (s *GameServer) Drain(ctx context.Context, drain bool) error {
	s.mu.Lock()
	s.draining = drain
	s.mu.Unlock()
	err := s.sendDrain(ctx, drain)
	if errors.Is(err, ErrUnknownInstance) {
		return nil // The server has registered again meanwhile, and reported its draining with that.
	}
	return err
}

// Offer changes what the server offers: its modes, capacity, limit of sessions, labels, version and certificate. The
// other options stay. Running sessions and the drain stay, too. If it fails, the change may be registered later.
// Errors: those of Start; [ErrClosed].
func (s *GameServer) Offer(ctx context.Context, o ServerOptions) error {
	if err := s.lockRegistration(ctx); err != nil {
		return err
	}
	defer s.unlockRegistration()
	if s.isClosing() {
		return ErrClosed
	}
	s.mu.Lock()
	s.serverOptions.Modes, s.serverOptions.Capacity, s.serverOptions.MaxSessions = o.Modes, o.Capacity, o.MaxSessions
	s.serverOptions.Labels, s.serverOptions.Version, s.serverOptions.CertDigest = o.Labels, o.Version, o.CertDigest
	s.mu.Unlock()
	return s.registerLocked(ctx)
}

// offeredState returns the options as they are now.
func (s *GameServer) offeredState() ServerOptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.serverOptions
}

func (s *GameServer) sendDrain(ctx context.Context, drain bool) error {
	return s.callFenced(ctx, "/fleet/drain", false, func(ref instanceRef) any {
		return drainRequest{instanceRef: ref, Drain: drain}
	}, nil)
}

// Close sends the remaining reports, deregisters and ends the server. If ctx ends first, Close ends the server anyway
// and returns why it could not deregister; the director then notices when the lease expires. The director closes the
// sessions that are still open. A second call waits for the first and returns the same.
func (s *GameServer) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		s.mu.Lock()
		s.closing = true
		s.mu.Unlock()
		if s.lifeContext.Err() == nil {
			s.closeErr = errors.Join(s.seatReports.flushReports(ctx), s.deregisterOnce(ctx))
		}
		s.finishRun(ctx)
	})
	return s.closeErr
}

func (s *GameServer) finishRun(ctx context.Context) {
	s.endLife(ErrClosed)
	s.runningLoops.Wait()
	_ = s.seatReports.flushReports(context.WithoutCancel(ctx)) // Waits for the workers only: reports in flight end with s.lifeContext.
}

// deregisterOnce waits for a registration in flight, which could otherwise arrive later and register a server that has
// ended.
func (s *GameServer) deregisterOnce(ctx context.Context) error {
	if err := s.lockRegistration(ctx); err != nil {
		return err
	}
	defer s.unlockRegistration()
	err := s.callFleet(ctx, "/fleet/deregister", false, s.ownRef(), nil)
	if errors.Is(err, ErrUnknownInstance) || errors.Is(err, ErrSuperseded) {
		return nil // The answer to an earlier attempt was lost, or the registration had ended already.
	}
	return err
}

// Shutdown drains, waits until the last player has left or ctx ends, and then closes, for which it takes up to 5 s
// more. It returns [ErrSuperseded] early if another process registers with this instance id meanwhile.
func (s *GameServer) Shutdown(ctx context.Context) error {
	drainCtx, cancel := context.WithTimeout(ctx, shutdownCallTimeout)
	defer cancel()
	if err := s.Drain(drainCtx, true); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "could not drain", slog.Any("error", err))
	}
	_ = s.seatReports.waitUntilEmpty(ctx) // The next steps are the same after an early return.
	if errors.Is(s.Err(), ErrSuperseded) {
		s.finishRun(ctx)
		return s.Err()
	}
	closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownCallTimeout)
	defer cancel()
	return s.Close(closeCtx)
}

func (s *GameServer) ownRef() instanceRef {
	s.mu.Lock()
	defer s.mu.Unlock()
	return instanceRef{InstanceID: s.serverOptions.InstanceID, Incarnation: s.incarnation}
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

// currentLoad returns the game's load, or nil if that is no number that the director accepts (0 to 1e9).
func (s *GameServer) currentLoad() *float64 {
	if s.serverOptions.Load == nil {
		return nil
	}
	load := s.serverOptions.Load()
	if math.IsNaN(load) || load < 0 || load > 1e9 {
		return nil
	}
	return &load
}

func (s *GameServer) callFleet(ctx context.Context, path string, once bool, body, out any) error {
	_, err := s.callAt(ctx, path, once, body, out)
	return err
}

// callAt is call, and returns the address of the cell that answered.
func (s *GameServer) callAt(ctx context.Context, path string, once bool, body, out any) (cell string, err error) {
	return s.client.doAt(ctx, call{method: http.MethodPost, path: path, header: s.fleetHeader(), body: body,
		region: s.serverOptions.Region, isOnce: once}, out)
}

func (s *GameServer) fleetHeader() http.Header { return fleetHeader(s.callSecret()) }

func fleetHeader(secret string) http.Header {
	header := http.Header{}
	if secret != "" {
		header.Set("X-Fleet-Token", secret)
	}
	return header
}
