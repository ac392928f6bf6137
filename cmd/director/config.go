package main

import (
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/agones"
	"github.com/lattice-director/director/provider/docker"
	"github.com/lattice-director/director/provider/edgegap"
	processes "github.com/lattice-director/director/provider/process"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/bevygap"
	"github.com/lattice-director/director/server/bevygap/nats"
	"github.com/lattice-director/director/server/console"
	"github.com/lattice-director/director/server/openmatch"
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/sidecar"
	"github.com/lattice-director/director/worker"
)

// Config is what the settings set. Each setting is bound to the option that it sets, in the options of the part that
// reads it; fields beside them hold what several parts read, or what none reads as it is. [defaultConfig] makes a
// Config, and the packages of the options have the defaults.
type Config struct {
	Database     db.Config
	Server       server.Options // without its faces, which follow
	OpenMatch    openmatch.Options
	Orchestrator server.Orchestrator
	Bevygap      bevygap.Options
	NATS         nats.Options // of game servers with bevygap's plugin
	Realtime     realtime.Options
	Projects     server.Projects
	Console      server.Console
	OIDC         console.OIDC
	Worker       worker.Options

	Agones    agones.Config
	Docker    docker.Config
	Edgegap   edgegap.Config
	Processes processes.Config

	GameServer sdk.ServerOptions // of the sidecar
	Sidecar    sidecar.Options

	// The first key-encryption key seals, all of them open: so that one can be replaced while both are set.
	KEKs [][]byte
	// A key set as a URL, a file or JSON. "": this process serves no players.
	JWKS          string
	JWKSPlainHTTP bool

	// RunsWorker is of `serve` alone: `work` and `dev` always run one. RunsLoop is of every worker.
	RunsWorker, RunsLoop bool
	HistoryPrivacy       ticketbody.Privacy // what the history of matches keeps of players

	BevygapPlayers string // the players of bevygap: bevygapOff, bevygapTokens or bevygapGuests
	RoomTypes      string // of the realtime lobby, as JSON

	// Sorted, each once; empty: this process starts no game servers.
	ProviderNames []string
	// "" is localOwner, which checkProvision accepts for providers of this machine alone.
	ProvisionOwner string
	// The time of one call of a provider, and not of a start.
	ProvisionTimeout time.Duration
	// "": game servers use the address of the API on this machine; see replicasURL.
	PublicURL     string
	NATSURL       string
	isDevelopment bool // set by `dev`, see needsPublicURL and makeWorker

	// The replicas that the sidecar calls, and its own listeners. SidecarLinesAddr "": HTTP alone.
	SidecarDirectors              []string
	SidecarAddr, SidecarLinesAddr string

	// "auto" is text on a terminal, else JSON; the levels are those of slog, as words.
	LogFormat, LogLevel string
	// "": no traces.
	OTLPEndpoint string

	// The fields below are of development. "": the usual directory, and issuer.jwk in it.
	DataDir, IssuerKey string
	PoolsFile          string // "": no pools are applied at the start of `dev`
}

// defaultConfig returns the defaults of all settings.
func defaultConfig() Config {
	return Config{
		Database:     db.DefaultConfig(),
		Server:       server.Defaults(),
		Worker:       worker.Defaults(),
		OpenMatch:    openmatch.Defaults(),
		Orchestrator: server.OrchestratorDefaults(),
		Bevygap:      bevygap.Defaults(),
		Realtime:     realtime.Defaults(),
		OIDC:         console.DefaultOIDC(),
		Agones:       agones.Config{Namespace: agones.DefaultNamespace},
		Docker:       docker.Config{Host: docker.DefaultHost, Advertise: provider.Loopback},
		Processes: processes.Config{
			PortMin:   processes.DefaultPortMin,
			PortMax:   processes.DefaultPortMax,
			Advertise: provider.Loopback,
		},
		RunsLoop:         true,
		BevygapPlayers:   bevygapOff,
		ProvisionTimeout: worker.DefaultCallTimeout,
		GameServer:       sdk.ServerOptions{HeartbeatEvery: sdk.DefaultHeartbeatEvery},
		Sidecar:          sidecar.Defaults(),
		// Where `director dev` listens, so that a first game server needs no settings.
		SidecarDirectors: []string{"http://127.0.0.1:8080"},
		// Loopback, as checkSidecar requires of every other address.
		SidecarAddr: "127.0.0.1:9357",
		LogFormat:   "auto",
		LogLevel:    "info",
	}
}

// The values of DIRECTOR_BEVYGAP: whose requests are served.
const (
	bevygapOff    = "off"
	bevygapTokens = "tokens"
	bevygapGuests = "guests"
)
