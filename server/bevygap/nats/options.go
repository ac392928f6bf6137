package nats

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// Options configure a [Server]. Store and ServerTokens are required; every other zero value is usable.
type Options struct {
	Store        Store               // The caller closes it.
	ServerTokens *token.ServerTokens // verifies the credentials of deployments

	Addr     string       // where to listen; "" means 127.0.0.1:4222
	Listener net.Listener // used instead of Addr; nil: none
	TLS      *tls.Config  // nil: plain text
	// MaxServers limits the number of connections; 0 means 10,000.
	MaxServers int
	// FailureRate limits wrong credentials from one address; zero means rest.DefaultFailureRate, below zero no limit.
	FailureRate rest.Rate

	Log     *slog.Logger          // nil: no log
	Metrics prometheus.Registerer // nil: none

	shakeHandsWithin    time.Duration // from the connection to the credential
	holdRead, holdWrite time.Duration // how long a request waits for the database
}

func (o Options) withDefaults() (Options, error) {
	if o.Store == nil || o.ServerTokens == nil {
		return o, errors.New("nats: a store and the credentials of game servers are required")
	}
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:4222")
	o.MaxServers = cmp.Or(o.MaxServers, 10_000)
	o.FailureRate = cmp.Or(o.FailureRate, rest.DefaultFailureRate)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.shakeHandsWithin = cmp.Or(o.shakeHandsWithin, 5*time.Second)
	// The plugin panics when the look-up of a client has no answer for ten seconds, or a write none for five. After
	// holdWrite, a write is acknowledged before it is stored: the connection has the whole list, and stores it later.
	o.holdRead, o.holdWrite = cmp.Or(o.holdRead, 8*time.Second), cmp.Or(o.holdWrite, 4*time.Second)
	return o, nil
}

// Store is the part of db.Store that this face calls.
type Store interface {
	FindDeployedServer(ctx context.Context, of provision.Joining) (db.DeployedServer, error)
	Register(ctx context.Context, r db.Registration) (db.Registered, error)
	NoteRefusedRegistration(ctx context.Context, of provision.Joining, why string) error
	Heartbeat(ctx context.Context, ref db.InstanceRef, load *float64) (db.Alive, error)
	ConnectedClients(ctx context.Context, instanceID string) ([]uint64, error)
	ClientSession(ctx context.Context, of provision.Joining, client uint64) (session string, err error)
	ReportClients(ctx context.Context, l db.ClientList) (db.ClientListResult, error)
	Timing() db.Timing
}
