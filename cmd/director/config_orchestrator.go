package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/orchestrator"
)

// orchestratorSettings returns the settings of the orchestrator of Rivalis game servers. They can also be set by the names of upstream's
// orchestrator.
func (c *Config) orchestratorSettings() []setting {
	return []setting{
		{flag: "orchestrator-addr", upstream: upstream{[]string{"FLEET_HOST", "FLEET_PORT"}, upstreamAddr}, section: sectionRivalis, by: byServers,
			value: address(&c.OrchestratorAddr),
			help: "The address for Rivalis agents, their REST and SSE. FLEET_HOST and FLEET_PORT default to 0.0.0.0 and 7350 if the other one is set. " +
				"Not set: Rivalis is not served, except by `director dev` at 127.0.0.1:7350"},
		{flag: "orchestrator-agent-keys", aliases: []string{"FLEET_AGENT_KEY"}, section: sectionRivalis, by: byServers, secret: true,
			value: agentKeys(&c.OrchestratorAgentKeys),
			help:  "The keys that agents connect with, in addition to those of `director agents key create`; several during a rotation"},
		{flag: "orchestrator-admin-keys", aliases: []string{"FLEET_ADMIN_KEY"}, section: sectionRivalis, by: byServers, secret: true,
			value: secrets(&c.OrchestratorAdminKeys),
			help:  "The keys of callers of the REST API, sent as `authorization: Bearer …`. Required with an address, unless the API is off"},
		{flag: "orchestrator-heartbeat", upstream: translated("FLEET_HEARTBEAT_MS", withMilliseconds), section: sectionRivalis, def: "5s", fleetWide: true, by: byServers,
			value: duration(&c.OrchestratorHeartbeat, 20*time.Millisecond, time.Hour),
			help:  "How often an agent is polled. After two polls without a reply it is stale, after three it is disconnected. FLEET_HEARTBEAT_MS is in milliseconds"},
		{flag: "orchestrator-command-timeout", upstream: translated("FLEET_COMMAND_TIMEOUT_MS", withMilliseconds), section: sectionRivalis, def: "10s", fleetWide: true,
			by: byServers, value: duration(&c.OrchestratorCommandTimeout, 20*time.Millisecond, time.Hour),
			help: "The time in which an agent must acknowledge a command. FLEET_COMMAND_TIMEOUT_MS is in milliseconds"},
		{flag: "orchestrator-cors-origins", aliases: []string{"FLEET_CORS_ORIGINS"}, section: sectionRivalis, by: byServers,
			value: list(&c.OrchestratorCORSOrigins, "origins such as https://ops.example, or *"),
			help:  "The origins of web pages that may call this API from a browser"},
		{flag: "orchestrator-sse-query-auth", aliases: []string{"FLEET_SSE_QUERY_AUTH"}, section: sectionRivalis, def: "false", by: byServers,
			value: boolean(&c.OrchestratorSSEQueryAuth),
			help:  "Accept ?key= on GET /v1/events, for browsers' EventSource. Proxies may then log the key"},
		{flag: "orchestrator-trust-any-proxy", aliases: []string{"FLEET_TRUST_PROXY"}, section: sectionRivalis, def: "false", by: byServers,
			value: boolean(&c.OrchestratorTrustAnyProxy),
			help: "Trust X-Forwarded-For of every request to this address: its left-most entry is the caller. It has no effect with DIRECTOR_TRUSTED_PROXIES, " +
				"which is safer, because callers can choose the left-most entry"},
		{flag: "orchestrator-api", section: sectionRivalis, def: "true", by: byServers, value: boolean(&c.OrchestratorAPI),
			help: "Serve REST and SSE in addition to the agents. /healthz and /readyz are always served"},
		{flag: "orchestrator-region", section: sectionRivalis, def: "global", by: byServers | byAgents, value: gameRegion(&c.OrchestratorRegion),
			help: "The region of the fleet. Replicas with the same region act as one orchestrator"},
		{flag: "orchestrator-max-agents", section: sectionRivalis, def: "20000", by: byServers, value: integer(&c.OrchestratorMaxAgents, 1, 1_000_000),
			help: "The maximum number of agents connected to a replica; further agents get 503 and retry"},
		{flag: "orchestrator-max-streams", section: sectionRivalis, def: "100", by: byServers, value: integer(&c.OrchestratorMaxStreams, 1, 100_000),
			help: "The maximum number of streams of GET /v1/events in a replica; further ones get 429"},
	}
}

