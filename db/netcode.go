package db

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/token/netcode"
)

// NetcodeSeat holds the data of which a netcode connect token for a seat is made. The times are those of the database's
// clock, to the second.
type NetcodeSeat struct {
	ClientID          uint64 // 1 to 2^63 - 1: the identity of the token, in the director's rows and in /fleet/clients
	SessionID         uuid.UUID
	DeploymentID      uuid.UUID
	Dialect           netcode.Dialect
	ProtocolID        uint64
	SealedKey         []byte         // of the deployment
	ServerAddr        netip.AddrPort // that players dial
	InternalPort      uint16         // that the server binds; 0: that of ServerAddr
	CertDigest        string         // of the server's certificate; empty: it has reported none
	IssuedAt          time.Time
	ExpiresAt         time.Time
	ConnectionTimeout time.Duration
}

// netcodeSkew is by how much the clocks of game servers and of the database may differ.
const netcodeSkew = 30 * time.Second

// netcodeHold is how long a seat is held for a player with a connect token: until the token has expired and a client
// that began to connect in time has given up.
func (t Timing) netcodeHold() time.Duration { return t.NetcodeExpire + t.NetcodeTimeout + netcodeSkew }

// longestTokenHold is how long a seat is held for a player with a token of either kind.
func (t Timing) longestTokenHold() time.Duration {
	return max(t.TokenTTL+t.ConnectGrace, t.netcodeHold())
}

// newClientIDs returns random numbers of 63 bits, since the column is a bigint, none of them zero.
func newClientIDs(n int) []int64 {
	raw := make([]byte, 8*n)
	_, _ = rand.Read(raw) // never returns an error
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = max(1, int64(binary.LittleEndian.Uint64(raw[8*i:])>>1))
	}
	return ids
}

// netcodeSeatOf decodes the column netcode of a seat.
func netcodeSeatOf(r query.ResolveSeatsRow, issued time.Time, t Timing) (*NetcodeSeat, error) {
	var row struct {
		ClientID   uint64          `json:"client_id"`
		Deployment uuid.UUID       `json:"deployment"`
		Dialect    netcode.Dialect `json:"dialect"`
		ProtocolID uint64          `json:"protocol_id,string"`
		Key        []byte          `json:"key"`
		IP         netip.Addr      `json:"ip"`
		Port       provider.Port   `json:"port"`
		CertDigest string          `json:"cert_digest"`
	}
	if err := json.Unmarshal(r.Netcode, &row); err != nil {
		return nil, fmt.Errorf("netcode of a seat: %w", err)
	}
	seat := &NetcodeSeat{
		ClientID: row.ClientID, SessionID: r.SessionID, DeploymentID: row.Deployment, Dialect: row.Dialect,
		ProtocolID: row.ProtocolID, SealedKey: row.Key,
		ServerAddr: netip.AddrPortFrom(row.IP, row.Port.External), InternalPort: row.Port.Internal,
		CertDigest: row.CertDigest,
		IssuedAt:   issued, ExpiresAt: issued.Add(t.NetcodeExpire), ConnectionTimeout: t.NetcodeTimeout,
	}
	// The provider of a server that people started knows no address of it. The server has registered one.
	if !seat.hasAddress() {
		seat.ServerAddr, _ = netip.ParseAddrPort(r.Endpoint)
		seat.InternalPort = 0
	}
	return seat, nil
}

func (s *NetcodeSeat) hasAddress() bool { return s.ServerAddr.IsValid() && s.ServerAddr.Port() != 0 }

// checkAddress returns an error if players cannot dial the server yet. Errors: Unavailable.
func (s *NetcodeSeat) checkAddress() error {
	if !s.hasAddress() {
		return fault.NewUnavailable("the IP address and port of the session's server are not known", nil)
	}
	return nil
}

// Pruned counts the rows that a batch of pruning looked at, and those that it deleted.
type Pruned struct{ ExaminedRows, DeletedRows int }

// PruneNetcodeTokens deletes the client ids of at most batch tokens that can no longer be used. It keeps those of
// connected players, and looks at them again ten minutes later. Errors: Unavailable.
func (s *Store) PruneNetcodeTokens(ctx context.Context, region string, batch int) (Pruned, error) {
	r, err := s.q.PruneNetcodeTokens(ctx, query.PruneNetcodeTokensParams{Region: region, Batch: int32(batch)})
	return Pruned{int(r.Seen), int(r.Deleted)}, frame.Classify(err)
}
