package main

import (
	"slices"
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
	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/server/openmatch"
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/sidecar"
	"github.com/lattice-director/director/worker"
)

// Config is what the settings set. A setting is bound to the option that it sets, in the options of the part that reads
// it; fields beside them hold what several parts read, or what none reads as it is. [defaultConfig] makes a Config, and
// the packages of the options have the defaults.
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
	KeySchedule  keyring.Schedule
	Worker       worker.Options

	Agones    agones.Config
	Docker    docker.Config
	Edgegap   edgegap.Config
	Processes processes.Config

	GameServer sdk.ServerOptions // of the sidecar
	Sidecar    sidecar.Options

	KEKs          [][]byte
	JWKS          string
	JWKSPlainHTTP bool

	RunsWorker, RunsLoop bool
	HistoryPrivacy       ticketbody.Privacy // what the history of matches keeps of players

	BevygapPlayers string // the players of bevygap: bevygapOff, bevygapTokens or bevygapGuests
	RoomTypes      string // of the realtime lobby, as JSON

	ProviderNames    []string
	ProvisionOwner   string
	ProvisionTimeout time.Duration
	PublicURL        string
	NATSURL          string
	isDevelopment    bool // dev: see needsPublicURL

	SidecarDirectors              []string
	SidecarAddr, SidecarLinesAddr string

	LogFormat, LogLevel string
	OTLPEndpoint        string

	DataDir, IssuerKey string
	PoolsFile          string // a file
}

// defaultConfig returns the defaults of all settings.
func defaultConfig() Config {
	return Config{
		Database:     db.DefaultConfig(),
		Server:       server.Defaults(),
		Worker:       worker.Defaults(),
		KeySchedule:  keyring.DefaultSchedule(),
		OpenMatch:    openmatch.Defaults(),
		Orchestrator: server.OrchestratorDefaults(),
		Bevygap:      bevygap.Defaults(),
		Realtime:     realtime.Defaults(),
		Console:      server.ConsoleDefaults(),
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
		SidecarDirectors: []string{"http://127.0.0.1:8080"},
		SidecarAddr:      "127.0.0.1:9357",
		LogFormat:        "auto",
		LogLevel:         "info",
	}
}

// commandSet is the commands that read a setting.
type commandSet uint

const (
	byServe commandSet = 1 << iota
	byWork
	byDev
	byMigrate
	byKeys     // keys rotate, which makes keys as a worker does
	byOperator // commands on the database: keys, fleet, sessions, events, invariants, doctor
	byToken    // token mint
	byDoctor
	byProfiles // profiles, which are of a region of tickets
	byCheck    // profiles check, which needs no database
	byExplain  // explain, which decodes tickets
	byReplay   // replay, which reads tickets as workers record them
	byAgents   // agents key, whose keys are of a fleet
	byProviders
	byDeploy   // deployments start and env, which make keys and credentials of servers
	byProjects // projects, which make keys and tokens of the realtime lobby
	byApply    // apply, whose projects are in a region
	byRooms    // rooms, whose types decide what a change does
	bySidecar
	byHints // dev hints

	byServers = byServe | byDev
	byLoops   = byServe | byWork | byDev
	byCallers = byLoops | byProviders // what calls providers
	byAll     = byLoops | byMigrate | byKeys | byOperator
)

// The sections of the settings, in the order of docs/configuration.md.
const (
	sectionDatabase  = "Database"
	sectionListeners = "Listeners"
	sectionAuth      = "Authentication"
	sectionSessions  = "Instances, sessions and seats"
	sectionTokens    = "Tokens and keys"
	sectionOpenMatch = "Open Match"
	sectionRivalis   = "Rivalis orchestrator"
	sectionLoop      = "Matchmaking"
	sectionProvision = "Provisioning"
	sectionBevygap   = "bevygap"
	sectionRealtime  = "Realtime lobby"
	sectionConsole   = "Console"
	sectionSidecar   = "Sidecar"
	sectionLimits    = "Limits"
	sectionWorkers   = "Workers"
	sectionLogs      = "Logs and traces"
	sectionDev       = "Local development"
)

// settingsTable returns the table of all settings, each bound to its field of c.
func (c *Config) settingsTable() []setting {
	return slices.Concat(
		c.processSettings(),
		c.fleetSettings(),
		c.devSettings(),
		c.openMatchSettings(),
		c.orchestratorSettings(),
		c.loopSettings(),
		c.provisionSettings(),
		c.bevygapSettings(),
		c.realtimeSettings(),
		c.consoleSettings(),
		c.sidecarSettings(),
	)
}