func upstreamAddr(environ environment) (text, name string) {
	host, hasHost := environ.lookup("FLEET_HOST")
	port, hasPort := environ.lookup("FLEET_PORT")
	switch {
	case hasHost:
		name = "FLEET_HOST"
	case hasPort:
		name = "FLEET_PORT"
	default:
		return "", ""
	}
	return net.JoinHostPort(cmp.Or(host, "0.0.0.0"), cmp.Or(port, "7350")), name
}

// withMilliseconds adds the unit to upstream's durations, which have none: "5000" becomes "5000ms".
func withMilliseconds(text string) string { return text + "ms" }

// levelOf converts upstream's log level to the director's name for it.
func levelOf(text string) string {
	if text == "trace" {
		return "debug"
	}
	return text
}

// orchestratorOptions returns nil if Rivalis is not served.
func (c *Config) orchestratorOptions() *server.Orchestrator {
	if c.OrchestratorAddr == "" {
		return nil
	}
	proxies := c.TrustedProxies
	if len(proxies) == 0 && c.OrchestratorTrustAnyProxy {
		proxies = []string{"0.0.0.0/0", "::/0"}
	}
	return &server.Orchestrator{
		Options: orchestrator.Options{
			Addr: c.OrchestratorAddr, Region: c.OrchestratorRegion, AgentKeys: c.OrchestratorAgentKeys, Heartbeat: c.OrchestratorHeartbeat,
			MaxAgents: c.OrchestratorMaxAgents, TrustedProxies: proxies,
		},
		AdminKeys: c.OrchestratorAdminKeys, CommandTimeout: c.OrchestratorCommandTimeout, CORSOrigins: c.OrchestratorCORSOrigins,
		SSEQueryAuth: c.OrchestratorSSEQueryAuth, NoAPI: !c.OrchestratorAPI, MaxStreams: c.OrchestratorMaxStreams,
	}
}

// checkOrchestrator refuses settings that would give callers access by mistake. Its errors never contain a key.
func (c *Config) checkOrchestrator() error {
	if slices.ContainsFunc(c.OrchestratorAgentKeys, func(key string) bool { return slices.Contains(c.OrchestratorAdminKeys, key) }) {
		return errors.New("a key is both in DIRECTOR_ORCHESTRATOR_AGENT_KEYS and in DIRECTOR_ORCHESTRATOR_ADMIN_KEYS: game servers must not be able to command others")
	}
	if c.OrchestratorAddr != "" && c.OrchestratorAPI && len(c.OrchestratorAdminKeys) == 0 {
		return errors.New("the API for Rivalis has no keys: set DIRECTOR_ORCHESTRATOR_ADMIN_KEYS ('openssl rand -hex 24' makes one), " +
			"or turn the API off with --orchestrator-api=false")
	}
	return nil
}

// warnOrchestrator logs settings of the orchestrator that may be mistakes.
func (c *Config) warnOrchestrator(ctx context.Context, log *slog.Logger) {
	if c.OrchestratorAddr == "" && len(c.OrchestratorAgentKeys)+len(c.OrchestratorAdminKeys) > 0 {
		log.LogAttrs(ctx, slog.LevelWarn, "Rivalis is not served: DIRECTOR_ORCHESTRATOR_ADDR is not set")
	}
	for _, of := range []struct {
		name string
		keys []string
	}{{"DIRECTOR_ORCHESTRATOR_AGENT_KEYS", c.OrchestratorAgentKeys}, {"DIRECTOR_ORCHESTRATOR_ADMIN_KEYS", c.OrchestratorAdminKeys}} {
		if slices.ContainsFunc(of.keys, func(key string) bool { return len(key) < orchestrator.GoodKeyBytes }) {
			log.LogAttrs(ctx, slog.LevelWarn, "a key has fewer than 32 characters: 'openssl rand -hex 24' makes a better one", slog.String("setting", of.name))
		}
	}
}
