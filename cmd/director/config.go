package main

import (
	"slices"
	"time"
)

// Config is everything the program can be told. Defaults, limits and words for it are in [Config.settings], nowhere else.
type Config struct {
	DatabaseURL, DatabaseURLDirect string
	Pooler                         string
	MaxConns                       int
	HoldTimeout                    time.Duration
	GCPercent                      int

	Addr, MetricsAddr           string
	TLSCert, TLSKey             string
	TrustedProxies, CORSOrigins []string

	FleetTokens              []string
	AllowOpenFleet           bool
	JWKS                     string
	JWKSPlainHTTP            bool
	AuthIssuer, AuthAudience string

	LeaseTTL, SeatTTL, UnreportedSeatTTL time.Duration
	Modes                                modeSizes
	MaxReserved                          int

	SessionTokenTTL, KeyPeriod, JWKSMaxAge time.Duration
	TokenAlg                               string
	KEKs                                   [][]byte

	CallTimeout                time.Duration
	MaxInFlight                int
	PlayerRate, PlayerBurst    int
	FailureRate, FailureBurst  int
	DrainDelay, ShutdownBudget time.Duration

	Work                           bool
	ReapInterval, HistoryRetention time.Duration

	GRPCAddrs                                                    []string
	OMRegion, OMEvaluator, OMPlayerArg, OMClientCA, OMFunctionCA string
	OMRegistration, OMCollection                                 time.Duration
	OMPendingFor, OMAssignedFor                                  time.Duration
	OMPageSize, OMMaxTicket, OMMaxWatchers                       int
	OMQueryMemory, OMProposalMemory                              int
	OMFunctions, OMTokens, OMClients                             []string
	OMOpen                                                       bool

	LogFormat, LogLevel string
	OTLPEndpoint        string

	Data, IssuerKey string
}

// readers are the commands that read a setting.
type readers uint

const (
	byServe readers = 1 << iota
	byWork
	byDev
	byMigrate
	byKeys  // keys rotate, which makes keys as a worker does
	byLook  // what looks at the database and steers it: keys, fleet, sessions
	byToken // token mint
	byDoctor

	byServers = byServe | byDev
	byLoops   = byServe | byWork | byDev
	byAll     = byLoops | byMigrate | byKeys | byLook
)

// The sections of the settings, in the order of docs/configuration.md.
const (
	sectionDatabase  = "Database"
	sectionListeners = "Listeners"
	sectionCallers   = "Who may call"
	sectionSessions  = "Instances, sessions and seats"
	sectionTokens    = "Tokens and keys"
	sectionOpenMatch = "Open Match"
	sectionLimits    = "Limits"
	sectionWorkers   = "Workers"
	sectionWatching  = "Watching"
	sectionDev       = "On your own machine"
)

// settings is the table of all settings, each bound to its field of c. What is not there cannot be set.
func (c *Config) settings() []setting {
	return slices.Concat(c.wiring(), c.rules(), c.openMatch())
}

