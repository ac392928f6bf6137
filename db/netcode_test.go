package db_test

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/token/netcode"
)

// netcodeServer registers a deployed server of an app version with connect tokens.
func (b *bundle) netcodeServer(capacity int) (id uuid.UUID, registered db.Registered) {
	b.t.Helper()
	id = uuid.New()
	b.AddAppVersion(map[string]any{"capacity": 100, "max_players": 2, "dialect": "lightyear-be", "protocol_id": "18446744073709551615"})
	registered = b.AddServer(id.String(), capacity, func(r *db.Registration) { r.ReportsSeats = true })
	b.AddDeployment(id, map[string]any{"phase": "ready", "ip": "192.0.2.7", "endpoint": "192.0.2.7:31504", "netcode_key": []byte("sealed"), "sealed_by": "kek",
		"ports": `{"game": {"name": "game", "internal": 6420, "external": 31504, "protocol": "udp"}}`, "cert_digest": "aa:bb", "incarnation": registered.Incarnation})
	b.Exec(`UPDATE instances SET deployment_id = $1 WHERE id = $1::uuid::text`, id)
	return id, registered
}

func TestResolvingOnANetcodeServerInsertsAClientID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	deployment, _ := b.netcodeServer(8)
	p := b.place(request("ann", 2))
	first, second := b.resolve(p, "ann").NetcodeSeat, b.resolve(p, "ann").NetcodeSeat
	require.NotNil(t, first)
	require.NotEqual(t, first.ClientID, second.ClientID, "a client id belongs to one token")
	require.Equal(t, netip.MustParseAddrPort("192.0.2.7:31504"), first.ServerAddr)
	require.EqualValues(t, 6420, first.InternalPort)
	require.Equal(t, netcode.LightyearBE, first.Dialect)
	require.Equal(t, uint64(1<<64-1), first.ProtocolID)
	require.Equal(t, []byte("sealed"), first.SealedKey)
	require.Equal(t, "aa:bb", first.CertDigest)
	require.Equal(t, deployment, first.DeploymentID)
	require.Equal(t, p.SessionID, "eu."+first.SessionID.String())
	require.Equal(t, 45*time.Second, first.ExpiresAt.Sub(first.IssuedAt))
	require.Equal(t, 15*time.Second, first.ConnectionTimeout)
	for _, seat := range []*db.NetcodeSeat{first, second} {
		require.True(t, one[bool](b, `SELECT expires_at BETWEEN now() + '80 s' AND now() + '91 s' AND region = 'eu' AND deployment_id = $2 AND sub = 'ann'
			AND session_id = $3 FROM netcode_tokens WHERE client_id = $1`, int64(seat.ClientID), deployment, seat.SessionID))
	}
	require.True(t, one[bool](b, `SELECT expires_at BETWEEN now() + '80 s' AND now() + '91 s' FROM seats`), "the seat is held for as long as its token can be used")
	b.RequireInvariants()
}

// Pins two calls of one player in one batch that get the same client id: the server would refuse the second client.
func TestConcurrentResolvesOfOnePlayerGetDifferentClientIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.netcodeServer(8)
	p := b.place(request("ann", 2))
	var mu sync.Mutex
	seen := map[uint64]bool{}
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			r, err := b.Resolve(t.Context(), p.SessionHandle, "ann")
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				seen[r.NetcodeSeat.ClientID] = true
			}
		})
	}
	all.Wait()
	require.Len(t, seen, 32)
	require.Equal(t, 32, one[int](b, `SELECT count(*) FROM netcode_tokens`))
}

func TestOtherServersTakeNoConnectTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("i", 8)
	require.Nil(t, b.resolve(b.place(request("ann", 2)), "ann").NetcodeSeat)
	b.Exec(`UPDATE instances SET status = 'draining'`)
	b.netcodeServer(8)
	b.Exec(`UPDATE app_versions SET dialect = NULL, protocol_id = NULL`)
	require.Nil(t, b.resolve(b.place(request("bob", 2)), "bob").NetcodeSeat)
	require.Zero(t, one[int](b, `SELECT count(*) FROM netcode_tokens`))
}

// The provider of a server that people started knows no address.
func TestANetcodeServerWithoutAProvidersAddress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.netcodeServer(8)
	b.Exec(`UPDATE deployments SET ip = NULL, ports = NULL`)
	p := b.place(request("ann", 2))
	_, err := b.Resolve(t.Context(), p.SessionHandle, "ann")
	requireKind(t, fault.Unavailable, "unavailable", err)
	b.Exec(`UPDATE instances SET endpoint = '[2001:db8::7]:5000'`)
	seat := b.resolve(p, "ann").NetcodeSeat
	require.Equal(t, netip.MustParseAddrPort("[2001:db8::7]:5000"), seat.ServerAddr)
	require.Zero(t, seat.InternalPort)
}
