package main

import (
	"cmp"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/lattice-director/director/server"
)

// orchestratorSettings returns the settings of the orchestrator of Rivalis game servers. They can also be set by the
// names of upstream's orchestrator.
func (c *Config) orchestratorSettings() []setting {
	return inSection(sectionRivalis, byServers, []setting{
		{flag: "orchestrator-addr", upstream: upstream{[]string{"FLEET_HOST", "FLEET_PORT"}, upstreamAddr},
			start: true,
			value: addressValue(&c.Orchestrator.Options.Addr),
			help: "The address for Rivalis agents, their REST and SSE. FLEET_HOST and FLEET_PORT default to 0.0.0.0 and " +
				"7350 if the other one is set. Not set: Rivalis is not served, except by `director dev` at " +
				"127.0.0.1:7350"},
		{flag: "orchestrator-agent-keys", aliases: []string{"FLEET_AGENT_KEY"}, secret: true, start: true,
			value: agentKeysValue(&c.Orchestrator.Options.AgentKeys),
			help: "The keys that agents connect with, in addition to those of `director agents key create`; several " +
				"during a rotation"},
		{flag: "orchestrator-admin-keys", aliases: []string{"FLEET_ADMIN_KEY"}, secret: true, start: true,
			value: secretsValue(&c.Orchestrator.AdminKeys),
			help:  "The keys of callers of the REST API, sent as `authorization: Bearer …`. Required with an address"},
		{flag: "orchestrator-heartbeat", upstream: translatedVariable("FLEET_HEARTBEAT_MS", withMilliseconds),
			fleetWide: true,
			value:     durationValue(&c.Orchestrator.Options.Heartbeat, 20*time.Millisecond, time.Hour),
			help: "How often an agent is polled. After two polls without a reply it is stale, after three it is " +
				"disconnected. FLEET_HEARTBEAT_MS is in milliseconds"},
		{flag: "orchestrator-cors-origins", aliases: []string{"FLEET_CORS_ORIGINS"},
			value: listValue(&c.Orchestrator.CORSOrigins, "origins such as https://ops.example, or *"),
			help:  "The origins of web pages that may call this API from a browser"},
		{flag: "orchestrator-sse-query-auth", aliases: []string{"FLEET_SSE_QUERY_AUTH"},
			value: booleanValue(&c.Orchestrator.SSEQueryAuth),
			help:  "Accept ?key= on GET /v1/events, for browsers' EventSource. Proxies may then log the key"},
		{flag: "orchestrator-region", commands: byServers | byAgents, value: gameRegionValue(&c.Orchestrator.Options.Region),
			help: "The region of the fleet. Replicas with the same region act as one orchestrator"},
	})
}

// upstreamAddr makes an address of upstream's two variables, with upstream's defaults for the one that is not set. If
// none is set, Rivalis is not served.
func upstreamAddr(environ environment) (text, name string) {
	host, hasHost := environ.lookup("FLEET_HOST")
	port, hasPort := environ.lookup("FLEET_PORT")
	switch {
	case hasHost:
		name = "FLEET_HOST" // the source that --print-config shows
	case hasPort:
		name = "FLEET_PORT"
	default:
		return "", ""
	}
	return net.JoinHostPort(cmp.Or(host, "0.0.0.0"), cmp.Or(port, "7350")), name
}

// withMilliseconds adds the unit to upstream's durations, which have none: "5000" becomes "5000ms".
func withMilliseconds(text string) string { return text + "ms" }

// levelOf converts upstream's log level to the director's, which has no trace.
func levelOf(text string) string {
	if text == "trace" {
		return "debug"
	}
	return text
}

// orchestratorOptions returns nil if Rivalis is not served.
func (c *Config) orchestratorOptions() *server.Orchestrator {
	if c.Orchestrator.Options.Addr == "" {
		return nil
	}
	return &c.Orchestrator
}

// checkOrchestrator refuses settings that would give callers access by mistake. Its errors never contain a key.
func (c *Config) checkOrchestrator() error {
	if slices.ContainsFunc(c.Orchestrator.Options.AgentKeys,
		func(key string) bool { return slices.Contains(c.Orchestrator.AdminKeys, key) }) {
		return errors.New("a key is both in DIRECTOR_ORCHESTRATOR_AGENT_KEYS and in " +
			"DIRECTOR_ORCHESTRATOR_ADMIN_KEYS: game servers must not be able to command others")
	}
	// Without keys, its callers could command every game server.
	if c.Orchestrator.Options.Addr != "" && len(c.Orchestrator.AdminKeys) == 0 {
		return errors.New("the API for Rivalis has no keys: set DIRECTOR_ORCHESTRATOR_ADMIN_KEYS ('openssl rand -hex " +
			"24' makes one)")
	}
	return nil
}
