package server

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/migrations"
	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/server/openmatch"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/server/telemetry"
	"github.com/lattice-director/director/token"
)

// Options say what a replica serves, to whom, and where. Store and Keys are required; so are Access.Keys, and FleetTokens or
// OpenFleet, unless Open Match is served: then the routes of players, or of game servers, are just not there without them.
// Every other zero value is usable.
type Options struct {
	Store *db.Store       // stays the caller's to close, after Run has returned
	Keys  *keyring.Keeper // Run refreshes it

	// Access says whose access tokens are players' (token.AccessConfig). They are judged by the database's clock,
	// whatever Access.Now is.
	Access token.AccessConfig
	// FleetTokens are the secrets of game servers, 16 bytes each at least; several while they are changed.
	FleetTokens []string
	// OpenFleet lets every game server in where there are no FleetTokens.
	OpenFleet bool
	// Modes gives the seats of sessions where the player names no number.
	Modes play.Modes

	// OpenMatch says how Open Match's clients are served; nil: not at all. Its Store, Log, TLS, FailureRate and HTTPAddr are
	// the replica's, whatever it says.
	OpenMatch *openmatch.Options

	// Addr is where the API listens; "" means 127.0.0.1:8080. A Listener that is given is used instead.
	Addr     string
	Listener net.Listener
	// MetricsAddr is where /metrics and /debug/pprof/ listen; "" means nowhere. A MetricsListener that is given is used instead.
	MetricsAddr     string
	MetricsListener net.Listener
	// TLSCert and TLSKey are PEM files; without them the API speaks plain HTTP.
	TLSCert, TLSKey string
	TrustedProxies  []string // whose X-Forwarded-For is believed; see rest.Options
	CORSOrigins     []string // whose pages may call the player routes; see rest.Options

	BodyTimeout  time.Duration // for the body of a call to arrive, after its headers; 0 means 5 s
	CallTimeout  time.Duration // of a call by a game server or a player, once its body is there; 0 means 900 ms
	ReadyTimeout time.Duration // for the database to answer when somebody asks for readiness; 0 means 900 ms
	MaxInFlight  int           // calls by players at a time, and as many by game servers; 0 means 512, below 0 any number
	CallerRate   rest.Rate     // of a player; zero means rest.DefaultCallerRate, below zero none
	FailureRate  rest.Rate     // of failed authentication from one address; zero means rest.DefaultFailureRate, below zero none

	// Schema is the oldest version of the schema that will do; 0 means that of this build.
	Schema int64
	// DrainDelay is for how long a replica that is told to stop goes on serving while it says that it is not ready: let
	// it be longer than the balancer takes to notice. 0 means not at all.
	DrainDelay time.Duration
	// ShutdownTimeout bounds what comes after the delay: finishing the calls. 0 means 20 s.
	ShutdownTimeout time.Duration

	Log     *slog.Logger         // nil: no log
	Tracer  trace.TracerProvider // nil: no traces
	Metrics *telemetry.Metrics   // nil means a set of its own, which sees nothing of the store's groups
}

// withDefaults fills in what was left open.
func (o Options) withDefaults() (Options, error) {
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:8080")
	o.BodyTimeout = cmp.Or(o.BodyTimeout, 5*time.Second)
	o.CallTimeout = cmp.Or(o.CallTimeout, 900*time.Millisecond)
	o.ReadyTimeout = cmp.Or(o.ReadyTimeout, 900*time.Millisecond)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 512)
	o.CallerRate = cmp.Or(o.CallerRate, rest.DefaultCallerRate)
	o.FailureRate = cmp.Or(o.FailureRate, rest.DefaultFailureRate)
	o.Schema = cmp.Or(o.Schema, migrations.Latest())
	o.ShutdownTimeout = cmp.Or(o.ShutdownTimeout, 20*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.CORSOrigins = slices.Clone(o.CORSOrigins)
	for i, origin := range o.CORSOrigins {
		o.CORSOrigins[i] = strings.ToLower(origin) // as browsers write it
	}
	if o.Metrics == nil {
		var err error
		if o.Metrics, err = telemetry.New(prometheus.NewRegistry(), "unknown"); err != nil {
			return o, err
		}
	}
	return o, o.check()
}

// shortestSecret is in bytes: fewer can be guessed.
const shortestSecret = 16

func (o Options) check() error {
	if o.Store == nil || o.Keys == nil {
		return errors.New("server: a store and a keyring are required")
	}
	if o.Access.Keys == nil && o.OpenMatch == nil {
		return errors.New("server: without keys to verify access tokens with nobody could play: set Access.Keys")
	}
	if !o.servesFleet() && o.OpenMatch == nil {
		return errors.New("server: without a fleet token every game server would be let in: set one, or say that this is wanted")
	}
	for i, secret := range o.FleetTokens {
		if len(secret) < shortestSecret {
			return fmt.Errorf("server: fleet token %d is shorter than %d bytes", i+1, shortestSecret)
		}
	}
	if err := o.Modes.Validate(); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

// servesFleet tells whether game servers are let in.
func (o Options) servesFleet() bool { return len(o.FleetTokens) > 0 || o.OpenFleet }

func (o Options) secure() bool { return o.TLSCert != "" || o.TLSKey != "" }

func (o Options) tls() (*tls.Config, error) {
	if !o.secure() {
		return nil, nil //nolint:nilnil // What net/http means by it, too.
	}
	certificate, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("server: TLS: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if o.OpenMatch == nil {
		return config, nil
	}
	config, err = o.OpenMatch.ClientTLS(config)
	if err != nil {
		return nil, fmt.Errorf("server: TLS: %w", err)
	}
	return config, nil
}
