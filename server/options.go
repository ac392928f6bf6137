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
	"github.com/lattice-director/director/internal/connect"
	"github.com/lattice-director/director/migrations"
	"github.com/lattice-director/director/server/bevygap"
	"github.com/lattice-director/director/server/bevygap/nats"
	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/server/openmatch"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/server/telemetry"
	"github.com/lattice-director/director/token"
)

// Options configure a replica. Store and Keys are required. Every other zero value is usable, but for this exception: a
// replica serves players if it has Access.Keys, and game servers if it has FleetTokens, OpenFleet or ServerTokens. One
// that serves neither of them by mistake would be ready and of no use, so both are required unless a face that needs
// neither is served: Open Match, Rivalis, the realtime lobby, its control API, or guests of bevygap.
type Options struct {
	Store *db.Store       // The caller closes it, after Run has returned.
	Keys  *keyring.Keeper // Run refreshes it.
	// ConnectMinter mints the netcode connect tokens of players; nil: they get none.
	ConnectMinter *connect.Minter

	// Access configures the verification of players' access tokens. Access.Now is ignored: the database's clock counts.
	Access token.AccessConfig
	// FleetTokens are the secrets of game servers, of at least 16 bytes each. Several allow rotation.
	FleetTokens []string
	// OpenFleet accepts every game server when FleetTokens is empty.
	OpenFleet bool
	// ServerTokens makes and verifies the credentials that game servers have of their own: those of deployments, and
	// those that register by an enrolment. Without it these are not served.
	ServerTokens *token.ServerTokens
	// OpsTokens are the tokens of operators, of at least 16 bytes each, in the forms of rest.ParseOperatorTokens.
	// Without them the routes of operators are not mounted.
	OpsTokens []string
	// BackendTokens are the tokens of the studio's own services, in the forms of rest.ParseBackendTokens. Without them
	// the routes of backends are not mounted.
	BackendTokens []string
	// OpenParties lets players take anybody into their party whom they name, as releases before this one did. Otherwise
	// a backend permits it, or they queue with a room of the realtime lobby.
	OpenParties bool
	// Modes holds the number of seats of a session, by mode, for requests that do not set it.
	Modes play.Modes

	// Universe has the profiles and the queue of tickets; "" means "global". OpenMatch.Universe replaces it, if it is set.
	Universe string
	// PlayerArg is the string_arg that names the player of a ticket of Open Match, for explanations; "": none.
	PlayerArg string
	// MaxCandidates bounds how many other tickets an explanation reads; 0 means 200,000.
	MaxCandidates int
	// TicketLease is how long a player's ticket stays in the queue without a call that waits for it; 0 means 30 s,
	// below 0 until its time in the queue is over.
	TicketLease time.Duration
	// MaxWaiters bounds the calls of players that wait for a ticket, the calls of WatchAssignments, and those of game
	// servers that wait for sessions, each at a time; 0 means 32,768.
	MaxWaiters int

	// Each of the following configures a face; nil: the face is not served. A field of a face that is zero, such as its
	// Store, Log or FailureRate, has the value of the replica.
	OpenMatch    *openmatch.Options // the Open Match services
	Orchestrator *Orchestrator      // the orchestrator of Rivalis game servers
	Bevygap      *bevygap.Options   // what bevygap's clients call
	NATS         *nats.Options      // game servers with bevygap's plugin; ServerTokens is required
	Realtime     *realtime.Options  // the realtime lobby
	Projects     *Projects          // the control API of the realtime lobby
	Console      *Console           // the operators' console

	// Addr is the address of the API; "" means 127.0.0.1:8080. Listener, if set, is used instead.
	Addr     string
	Listener net.Listener
	// MetricsAddr is the address of /metrics and /debug/pprof/; "" means that they are not served. MetricsListener, if
	// set, is used instead.
	MetricsAddr     string
	MetricsListener net.Listener
	// TLSCert and TLSKey are PEM files; without them the API speaks plain HTTP.
	TLSCert, TLSKey string
	TrustedProxies  []string // whose X-Forwarded-For is trusted; see rest.Options
	CORSOrigins     []string // whose pages may call the player routes; see rest.Options

	BodyTimeout  time.Duration // for the body of a call to arrive, after its headers; 0 means 5 s
	CallTimeout  time.Duration // of a call of a game server or a player, after its body was read; 0 means 900 ms
	ReadyTimeout time.Duration // for the database to answer a readiness probe; 0 means 900 ms
	MaxInFlight  int           // calls of players at a time, and as many of game servers; 0 means 512, below 0 no limit
	CallerRate   rest.Rate     // of one player; zero means rest.DefaultCallerRate, below zero no limit
	// FailureRate limits failed authentications from one address; zero means rest.DefaultFailureRate, below zero no limit.
	FailureRate rest.Rate

	// MinSchema is the oldest schema version that the replica is ready with; 0 means the latest version of this build.
	MinSchema int64
	// DrainDelay is how long a stopping replica still serves while its readiness fails. It should be longer than load
	// balancers take to notice. 0 means no delay.
	DrainDelay time.Duration
	// ShutdownTimeout bounds how long calls in flight may take to finish after the delay; 0 means 20 s.
	ShutdownTimeout time.Duration

	Log     *slog.Logger         // nil: no log
	Tracer  trace.TracerProvider // nil: no traces
	Metrics *telemetry.Metrics   // nil means a new set; it lacks the store's batches, which go to db.Config.Observer
}

