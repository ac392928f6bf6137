// Package connect makes the netcode connect tokens of players whose seats db has resolved. It owns the unsealed keys of
// deployments, in memory, and nothing else: db stores the client id of a token before the token exists, and package
// token/netcode knows the format.
package connect

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/token"
	"github.com/lattice-director/director/token/netcode"
)

// Ticket is a connect token, and what a client needs to know beside it.
type Ticket struct {
	Token      netcode.Token
	ClientID   uint64
	Dialect    netcode.Dialect
	Addr       netip.AddrPort // that the client dials
	CertDigest string         // of the server's certificate, in lower-case hex with colons; empty: it has reported none
	ExpiresAt  time.Time
}

// Minter mints connect tokens. Make one with [New]; it is safe for concurrent use. A nil Minter mints none.
type Minter struct {
	sealer              *token.Sealer
	mintersByDeployment cache
}

// New returns a minter that opens the keys of deployments with the sealer's key-encryption keys.
func New(sealer *token.Sealer) *Minter { return &Minter{sealer: sealer} }

// Ticket mints the token of a resolved seat. Call it once for each call of [db.Store.Resolve]: a client id belongs to
// one token. The result is nil where the session's server takes no connect tokens. Errors: fault.Unavailable when the
// deployment's key does not open here: workers replace such deployments, so that a later match succeeds.
func (m *Minter) Ticket(r db.Resolved) (*Ticket, error) {
	seat := r.NetcodeSeat
	if seat == nil || m == nil {
		return nil, nil //nolint:nilnil // most seats have no connect token, which is no error
	}
	minter, err := m.minterFor(r.Region, seat)
	if err != nil {
		return nil, &fault.Error{
			Kind: fault.Unavailable, Code: "unavailable",
			Detail: "no connect token can be made for this session's server now", RetryAfter: time.Second, Err: err,
		}
	}
	minted, err := minter.Mint(netcode.Claims{
		Public: netcode.Public{
			ProtocolID: seat.ProtocolID, Created: seat.IssuedAt, Expires: seat.ExpiresAt,
			Timeout: seat.ConnectionTimeout,
			Addrs:   []netip.AddrPort{seat.ServerAddr},
		},
		ClientID: seat.ClientID, Private: netcode.PrivateList(seat.ServerAddr, seat.InternalPort),
		UserData: userData(r.Region, seat.SessionID, seat.DeploymentID),
	})
	if err != nil {
		return nil, fmt.Errorf("connect token for a server at %s: %w", seat.ServerAddr, err)
	}
	return &Ticket{minted, seat.ClientID, seat.Dialect, seat.ServerAddr, seat.CertDigest, seat.ExpiresAt}, nil
}

// minterFor returns the minter of a deployment, from the cache if it was used before.
func (m *Minter) minterFor(region string, seat *db.NetcodeSeat) (*netcode.Minter, error) {
	if known := m.mintersByDeployment.getMinter(region, seat); known != nil {
		return known, nil
	}
	secret, err := m.sealer.OpenSecret(token.PurposeNetcode, region, seat.DeploymentID.String(), seat.SealedKey)
	if err != nil {
		return nil, fmt.Errorf("netcode key of deployment %s: %w", seat.DeploymentID, err)
	}
	key, err := netcode.KeyOf(secret)
	if err != nil {
		return nil, err
	}
	minter, err := netcode.NewMinter(seat.Dialect, key)
	if err != nil {
		return nil, err
	}
	m.mintersByDeployment.putMinter(region, seat, minter)
	return minter, nil
}

// userDataVersion is the first byte of the user data. It changes when what follows changes.
const userDataVersion = 1

// userData names the session to the game server: the version, the session's and the deployment's UUID, and the region,
// after one byte for its length.
func userData(region string, session, deployment uuid.UUID) []byte {
	b := []byte{userDataVersion}
	b = append(b, session[:]...)
	b = append(b, deployment[:]...)
	b = append(b, byte(len(region)))
	return append(b, region...)
}
