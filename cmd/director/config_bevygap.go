package main

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/internal/provisioning/serverenv"
	"github.com/lattice-director/director/server/bevygap"
	"github.com/lattice-director/director/server/bevygap/nats"
)

// bevygapSettings returns the settings of what bevygap's clients call.
func (c *Config) bevygapSettings() []setting {
	return inSection(sectionBevygap, byServers, []setting{
		{flag: "bevygap", start: true, value: choiceValue(&c.BevygapPlayers, bevygapOff, bevygapTokens, bevygapGuests),
			help: "Whether clients of bevygap are served. tokens: they need an access token; guests: clients without " +
				"one are new players, who can start servers that cost money. `director dev` serves guests"},
		// A measurement waits for longer, and a test that calls everything for less.
		{flag: "bevygap-wait", unlisted: true, value: durationValue(&c.Bevygap.WaitLimit, time.Second, 10*time.Minute),
			help: "How long a request waits for a server before it fails with code 408 or 409"},
		{flag: "bevygap-per-address", value: integerValue(&c.Bevygap.PerAddress, 1, 1_000_000),
			help: "The number of requests of one IPv4 address or IPv6 /64 that wait in a replica, and of its guests in " +
				"30 s on average; further ones fail with code 429. Raise it if many of your players share an address, as " +
				"behind a carrier's NAT"},
		{flag: "bevygap-client-ip", value: trustingValue(&c.Bevygap.TrustClientIP),
			help: "Whether a client's own client_ip chooses its region, as with bevygap. Limits count by the real " +
				"address in any case"},
		{flag: "bevygap-default", value: gameVersionValue(&c.Bevygap.DefaultGame, &c.Bevygap.DefaultVersion),
			help: "The app version for POST /matchmaker/wannaplay, whose requests name none. Not set: that path answers " +
				"404"},
		{flag: "bevygap-nats-addr", start: true, value: addressValue(&c.NATS.Addr),
			help: "The address for game servers with bevygap's plugin, which connect as to a NATS server. Not set: they are " +
				"not served, except by `director dev` at 127.0.0.1:4222"},
		{flag: "bevygap-nats-url", start: true, commands: byCallers | byDeploy, value: natsURLValue(&c.NATSURL),
			help: "Where the game servers of app versions with `compat: bevygap` reach this address, from wherever they " +
				"run. Required for them, except with process alone: its servers are on this machine"},
	})
}

// natsURLValue is the URL at which game servers with bevygap's plugin connect.
func natsURLValue(p *string) value {
	allowed := "nats://HOST:PORT, or tls://HOST:PORT where replicas have a certificate"
	return checkedText(p, "url", allowed, func(text string) bool {
		_, addr, _ := strings.Cut(text, "://")
		host, port, err := net.SplitHostPort(addr)
		portNumber, errPort := strconv.ParseUint(port, 10, 16)
		isURL := strings.HasPrefix(text, serverenv.PlainNATS) || strings.HasPrefix(text, serverenv.SecureNATS)
		// Neither a user nor a list of servers: clients of NATS take both, and here they have no effect.
		return isURL && err == nil && errPort == nil && portNumber > 0 && host != "" && !strings.ContainsAny(host, "/@ ,")
	})
}

// natsOptions returns the options of the listener for bevygap's plugin, or nil if the plugin is not served.
func (c *Config) natsOptions() *nats.Options {
	if c.NATS.Addr == "" {
		return nil
	}
	return &c.NATS
}

// trustingValue says whether the address that a client claims is believed.
func trustingValue(p *bool) value {
	return oneOf(p, word[bool]{"ignore", false}, word[bool]{"trust", true})
}

// gameVersionValue is an app version as bevygap's clients name it.
func gameVersionValue(game, version *string) value {
	v := value{kindName: "text", allowedText: "GAME/VERSION, each 1 to 64 letters, digits, spaces, dots, underscores and hyphens"}
	v.showText = func() string {
		if *game == "" {
			return ""
		}
		return *game + "/" + *version
	}
	v.setText = func(text string) (err error) {
		// Assigned also with an error: a refused value ends the command.
		*game, *version, err = bevygap.ParseDefault(text)
		return v.requireAllowed(err == nil)
	}
	return v
}

// bevygapRequestBytes is the approximate memory of a waiting request in a replica.
const bevygapRequestBytes = 75 << 10

// bevygapOptions returns nil if bevygap's clients are not served.
func (c *Config) bevygapOptions() *bevygap.Options {
	if c.BevygapPlayers == bevygapOff {
		return nil
	}
	o := c.Bevygap
	o.AllowsGuests = c.BevygapPlayers == bevygapGuests
	// At most 10,000 requests, and fewer in a small container.
	o.MaxWaiting = memoryShare(10_000*bevygapRequestBytes) / bevygapRequestBytes
	return &o
}

// checkBevygap refuses to serve only players with access tokens that nothing can verify.
func (c *Config) checkBevygap() error {
	if c.BevygapPlayers == bevygapTokens && c.JWKS == "" {
		return errors.New("DIRECTOR_BEVYGAP=tokens needs a key set to verify access tokens with: set " +
			"DIRECTOR_AUTH_JWKS, or let guests play with DIRECTOR_BEVYGAP=guests")
	}
	return nil
}
