package sdk

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/lattice-director/director/token"
)

// ErrClosed means that this process has closed the [GameServer].
var ErrClosed = errors.New("sdk: game server closed")

// DefaultHeartbeatEvery is a third of the director's default lease of 15 s, so that the lease survives two lost
// heartbeats.
const DefaultHeartbeatEvery = 5 * time.Second

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
	verifier         *token.SessionVerifier // of session tokens, with the keys of keySource
	formerVerifier   *token.SessionVerifier // of the cell in which the region was before; nil: it has not moved
	searchedAt       time.Time              // when a token with an unknown key last caused a heartbeat
	cellAddress      string                 // of the cell that gave the incarnation; "": the configured replicas'
	credential       string                 // that the server got by an enrolment; "": it uses the FleetToken
	endpoint         string
	isUnwantedClosed bool // unwantedSignal is closed
	draining         bool
	closing          bool

	clientLock sync.Mutex
	clientsSeq int64 // of the last list of clients

	closeOnce sync.Once
	closeErr  error
}

// Done is closed when the server has ended. Err then returns the reason.
func (s *GameServer) Done() <-chan struct{} { return s.lifeContext.Done() }

// Err returns nil until the server ends, then [ErrClosed] or an error that wraps [ErrSuperseded]. After ErrSuperseded
// another process has this instance id, all admissions of this one have ended, and this process should stop.
func (s *GameServer) Err() error { return context.Cause(s.lifeContext) }

func (s *GameServer) ownRef() instanceRef {
	s.mu.Lock()
	defer s.mu.Unlock()
	return instanceRef{InstanceID: s.serverOptions.InstanceID, Incarnation: s.incarnation}
}

// offeredState returns the options as they are now.
func (s *GameServer) offeredState() ServerOptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.serverOptions
}

// registeredAt returns the address of the cell where the server is registered.
func (s *GameServer) registeredAt() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cellAddress
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

// Endpoint is what players dial: that of the options, or what the director has said, "" until it has.
func (s *GameServer) Endpoint() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endpoint
}

// Unwanted is closed when the director wants a deployed server to end: it gets no more players.
// [GameServer.RunUntilSignal] then shuts down; a server that does not call it lets its sessions end, and calls
// [GameServer.Shutdown].
func (s *GameServer) Unwanted() <-chan struct{} { return s.unwantedSignal }

// noteStatus keeps what an answer says about a deployment, and a new credential.
func (s *GameServer) noteStatus(a statusAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Credential != nil {
		s.credential = a.Credential.Token
	}
	if s.serverOptions.Endpoint == "" && a.Endpoint != "" {
		s.endpoint = a.Endpoint
	}
	if a.Desired == "stopped" && !s.isUnwantedClosed {
		s.isUnwantedClosed = true
		close(s.unwantedSignal)
	}
}