// wiring is how a process reaches others and is reached.
func (c *Config) wiring() []setting {
	return []setting{
		{flag: "database-url", env: "DATABASE_URL", section: sectionDatabase, secret: true, by: byAll, value: databaseURL(&c.DatabaseURL),
			help: "Postgres 15 or newer, as a URL or key=value string. `director dev` starts a private one when it is not set"},
		{flag: "database-url-direct", env: "DATABASE_URL_DIRECT", section: sectionDatabase, secret: true, by: byMigrate | byServers | byDoctor,
			value: databaseURL(&c.DatabaseURLDirect),
			help:  "The way around a transaction pooler, for migrations and for hearing what other replicas did, which need a session. Not set: DATABASE_URL"},
		{flag: "pooler", section: sectionDatabase, def: "none", by: byAll, value: choice(&c.Pooler, "none", "pgbouncer"),
			help: "pgbouncer behind a pooler that does not track prepared statements (before 1.21, or max_prepared_statements=0)"},
		{flag: "max-conns", section: sectionDatabase, def: "16", by: byLoops, value: integer(&c.MaxConns, 2, 1000),
			help: "Connections to the database per process; where Open Match is served a quarter as many besides, and one. Calls share transactions, so few carry many callers"},
		{flag: "hold-timeout", section: sectionDatabase, def: "2s", by: byLoops, value: duration(&c.HoldTimeout, 500*time.Millisecond, time.Minute),
			help: "How long a process that stopped in the middle of a transaction (frozen, cut off) may hold others up: Postgres ends the transaction by then. " +
				"Batches that take longer are answered 503"},

		{flag: "addr", section: sectionListeners, def: "127.0.0.1:8080", by: byServers, value: address(&c.Addr),
			help: "Where the API listens. :8080 is all interfaces"},
		{flag: "metrics-addr", section: sectionListeners, by: byLoops, value: address(&c.MetricsAddr),
			help: "Where /metrics and /debug/pprof/ listen. Not set: nowhere, but `director dev` takes 127.0.0.1:9090. Keep it private"},
		{flag: "tls-cert", section: sectionListeners, by: byServers, value: text(&c.TLSCert, "a PEM file"),
			help: "The certificate chain; with the key it turns TLS on. Without them put a proxy in front"},
		{flag: "tls-key", section: sectionListeners, by: byServers, value: text(&c.TLSKey, "a PEM file"),
			help: "The private key of the certificate"},
		{flag: "trusted-proxies", section: sectionListeners, by: byServers, value: networks(&c.TrustedProxies),
			help: "Whose X-Forwarded-For is believed. Set it to your balancer's, or every caller has the balancer's address"},
		{flag: "cors-origins", section: sectionListeners, by: byServers, value: list(&c.CORSOrigins, "origins such as https://play.example, or *"),
			help: "Whose pages may call the player routes from a browser"},
		{flag: "drain-delay", section: sectionListeners, def: "0s", by: byServers, value: duration(&c.DrainDelay, 0, 10*time.Minute),
			help: "After SIGTERM, how long to go on serving while /readyz says 503: longer than the balancer takes to notice"},
		{flag: "shutdown-timeout", section: sectionListeners, def: "20s", by: byServers, value: duration(&c.ShutdownBudget, time.Second, 10*time.Minute),
			help: "After that delay, how long calls under way may take to finish"},

		{flag: "fleet-token", env: "DIRECTOR_FLEET_TOKEN", aliases: []string{"DIRECTOR_FLEET_TOKENS", "Fleet__Token", "Fleet:Token"},
			section: sectionCallers, by: byServers, secret: true, value: secrets(&c.FleetTokens),
			help: "The secret that game servers show; several while it is changed. `serve` does not start without one, unless told so by the next " +
				"or because it serves Open Match: then game servers are not served"},
		{flag: "allow-open-fleet", section: sectionCallers, def: "false", by: byServers, value: boolean(&c.AllowOpenFleet),
			help: "Start without a fleet token: anybody who reaches the API may register game servers"},
		{flag: "auth-jwks", aliases: []string{"Auth__Jwks", "Auth:Jwks"}, section: sectionCallers, by: byServers,
			value: keySet(&c.JWKS),
			help: "The keys that players' access tokens are verified with. A URL is cached and refreshed. `serve` does not start without them, " +
				"unless it serves Open Match: then players are not served"},
		{flag: "auth-jwks-plain-http", section: sectionCallers, def: "false", by: byServers, value: boolean(&c.JWKSPlainHTTP),
			help: "Take the key set from an http URL too, where the network itself is trusted"},
		{flag: "auth-issuer", section: sectionCallers, by: byServers | byToken, value: text(&c.AuthIssuer, "text"),
			help: "The iss that access tokens must have. Not set: any"},
		{flag: "auth-audience", section: sectionCallers, by: byServers | byToken, value: text(&c.AuthAudience, "text"),
			help: "The aud that access tokens must have. Not set: any"},

		{flag: "log-format", section: sectionWatching, def: "auto", by: byLoops | byMigrate, value: choice(&c.LogFormat, "auto", "text", "json"),
			help: "auto is text on a terminal, else json"},
		{flag: "log-level", section: sectionWatching, def: "info", by: byLoops | byMigrate, value: choice(&c.LogLevel, "debug", "info", "warn", "error"),
			help: "The least that is logged"},
		{flag: "otel-exporter-otlp-endpoint", env: "OTEL_EXPORTER_OTLP_ENDPOINT", section: sectionWatching, by: byLoops,
			value: endpoint(&c.OTLPEndpoint),
			help:  "Where traces go, by OTLP over HTTP; turns tracing on. OpenTelemetry's other OTEL_* variables apply as well"},
	}
}

