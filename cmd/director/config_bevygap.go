package main

import (
	"errors"
	"time"

	"github.com/lattice-director/director/server/bevygap"
)

// bevygapConfig holds the settings of bevygap's clients.
type bevygapConfig struct {
	Bevygap, BevygapClientIP, BevygapDefault string
	BevygapWait                              time.Duration
	BevygapMaxWaiting, BevygapPerAddress     int
}

// bevygapSettings returns the settings of what bevygap's clients call.
func (c *Config) bevygapSettings() []setting {
	return []setting{
		{flag: "bevygap", section: sectionBevygap, def: "off", by: byServers, value: choice(&c.Bevygap, "off", "tokens", "guests"),
			help: "Whether clients of bevygap are served. tokens: they need an access token; guests: clients without one are new players, who can start servers that cost " +
				"money. `director dev` serves guests"},
		{flag: "bevygap-wait", section: sectionBevygap, def: "60s", by: byServers, value: duration(&c.BevygapWait, time.Second, 10*time.Minute),
			help: "How long a request waits for a server before it fails with code 408 or 409"},
		{flag: "bevygap-max-waiting", section: sectionBevygap, def: "10000", by: byServers, value: integer(&c.BevygapMaxWaiting, 1, 1_000_000),
			help: "The number of requests that wait in a replica; further ones fail with code 429. A request that waits takes about 75 KiB"},
		{flag: "bevygap-per-address", section: sectionBevygap, def: "8", by: byServers, value: integer(&c.BevygapPerAddress, 1, 1_000_000),
			help: "The number of requests of one IPv4 address or IPv6 /64 that wait in a replica, and of its guests in 30 s on average; further ones fail with code 429"},
		{flag: "bevygap-client-ip", section: sectionBevygap, def: "ignore", by: byServers, value: choice(&c.BevygapClientIP, "ignore", "trust"),
			help: "Whether a client's own client_ip chooses its region, as with bevygap. Limits count by the real address in any case"},
		{flag: "bevygap-default", section: sectionBevygap, by: byServers, value: gameVersion(&c.BevygapDefault),
			help: "The app version for POST /matchmaker/wannaplay, whose requests name none. Not set: that path answers 404"},
	}
}

// gameVersion is an app version as bevygap's clients name it.
func gameVersion(p *string) value {
	v := text(p, "GAME/VERSION, each 1 to 64 letters, digits, spaces, dots, underscores and hyphens")
	v.set = func(text string) error {
		*p = text
		_, _, err := bevygap.ParseDefault(text)
		return v.must(err == nil)
	}
	return v
}

// bevygapOptions returns nil if bevygap's clients are not served.
func (c *Config) bevygapOptions() *bevygap.Options {
	if c.Bevygap == "off" || c.Bevygap == "" {
		return nil
	}
	game, version, _ := bevygap.ParseDefault(c.BevygapDefault) // checked when it was set
	return &bevygap.Options{
		Guests: c.Bevygap == "guests", Wait: c.BevygapWait, MaxWaiting: c.BevygapMaxWaiting, PerAddress: c.BevygapPerAddress,
		TrustClientIP: c.BevygapClientIP == "trust", DefaultGame: game, DefaultVersion: version,
	}
}

// checkBevygap refuses to serve only players with access tokens that nothing can verify.
func (c *Config) checkBevygap() error {
	if c.Bevygap == "tokens" && c.JWKS == "" {
		return errors.New("DIRECTOR_BEVYGAP=tokens needs a key set to verify access tokens with: set DIRECTOR_AUTH_JWKS, or let guests play with DIRECTOR_BEVYGAP=guests")
	}
	return nil
}
