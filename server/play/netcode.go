package play

import (
	"net/netip"
	"time"

	"github.com/lattice-director/director/internal/connect"
	"github.com/lattice-director/director/token/netcode"
)

// netcodeAnswer is what a client of a netcode server needs. It is not logged: the token admits its bearer.
type netcodeAnswer struct {
	Token      string          `json:"token"`            // standard base64
	ClientID   uint64          `json:"client_id,string"` // JSON numbers of JavaScript have 53 bits
	Dialect    netcode.Dialect `json:"dialect"`
	IP         netip.Addr      `json:"ip"`
	Port       uint16          `json:"port"`
	CertDigest *string         `json:"cert_digest"`
	ExpiresAt  time.Time       `json:"expires_at"`
}

// netcodeOf returns the field of an answer; nil for a server that takes no connect tokens.
func netcodeOf(t *connect.Ticket) *netcodeAnswer {
	if t == nil {
		return nil
	}
	answer := &netcodeAnswer{t.Token.Base64(), t.ClientID, t.Dialect, t.Addr.Addr(), t.Addr.Port(), nil,
		t.ExpiresAt.UTC()}
	if t.CertDigest != "" {
		answer.CertDigest = &t.CertDigest
	}
	return answer
}