// Defaults returns what operators may change, with its defaults. [New] uses them for fields that are zero.
func Defaults() Options {
	return Options{
		Universe: "global", Addr: "127.0.0.1:8080", CallTimeout: 900 * time.Millisecond, MaxInFlight: 512,
		MaxWaiters: 32_768, TicketLease: 30 * time.Second,
		CallerRate: rest.DefaultCallerRate, FailureRate: rest.DefaultFailureRate, ShutdownTimeout: 20 * time.Second,
	}
}

// withDefaults returns the options with defaults for unset fields. Errors: a missing or invalid option.
func (o Options) withDefaults() (Options, error) {
	d := Defaults()
	o.Addr = cmp.Or(o.Addr, d.Addr)
	o.BodyTimeout = cmp.Or(o.BodyTimeout, 5*time.Second)
	o.CallTimeout = cmp.Or(o.CallTimeout, d.CallTimeout)
	o.ReadyTimeout = cmp.Or(o.ReadyTimeout, 900*time.Millisecond)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, d.MaxInFlight)
	o.CallerRate = cmp.Or(o.CallerRate, d.CallerRate)
	o.FailureRate = cmp.Or(o.FailureRate, d.FailureRate)
	o.MaxWaiters = cmp.Or(o.MaxWaiters, d.MaxWaiters)
	o.TicketLease = cmp.Or(o.TicketLease, d.TicketLease)
	o.MinSchema = cmp.Or(o.MinSchema, migrations.Latest())
	o.ShutdownTimeout = cmp.Or(o.ShutdownTimeout, d.ShutdownTimeout)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.CORSOrigins = slices.Clone(o.CORSOrigins)
	for i, origin := range o.CORSOrigins {
		o.CORSOrigins[i] = strings.ToLower(origin) // Browsers send lower case.
	}
	if o.Metrics == nil {
		var err error
		if o.Metrics, err = telemetry.New(prometheus.NewRegistry(), "unknown"); err != nil {
			return o, err
		}
	}
	return o, o.checkRequired()
}

// minSecret is the shortest fleet token, in bytes: 128 bits cannot be guessed.
const minSecret = 16

func (o Options) checkRequired() error {
	if o.Store == nil || o.Keys == nil {
		return errors.New("server: a store and a keyring are required")
	}
	if o.Access.Keys == nil && !o.mayServeAlone() {
		return errors.New("server: Access.Keys is required: without keys no access token can be verified")
	}
	if !o.servesFleet() && !o.mayServeAlone() {
		return errors.New("server: FleetTokens is empty: set one, or set OpenFleet to accept every game server")
	}
	for i, secret := range o.FleetTokens {
		if len(secret) < minSecret {
			return fmt.Errorf("server: fleet token %d is shorter than %d bytes", i+1, minSecret)
		}
	}
	for i, secret := range o.OpsTokens {
		if len(secret) < minSecret {
			return fmt.Errorf("server: operator token %d is shorter than %d bytes", i+1, minSecret)
		}
	}
	if _, err := rest.ParseBackendTokens(o.BackendTokens); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	if err := o.Modes.Validate(); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

// mayServeAlone reports whether there is a face beside players and game servers, so that neither has to be served.
func (o Options) mayServeAlone() bool {
	return o.OpenMatch != nil || o.Orchestrator != nil || o.Bevygap != nil && o.Bevygap.AllowsGuests ||
		o.Realtime != nil || o.Projects != nil
}

// servesFleet reports whether the routes of game servers are mounted.
func (o Options) servesFleet() bool {
	return len(o.FleetTokens) > 0 || o.OpenFleet || o.ServerTokens != nil
}

func (o Options) usesTLS() bool { return o.TLSCert != "" || o.TLSKey != "" }

func (o Options) tlsConfig() (*tls.Config, error) {
	if !o.usesTLS() {
		return nil, nil //nolint:nilnil // In net/http, too, nil means no TLS.
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

// universeName returns the universe of the queue.
func (o Options) universeName() string {
	if o.OpenMatch != nil {
		return cmp.Or(o.OpenMatch.Universe, o.Universe, "global")
	}
	return cmp.Or(o.Universe, "global")
}

// apiAddr returns the address of the API, as far as it is known before Listen.
func (o Options) apiAddr() string {
	if o.Listener != nil {
		return o.Listener.Addr().String()
	}
	return o.Addr
}

// allowsOrigin reports whether pages of an origin may call the player routes.
func (o Options) allowsOrigin(origin string) bool {
	return slices.Contains(o.CORSOrigins, "*") || slices.Contains(o.CORSOrigins, origin)
}
