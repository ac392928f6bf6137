package main

import "time"

// processSettings returns the settings of one process: its connections, listeners, authentication, logs and traces.
func (c *Config) processSettings() []setting {
	return []setting{
		{flag: "database-url", env: "DATABASE_URL", section: sectionDatabase, secret: true, start: true,
			commands: byAll,
			value:    databaseURLValue(&c.Database.URL),
			help: "Postgres 15 or newer, as a URL or key=value string. `director dev` starts a private one when it is " +
				"not set"},
		// Of what needs a session of its own: the migrations' lock, LISTEN and replication. Doctor asks whether it is
		// set.
		{flag: "database-url-direct", env: "DATABASE_URL_DIRECT", section: sectionDatabase, secret: true,
			commands: byMigrate | byLoops | byDoctor | byMove,
			value:    databaseURLValue(&c.Database.DirectURL),
			help: "A connection that bypasses a transaction pooler, for migrations, for notifications from other " +
				"processes, which need a session, and for moves of regions, which replicate. Not set: DATABASE_URL"},
		{flag: "pooler", section: sectionDatabase, commands: byAll, value: poolerValue(&c.Database.Pooler),
			help: "Set pgbouncer behind a pooler that does not track prepared statements (before 1.21, or " +
				"max_prepared_statements=0)"},
		{flag: "max-conns", section: sectionDatabase, commands: byLoops,
			value: integerValue(&c.Database.MaxConns, 2, 1000),
			help: "Connections to the database per process; Open Match adds a quarter as many, plus one. Concurrent " +
				"calls share transactions, so few suffice"},
		// 500 ms at least: half of it must be more than db.Config.LockWait, 200 ms.
		{flag: "hold-timeout", section: sectionDatabase, commands: byLoops,
			value: durationValue(&c.Database.HoldTimeout, 500*time.Millisecond, time.Minute),
			help: "How long a process that stops in the middle of a transaction (suspended, disconnected) can block " +
				"others: Postgres then ends the transaction. The calls of a batch that takes longer get 503"},

		{flag: "addr", section: sectionListeners, start: true, commands: byServers, value: addressValue(&c.Server.Addr),
			help: "The address of the API. :8080 is port 8080 of all interfaces"},
		// Of workers as well: it is the only listener that they have.
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
			value: operatorTokensValue(&c.Server.OpsTokens),
			help: "The secrets with which operators log in to the console, and which they send as `authorization: " +
				"Bearer …` to /ops/. NAME=SECRET names whoever has one, for events; NAME:viewer=SECRET is for " +
				"somebody who may only read. Not set: /ops/ is not served, and nobody logs in to the console by token"},
		{flag: "backend-tokens", section: sectionAuth, secret: true, start: true, commands: byServers,
			value: backendTokensValue(&c.Server.BackendTokens),
			help: "The secrets that your own services send as `authorization: Bearer …` to /backend/, to say what profiles " +
				"take from nobody else, and to queue for players. NAME:players=SECRET and NAME:tickets=SECRET may do one " +
				"of the two, NAME=SECRET both; a name has several during a rotation. Not set: /backend/ is not served"},
		{flag: "open-parties", section: sectionAuth, commands: byServers, value: booleanValue(&c.Server.OpenParties),
			help: "Players may name anybody as a member of their party, as before: any client can then take others into " +
				"a match or a queue. Not set: only members of the same room of the realtime lobby, and those whom a " +
				"backend permits (`may_party_with`). `director dev` sets it"},
		{flag: "auth-jwks", aliases: []string{"Auth__Jwks", "Auth:Jwks"}, section: sectionAuth, start: true,
			commands: byServers,
			value:    keySetValue(&c.JWKS),
			help: "The keys that verify players' access tokens. A URL is cached and refreshed. `serve` does not start " +
				"without them, except when it serves Open Match, Rivalis, the realtime lobby or guests of bevygap: it " +
				"then does not serve players"},
		{flag: "auth-jwks-plain-http", section: sectionAuth, commands: byServers, value: booleanValue(&c.JWKSPlainHTTP),
			help: "Also accept an http URL for auth-jwks, for a trusted network"},
		// Also of `token mint`, as the next one: it makes tokens that the replica with these settings accepts.
		{flag: "auth-issuer", section: sectionAuth, start: true, commands: byServers | byToken,
			value: lineValue(&c.Server.Access.Issuer),
			help:  "The required iss of access tokens. Not set: any"},
		{flag: "auth-audience", section: sectionAuth, start: true, commands: byServers | byToken,
			value: lineValue(&c.Server.Access.Audience),
			help:  "The required aud of access tokens. Not set: any"},

		{flag: "log-format", section: sectionLogs, commands: byLoops | byMigrate | bySidecar,
			value: choiceValue(&c.LogFormat, "auto", "text", "json"),
			help:  "The format of the log. auto is text on a terminal, otherwise json"},
		// FLEET_LOG_LEVEL also sets the level of a process that serves no Rivalis, unless DIRECTOR_LOG_LEVEL does.
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