// rules are what the fleet lives by.
func (c *Config) rules() []setting {
	return []setting{
		{flag: "lease-ttl", section: sectionSessions, def: "15s", fleetWide: true, by: byServers, value: duration(&c.LeaseTTL, time.Second, time.Hour),
			help: "How long an instance counts as alive after a heartbeat. Game servers should beat every third of it: tell them when you change it"},
		{flag: "seat-ttl", section: sectionSessions, def: "60s", fleetWide: true, by: byServers, value: duration(&c.SeatTTL, time.Second, time.Hour),
			help: "A reserved seat that nobody resolves is freed after this"},
		{flag: "unreported-seat-ttl", section: sectionSessions, def: "2h", fleetWide: true, by: byServers,
			value: duration(&c.UnreportedSeatTTL, time.Minute, 30*day),
			help:  "How long a resolved seat is held where the game server reports no seats"},
		{flag: "mode", env: modePrefix + "<MODE>", section: sectionSessions, by: byServers, value: sizes(&c.Modes),
			help: "Seats of a session of that mode where the player names no max_players; else 8. DIRECTOR_MODE_DUEL=2 also counts for duel, " +
				"DIRECTOR_MODE_FREE_FOR_ALL=16 also for free_for_all and free-for-all. The flag is --mode duel=2,free-for-all=16"},
		{flag: "max-reserved", section: sectionSessions, def: "1024", by: byServers, value: integer(&c.MaxReserved, 1, 1_000_000),
			help: "Players that one caller may hold reserved in a region, not yet connected"},

		{flag: "session-token-ttl", section: sectionTokens, def: "2m", fleetWide: true, by: byLoops | byKeys,
			value: duration(&c.SessionTokenTTL, 5*time.Second, 10*time.Minute),
			help:  "How long a session token is valid"},
		{flag: "key-encryption-key", section: sectionTokens, fleetWide: true, secret: true, by: byLoops | byKeys, value: keks(&c.KEKs),
			help: "Seals the private signing keys in the database; the first seals, any opens. Required. `openssl rand -base64 32` makes one"},
		{flag: "key-period", section: sectionTokens, def: "24h", fleetWide: true, by: byLoops | byKeys, value: duration(&c.KeyPeriod, time.Minute, 400*day),
			help: "How long a key signs before the next one takes over"},
		{flag: "jwks-max-age", section: sectionTokens, def: "5m", fleetWide: true, by: byLoops | byKeys, value: duration(&c.JWKSMaxAge, time.Second, day),
			help: "How long verifiers may keep /.well-known/jwks.json. A new key is published for longer than that before it signs"},
		{flag: "token-alg", section: sectionTokens, def: "EdDSA", by: byLoops | byKeys, value: choice(&c.TokenAlg, "EdDSA", "Ed25519"),
			help: "The alg of new keys and their tokens. Ed25519 is the fully specified name of RFC 9864: ask your game servers' JWT libraries first"},

		{flag: "call-timeout", section: sectionLimits, def: "900ms", by: byServers, value: duration(&c.CallTimeout, 50*time.Millisecond, time.Minute),
			help: "A call that is not decided by then is answered 503"},
		{flag: "max-in-flight", section: sectionLimits, def: "512", by: byServers, value: integer(&c.MaxInFlight, 1, 1_000_000),
			help: "Calls of players at a time in a replica, and as many of game servers; more are answered 503 at once"},
		{flag: "player-rate", section: sectionLimits, def: "20", by: byServers, value: integer(&c.PlayerRate, 0, 1_000_000),
			help: "Calls a second that a player may make of a replica, in the long run. 0: no limit"},
		{flag: "player-burst", section: sectionLimits, def: "60", by: byServers, value: integer(&c.PlayerBurst, 1, 1_000_000),
			help: "Calls that a player may make at once"},
		{flag: "failure-rate", section: sectionLimits, def: "5", by: byServers, value: integer(&c.FailureRate, 0, 1_000_000),
			help: "Failed authentications a second from one address, in the long run. Callers with good credentials are not counted. 0: no limit"},
		{flag: "failure-burst", section: sectionLimits, def: "50", by: byServers, value: integer(&c.FailureBurst, 1, 1_000_000),
			help: "Failed authentications at once from one address"},
		{flag: "gogc", env: "GOGC", section: sectionLimits, def: "200", by: byLoops, value: gcPercent(&c.GCPercent),
			help: "Garbage is collected once there is so much of it, in per cent of the memory in use; sooner near the container's limit of memory, " +
				"or near GOMEMLIMIT. More takes less CPU"},

		{flag: "work", section: sectionWorkers, def: "false", by: byServe, value: boolean(&c.Work),
			help: "`serve` runs a worker too, for small installations"},
		{flag: "reap-interval", section: sectionWorkers, def: "1s", by: byLoops, value: duration(&c.ReapInterval, 10*time.Millisecond, time.Hour),
			help: "How often a worker looks for expired instances and seats. Correctness does not hang on it: every call checks the lease itself"},
		{flag: "history-retention", section: sectionWorkers, def: "720h", by: byLoops, value: duration(&c.HistoryRetention, day, 3650*day),
			help: "How long history, events and expired keys are kept, in whole days"},

		{flag: "data", section: sectionDev, by: byDev | byToken | byLook | byMigrate, value: text(&c.Data, "a directory"),
			help: "Where `dev` keeps its Postgres and its keys, and other commands find them. Not set: /var/lib/director for root, else ~/.local/state/director " +
				"(macOS: ~/Library/Application Support/director)"},
		{flag: "issuer-key", section: sectionDev, by: byToken, value: text(&c.IssuerKey, "a file with a private JWK"),
			help: "What `token mint` signs with, and `director-bench --url`. Not set: issuer.jwk in the data directory, which `dev` makes"},
	}
}
