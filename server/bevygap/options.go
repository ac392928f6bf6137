package bevygap

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/waitingroom"
	"github.com/lattice-director/director/server/rest"
)

// Store is the part of db.Store that this face calls.
type Store interface {
	waitingroom.Store
	Offers(ctx context.Context) ([]db.Offer, error)
}

// Connection is what a client needs to connect to its server.
type Connection struct {
	Token      []byte // 2,048 bytes
	ClientID   uint64
	IP         netip.Addr
	Port       uint16
	CertDigest string // SHA-256 of the server's certificate in hex with colons; "" if the server has none
}

// Options configure a [Face]. Store and ConnectSeat are required. Without VerifyToken and AllowsGuests nobody can play.
type Options struct {
	Store Store // The caller closes it.
	// ConnectSeat exchanges the handle of a seat for a connection. Errors: NotFound, Gone, Forbidden if the seat is
	// lost; Unavailable.
	ConnectSeat func(ctx context.Context, handle, sub string) (Connection, error)
	// VerifyToken verifies an access token and returns its sub. A *fault.Error means that it could not be verified.
	// nil: every token is refused.
	VerifyToken func(ctx context.Context, raw string) (sub string, err error)
	// AllowsGuests lets clients play without an access token, each as a new player.
	AllowsGuests bool
	// AllowsOrigin reports whether pages of an origin may ask for servers; nil: none may.
	AllowsOrigin func(origin string) bool

	WaitLimit  time.Duration // for a server; 0 means 60 s
	MaxWaiting int           // requests that wait in this replica; 0 means 10,000
	// PerAddress bounds the requests of one IPv4 address or IPv6 /64 at a time, and those of its guests in 30 s on
	// average; 0 means 8.
	PerAddress     int
	TrustClientIP  bool   // the client may say which address its region is chosen by
	DefaultGame    string // the game of requests that name none; "": they are refused
	DefaultVersion string // of DefaultGame

	FailureLimiter *rest.Limiter // of refused access tokens, by address; nil: no limit
	CallerLimiter  *rest.Limiter // of requests, by player; nil: no limit

	// CheckHere refuses a region that another cell serves; nil: none is.
	CheckHere func(region string) error
	// OnRefusal is called with each request that failed, unless a guest made it. It must not wait. nil: no call.
	OnRefusal func(fault.Refusal)

	Log     *slog.Logger          // nil: no log
	Metrics prometheus.Registerer // nil: none

	firstWithin               time.Duration // for the message of a WebSocket
	callTimeout, writeTimeout time.Duration
	pingEvery, pongWithin     time.Duration // of a socket that waits
}

// Defaults returns what operators may change, with its defaults. [New] uses them for fields that are zero.
func Defaults() Options { return Options{WaitLimit: time.Minute, PerAddress: 8} }

func (o Options) withDefaults() (Options, error) {
	if o.Store == nil || o.ConnectSeat == nil {
		return o, errors.New("bevygap: a store and a way to connect are required")
	}
	o.WaitLimit = cmp.Or(o.WaitLimit, Defaults().WaitLimit)
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 10_000)
	o.PerAddress = cmp.Or(o.PerAddress, Defaults().PerAddress)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.OnRefusal == nil {
		o.OnRefusal = func(fault.Refusal) {}
	}
	if o.AllowsOrigin == nil {
		o.AllowsOrigin = func(string) bool { return false }
	}
	o.firstWithin = cmp.Or(o.firstWithin, 10*time.Second)
	o.callTimeout = cmp.Or(o.callTimeout, 5*time.Second)
	o.writeTimeout = cmp.Or(o.writeTimeout, 5*time.Second)
	o.pingEvery, o.pongWithin = cmp.Or(o.pingEvery, 5*time.Second), cmp.Or(o.pongWithin, 15*time.Second)
	return o, nil
}
