package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/token/netcode"
)

// inspectedNetcode is the output of `token inspect` for a netcode connect token: its public part, without keys.
type inspectedNetcode struct {
	ProtocolID uint64     `json:"protocol_id,string"`
	Created    time.Time  `json:"created"`
	Expires    *time.Time `json:"expires"` // null is never
	Timeout    float64    `json:"timeout_s"`
	Expired    bool       `json:"expired"`
	// Dials is what a client of each dialect that can read the token dials. The two little-endian dialects look the
	// same in a token.
	Dials map[netcode.Dialect][]netip.AddrPort `json:"dials"`
}

// decodeNetcode returns the public part of a netcode token; false means that raw is none.
func decodeNetcode(raw string, now time.Time) (i inspectedNetcode, ok bool) {
	bytes, err := base64.StdEncoding.DecodeString(raw)
	if err != nil {
		return i, false
	}
	i.Dials = map[netcode.Dialect][]netip.AddrPort{}
	for _, d := range netcode.Dialects() {
		// Every dialect is tried: a token does not say which it is.
		p, err := netcode.Parse(bytes, d)
		if err != nil {
			continue // a token of another dialect
		}
		i.ProtocolID, i.Created, i.Timeout, i.Dials[d] = p.ProtocolID, p.Created.UTC(), p.Timeout.Seconds(), p.Addrs
		if !p.Expires.IsZero() {
			expires := p.Expires.UTC()
			i.Expires, i.Expired = &expires, !now.Before(expires)
		}
	}
	return i, len(i.Dials) > 0
}

// writeVerdict prints the token. It returns an error for an expired one.
func (i inspectedNetcode) writeVerdict(out cli.Output, now time.Time) error {
	if out.JSON {
		if err := cli.WriteJSON(out.Writer, i); err != nil {
			return err
		}
	} else {
		i.writeText(out.Writer)
	}
	if i.Expired {
		return fmt.Errorf("%w: it expired %s ago: the player resolves again", errTokenRefused,
			briefDuration(now.Sub(*i.Expires).Round(time.Second)))
	}
	return nil
}

func (i inspectedNetcode) writeText(to io.Writer) {
	expires := "never"
	if i.Expires != nil {
		expires = i.Expires.Format(time.RFC3339)
	}
	fmt.Fprintf(to, "a netcode connect token: only a game server that holds the key of its deployment can verify it\n\n")
	for _, line := range []struct {
		name  string
		value any
	}{
		{"protocol_id", i.ProtocolID}, {"created", i.Created.Format(time.RFC3339)}, {"expires", expires},
		{"timeout", time.Duration(i.Timeout * float64(time.Second))},
	} {
		fmt.Fprintf(to, "  %-12s %v\n", line.name, line.value)
	}
	for _, d := range slices.Sorted(maps.Keys(i.Dials)) {
		fmt.Fprintf(to, "  %-12s %v, if the game's dialect is %s\n", "dials", i.Dials[d], d)
	}
}
