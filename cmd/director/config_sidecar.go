package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/sdk"
)

// sidecarSettings returns the settings of the sidecar. The game server itself may also say what describes it.
func (c *Config) sidecarSettings() []setting {
	return inSection(sectionSidecar, bySidecar, []setting{
		{flag: "sidecar-director", aliases: []string{"DIRECTOR_URL"},
			value: listValue(&c.SidecarDirectors, "URLs such as https://director.example"),
			help:  "The URLs of the director's replicas"},
		{flag: "sidecar-fleet-token", aliases: []string{"FLEET_TOKEN"}, secret: true,
			value: secretValue(&c.GameServer.FleetToken),
			help: "The token of an enrolment, with which the game server gets a credential of its own, or the secret that " +
				"game servers share. Give it in the environment: all users of the machine can read a command line"},
		{flag: "sidecar-addr", value: addressValue(&c.SidecarAddr),
			help: "The loopback address at which the game server calls the sidecar over HTTP"},
		{flag: "sidecar-lines-addr", value: addressValue(&c.SidecarLinesAddr),
			help: "The loopback address at which the game server sends lines of text over TCP, such as 127.0.0.1:9358. " +
				"Not set: only HTTP is served"},
		{flag: "sidecar-instance-id", value: textValue(&c.GameServer.InstanceID, "text"),
			help: "The name of the game server, unique in the fleet. Not set: the name of the host, which is the pod's " +
				"in Kubernetes"},
		{flag: "sidecar-endpoint", value: dialledValue(&c.GameServer.Endpoint),
			help: "The address at which players connect to the game server"},
		{flag: "sidecar-region", value: gameRegionValue(&c.GameServer.Region), help: "The region of the game server"},
		{flag: "sidecar-modes", value: listValue(&c.GameServer.Modes, "names of modes"),
			help: "The modes that the game server offers"},
		{flag: "sidecar-capacity", value: integerValue(&c.GameServer.Capacity, 0, 1_000_000),
			help: "The number of players on the game server, over all sessions. 0: the game server says it"},
		{flag: "sidecar-max-sessions", value: integerValue(&c.GameServer.MaxSessions, 0, 1_000_000),
			help: "The number of sessions on the game server. 0: no limit"},
		{flag: "sidecar-heartbeat",
			value: durationValue(&c.GameServer.HeartbeatEvery, 100*time.Millisecond, time.Minute),
			help:  "The pause between heartbeats to the director: a third of its lease"},
		{flag: "sidecar-health-within", value: durationValue(&c.Sidecar.HealthWithin, 0, time.Hour),
			help: "How long the game server may say nothing to the sidecar, once it is ready. Then it is taken for " +
				"frozen, and its registration ends. 0s: for ever"},
		{flag: "sidecar-grace", value: durationValue(&c.Sidecar.ShutdownGrace, 0, day),
			help: "How long players may play on after SIGTERM, or after a shutdown that says no time of its own"},
	})
}

// gameServer returns what is known of the game server, its director, and whether the director has started it.
func (c *Config) gameServer(environ []string) (o sdk.ServerOptions, urls []string, deployed bool, err error) {
	d, deployed, err := sdk.Deployed(environ)
	switch {
	case err != nil:
		return o, nil, false, err
	case deployed:
		// What its deployment says wins: the director refuses another region or capacity.
		o, urls = d.Server, d.URLs
		// A deployment says neither of these two.
		o.MaxSessions, o.HeartbeatEvery = c.GameServer.MaxSessions, c.GameServer.HeartbeatEvery
	default:
		o, urls = c.GameServer, c.SidecarDirectors
	}
	if o.InstanceID == "" {
		o.InstanceID, _ = os.Hostname() // without a name, the game server has to say one
	}
	return o, urls, deployed, nil
}

// checkSidecar refuses addresses that others can reach: the sidecar trusts its callers.
func (c *Config) checkSidecar() error {
	for _, listener := range []struct{ flag, addr string }{
		{"sidecar-addr", c.SidecarAddr}, {"sidecar-lines-addr", c.SidecarLinesAddr},
	} {
		if listener.addr != "" && !isLoopback(listener.addr) {
			return cli.Usage(fmt.Errorf("--%s %s is not allowed: the sidecar has no authentication, so it must be an "+
				"address of this machine, such as 127.0.0.1:9357", listener.flag, listener.addr))
		}
	}
	return nil
}

// isLoopback knows localhost without a lookup. Other names are refused: what they resolve to may change.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip, notIP := netip.ParseAddr(host)
	return err == nil && (host == "localhost" || notIP == nil && ip.IsLoopback())
}