// processSettings returns the settings of one process: its connections, listeners, authentication, logs and traces.
func (c *Config) processSettings() []setting {
	return []setting{
		{flag: "database-url", env: "DATABASE_URL", section: sectionDatabase, secret: true, start: true,
			commands: byAll,
			value:    databaseURL(&c.Database.URL),
			help: "Postgres 15 or newer, as a URL or key=value string. `director dev` starts a private one when it is " +
				"not set"},
		{flag: "database-url-direct", env: "DATABASE_URL_DIRECT", section: sectionDatabase, secret: true,
			commands: byMigrate | byServers | byDoctor,
			value:    databaseURL(&c.Database.DirectURL),
			help: "A connection that bypasses a transaction pooler, for migrations and for notifications from other " +
				"replicas, which need a session. Not set: DATABASE_URL"},
		{flag: "pooler", section: sectionDatabase, commands: byAll, value: poolerValue(&c.Database.Pooler),
			help: "Set pgbouncer behind a pooler that does not track prepared statements (before 1.21, or " +
				"max_prepared_statements=0)"},
		{flag: "max-conns", section: sectionDatabase, commands: byLoops,
			value: integerValue(&c.Database.MaxConns, 2, 1000),
			help: "Connections to the database per process; Open Match adds a quarter as many, plus one. Concurrent " +
				"calls share transactions, so few suffice"},
		{flag: "hold-timeout", section: sectionDatabase, commands: byLoops,
			value: durationValue(&c.Database.HoldTimeout, 500*time.Millisecond, time.Minute),
			help: "How long a process that stops in the middle of a transaction (suspended, disconnected) can block " +
				"others: Postgres then ends the transaction. The calls of a batch that takes longer get 503"},

		{flag: "addr", section: sectionListeners, start: true, commands: byServers, value: addressValue(&c.Server.Addr),
			help: "The address of the API. :8080 is port 8080 of all interfaces"},
		{flag: "metrics-addr", section: sectionListeners, start: true, commands: byLoops,
			value: addressValue(&c.Server.MetricsAddr),
			help: "The address of /metrics and /debug/pprof/. Not set: they are not served, except by `director dev` at " +
				"127.0.0.1:9090. Keep it private"},
		{flag: "tls-cert", section: sectionListeners, start: true, commands: byServers,
			value: textValue(&c.Server.TLSCert, "a PEM file"),
			help:  "The certificate chain; with tls-key it turns TLS on. Without both, put a TLS proxy in front"},
		{flag: "tls-key", section: sectionListeners, start: true, commands: byServers,
			value: textValue(&c.Server.TLSKey, "a PEM file"),
			help:  "The private key of the certificate"},
		{flag: "trusted-proxies", section: sectionListeners, start: true, commands: byServers,
			value: networksValue(&c.Server.TrustedProxies),
			help: "The proxies whose X-Forwarded-For is trusted. Set it to your load balancer's addresses; otherwise " +
				"all callers share the balancer's address"},
		{flag: "cors-origins", section: sectionListeners, commands: byServers,
			value: listValue(&c.Server.CORSOrigins, "origins such as https://play.example, or *"),
			help: "The origins of web pages that may call the player routes from a browser. Not set: none; `director " +
				"dev` allows port 5173 of its machine"},
		{flag: "drain-delay", section: sectionListeners, commands: byServers,
			value: durationValue(&c.Server.DrainDelay, 0, 10*time.Minute),
			help: "How long the replica continues to serve after SIGTERM while /readyz answers 503. Set it longer than " +
				"the load balancer needs to notice"},
		{flag: "shutdown-timeout", section: sectionListeners, commands: byServers,
			value: durationValue(&c.Server.ShutdownTimeout, time.Second, 10*time.Minute),
			help:  "How long calls in flight may take to finish after drain-delay"},

		{flag: "fleet-token", env: "DIRECTOR_FLEET_TOKEN",
			aliases: []string{"DIRECTOR_FLEET_TOKENS", "Fleet__Token", "Fleet:Token"}, section: sectionAuth,
			secret: true, start: true, commands: byServers,
			value: secretsValue(&c.Server.FleetTokens),
			help: "The secret that game servers share; several during a rotation. Not set: only game servers with a " +
				"credential of their own are served, those that the director starts and those that register by an " +
				"enrolment (`director enrolments create`)"},
		{flag: "allow-open-fleet", section: sectionAuth, start: true, commands: byServers,
			value: booleanValue(&c.Server.OpenFleet),
			help:  "Without a fleet token, anybody who reaches the API can register game servers"},
		{flag: "ops-tokens", section: sectionAuth, secret: true, start: true, commands: byServers,
			value: operatorTokens(&c.Server.OpsTokens),
			help: "The secrets with which operators log in to the console, and which they send as `authorization: " +
				"Bearer …` to /ops/. NAME=SECRET names whoever has one, for events; NAME:viewer=SECRET is for " +
				"somebody who may only read. Not set: /ops/ is not served, and nobody logs in to the console by token"},
		{flag: "backend-tokens", section: sectionAuth, secret: true, start: true, commands: byServers,
			value: backendTokens(&c.Server.BackendTokens),
			help: "The secrets that your own services send as `authorization: Bearer …` to /backend/, to say what profiles " +
				"take from nobody else, and to queue for players. NAME:players=SECRET and NAME:tickets=SECRET may do one " +
				"of the two, NAME=SECRET both; a name has several during a rotation. Not set: /backend/ is not served"},
		{flag: "open-parties", section: sectionAuth, commands: byServers, value: booleanValue(&c.Server.OpenParties),
			help: "Players may name anybody as a member of their party, as before: any client can then take others into " +
				"a match or a queue. Not set: only members of the same room of the realtime lobby, and those whom a " +
				"backend permits (`may_party_with`). `director dev` sets it"},
		{flag: "auth-jwks", aliases: []string{"Auth__Jwks", "Auth:Jwks"}, section: sectionAuth, start: true,
			commands: byServers,
			value:    keySet(&c.JWKS),
			help: "The keys that verify players' access tokens. A URL is cached and refreshed. `serve` does not start " +
				"without them, except when it serves Open Match, Rivalis, the realtime lobby or guests of bevygap: it " +
				"then does not serve players"},
		{flag: "auth-jwks-plain-http", section: sectionAuth, commands: byServers, value: booleanValue(&c.JWKSPlainHTTP),
			help: "Also accept an http URL for auth-jwks, for a trusted network"},
		{flag: "auth-issuer", section: sectionAuth, start: true, commands: byServers | byToken,
			value: lineValue(&c.Server.Access.Issuer),
			help:  "The required iss of access tokens. Not set: any"},
		{flag: "auth-audience", section: sectionAuth, start: true, commands: byServers | byToken,
			value: lineValue(&c.Server.Access.Audience),
			help:  "The required aud of access tokens. Not set: any"},

		{flag: "log-format", section: sectionLogs, commands: byLoops | byMigrate | bySidecar,
			value: choiceValue(&c.LogFormat, "auto", "text", "json"),
			help:  "The format of the log. auto is text on a terminal, otherwise json"},
		{flag: "log-level", upstream: translatedVariable("FLEET_LOG_LEVEL", levelOf), section: sectionLogs,
			commands: byLoops | byMigrate | bySidecar,
			value:    choiceValue(&c.LogLevel, "debug", "info", "warn", "error"),
			help:     "The lowest level that is logged"},
		{flag: "otel-exporter-otlp-endpoint", env: "OTEL_EXPORTER_OTLP_ENDPOINT", section: sectionLogs,
			commands: byLoops,
			value:    urlValue(&c.OTLPEndpoint),
			help: "The OTLP/HTTP endpoint for traces; setting it turns tracing on. OpenTelemetry's other OTEL_* " +
				"variables apply as well"},
	}
}

// fleetSettings returns the settings of leases, seats, tokens, keys and limits.
func (c *Config) fleetSettings() []setting {
	return []setting{
		{flag: "lease-ttl", section: sectionSessions, fleetWide: true, commands: byServers,
			value: durationValue(&c.Database.Timing.LeaseTTL, time.Second, time.Hour),
			help: "How long an instance counts as alive after a heartbeat. Game servers should send a heartbeat every " +
				"third of it: change their interval together with it"},
		{flag: "seat-ttl", section: sectionSessions, fleetWide: true, commands: byServers,
			value: durationValue(&c.Database.Timing.SeatTTL, time.Second, time.Hour),
			help:  "A reserved seat that is not resolved is freed after this time"},
		{flag: "unreported-seat-ttl", section: sectionSessions, fleetWide: true, commands: byServers,
			value: durationValue(&c.Database.Timing.UnreportedSeatTTL, time.Minute, 30*day),
			help:  "A resolved seat is freed after this time if the game server does not report seats"},
		{flag: "mode", env: modePrefix + "<MODE>", section: sectionSessions, commands: byServers,
			value: modeSizesValue(&c.Server.Modes),
			help: "The seats of a session of that mode when the request has no max_players; 8 without this setting. " +
				"DIRECTOR_MODE_DUEL=2 also applies to duel, DIRECTOR_MODE_FREE_FOR_ALL=16 also to free_for_all and " +
				"free-for-all. The flag is --mode duel=2,free-for-all=16"},

		{flag: "session-token-ttl", section: sectionTokens, fleetWide: true, commands: byLoops | byKeys,
			value: durationValue(&c.Database.Timing.TokenTTL, 5*time.Second, 10*time.Minute),
			help:  "How long a session token is valid"},
		{flag: "netcode-timeout", section: sectionTokens, fleetWide: true, commands: byServers,
			value: durationValue(&c.Database.Timing.NetcodeTimeout, time.Second, 5*time.Minute),
			help:  "Netcode servers and clients end a connection after this time without a packet"},
		{flag: "key-encryption-key", section: sectionTokens, secret: true, fleetWide: true, start: true,
			commands: byLoops | byKeys | byDeploy | byProjects,
			value:    keksValue(&c.KEKs),
			help: "Encrypts the private signing keys, the netcode keys and the secrets of projects' keys in the " +
				"database, and authenticates deployed servers. The first key encrypts, all of them decrypt. Required. " +
				"`openssl rand -base64 32` makes one"},
		{flag: "key-period", section: sectionTokens, fleetWide: true, commands: byLoops | byKeys,
			value: durationValue(&c.KeySchedule.KeyPeriod, time.Minute, 400*day),
			help:  "How long a signing key is used before the next one"},
		{flag: "jwks-max-age", section: sectionTokens, fleetWide: true, commands: byLoops | byKeys,
			value: durationValue(&c.KeySchedule.MaxAge, time.Second, day),
			help: "How long verifiers may cache /.well-known/jwks.json. A new key is published for longer than that " +
				"before its first signature"},
		{flag: "token-alg", section: sectionTokens, commands: byLoops | byKeys,
			value: choiceValue(&c.Worker.Alg, "EdDSA", "Ed25519"),
			help: "The alg of new keys and their tokens. Ed25519 is the fully specified name of RFC 9864: first check " +
				"that your game servers' JWT libraries support it"},

		{flag: "call-timeout", section: sectionLimits, commands: byServers,
			value: durationValue(&c.Server.CallTimeout, 50*time.Millisecond, time.Minute),
			help:  "A call that is not decided within this time gets 503"},
		{flag: "max-in-flight", section: sectionLimits, commands: byServers,
			value: integerValue(&c.Server.MaxInFlight, 1, 1_000_000),
			help: "The number of concurrent player calls in a replica, and separately of game server calls; further " +
				"calls get 503 at once"},
		{flag: "player-rate", section: sectionLimits, commands: byServers, value: perSecond(&c.Server.CallerRate),
			help: "A player's calls per second to a replica, on average. 0: no limit"},
		{flag: "failure-rate", section: sectionLimits, commands: byServers, value: perSecond(&c.Server.FailureRate),
			help: "Failed authentications per second from one address, on average. Successful ones do not count. 0: no " +
				"limit"},

		{flag: "work", section: sectionWorkers, start: true, commands: byServe, value: booleanValue(&c.RunsWorker),
			help: "`serve` also runs a worker, for small installations"},
		{flag: "webhook-hosts", section: sectionWorkers, fleetWide: true, commands: byLoops,
			value: listValue(&c.Worker.WebhookHosts, "hosts (*. for all below), addresses or CIDRs"),
			help: "The hosts of webhooks (`director webhooks`), judged by the address that a name resolves to right before " +
				"each connection. Loopback must be named; link-local addresses and metadata services of clouds are never " +
				"called. Not set: nothing is delivered"},
		{flag: "history-retention", section: sectionWorkers, commands: byLoops,
			value: durationValue(&c.Worker.Retention, day, 3650*day),
			help:  "How long history, events and expired keys are kept; whole days"},

		{flag: "pools", section: sectionDev, start: true, commands: byDev, value: textValue(&c.PoolsFile, "a file"),
			help: "A file of app versions and pools, which is applied at the start as `director pools apply` does"},
	}
}

// devSettings returns the settings of local development.
func (c *Config) devSettings() []setting {
	return []setting{
		{flag: "data", section: sectionDev, start: true,
			commands: byDev | byToken | byOperator | byMigrate | byProviders | byHints,
			value:    textValue(&c.DataDir, "a directory"),
			help: "The directory of `dev`'s Postgres and keys, where other commands find them. Not set: " +
				"/var/lib/director for root, else ~/.local/state/director (macOS: ~/Library/Application " +
				"Support/director)"},
		{flag: "issuer-key", section: sectionDev, commands: byToken,
			value: textValue(&c.IssuerKey, "a file with a private JWK"),
			help: "The key with which `token mint` and `director-bench --url` sign. Not set: issuer.jwk in the data " +
				"directory, which `dev` creates"},
	}
}
