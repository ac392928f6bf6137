package connect_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/connect"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/token"
	"github.com/lattice-director/director/token/netcode"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// resolved returns a seat on a deployment with that key.
func resolved(sealer *token.Sealer, key netcode.Key, d netcode.Dialect) db.Resolved {
	deployment := uuid.New()
	sealed, _ := sealer.SealSecret(token.PurposeNetcode, "eu", deployment.String(), key.Secret())
	return db.Resolved{Region: "eu", NetcodeSeat: &db.NetcodeSeat{
		ClientID: 7, SessionID: uuid.New(), DeploymentID: deployment, Dialect: d, ProtocolID: 80085, SealedKey: sealed,
		ServerAddr: netip.MustParseAddrPort("192.0.2.7:31504"), InternalPort: 6420, CertDigest: "aa:bb",
		IssuedAt: now, ExpiresAt: now.Add(45 * time.Second), ConnectionTimeout: 15 * time.Second,
	}}
}

func TestTicketsOpenAtTheirServer(t *testing.T) {
	t.Parallel()
	sealer := keytest.Sealer(t, 0)
	m := connect.New(sealer)
	for _, d := range netcode.Dialects() {
		key := netcode.NewKey()
		r := resolved(sealer, key, d)
		ticket, err := m.Ticket(r)
		require.NoError(t, err)
		require.Equal(t, netip.MustParseAddrPort("192.0.2.7:31504"), ticket.Addr)
		require.EqualValues(t, 7, ticket.ClientID)
		require.Equal(t, d, ticket.Dialect)
		require.Equal(t, "aa:bb", ticket.CertDigest)
		require.Equal(t, now.Add(45*time.Second), ticket.ExpiresAt)

		server, err := netcode.NewMinter(d, key)
		require.NoError(t, err)
		claims, err := server.Open(ticket.Token.Bytes(), 80085, now)
		require.NoError(t, err)
		require.EqualValues(t, 7, claims.ClientID)
		require.Equal(t, 15*time.Second, claims.Public.Timeout)
		require.Equal(t, []netip.AddrPort{ticket.Addr}, claims.Public.Addrs)
		require.Equal(t, []netip.AddrPort{ticket.Addr, netip.MustParseAddrPort("0.0.0.0:6420")}, claims.Private,
			"the server binds its internal port")
		data := append([]byte{1}, r.NetcodeSeat.SessionID[:]...)
		data = append(append(data, r.NetcodeSeat.DeploymentID[:]...), "\x02eu"...)
		require.Equal(t, data, claims.UserData[:len(data)])

		again, err := m.Ticket(r)
		require.NoError(t, err)
		require.NotEqual(t, ticket.Token.Bytes(), again.Token.Bytes(),
			"nonce and keys are fresh, also from a cached key")
	}
	none, err := m.Ticket(db.Resolved{})
	require.NoError(t, err)
	require.Nil(t, none)
}

// A key that was copied from another row, or sealed by an unknown key-encryption key, must mint nothing, also after the
// same sealed bytes were opened for their own row.
func TestForeignKeysMintNothing(t *testing.T) {
	t.Parallel()
	sealer := keytest.Sealer(t, 0)
	m := connect.New(sealer)
	good := resolved(sealer, netcode.NewKey(), netcode.Netcode102)
	_, err := m.Ticket(good)
	require.NoError(t, err)
	for name, change := range map[string]func(*db.Resolved, *db.NetcodeSeat){
		"another deployment": func(_ *db.Resolved, s *db.NetcodeSeat) { s.DeploymentID = uuid.New() },
		"another region":     func(r *db.Resolved, _ *db.NetcodeSeat) { r.Region = "us" },
		"no key":             func(_ *db.Resolved, s *db.NetcodeSeat) { s.SealedKey = nil },
		"another purpose": func(_ *db.Resolved, s *db.NetcodeSeat) {
			s.SealedKey, _ = sealer.SealSecret("other", "eu", s.DeploymentID.String(), netcode.NewKey().Secret())
		},
	} {
		bad, seat := good, *good.NetcodeSeat
		bad.NetcodeSeat = &seat
		change(&bad, &seat)
		_, err := m.Ticket(bad)
		require.ErrorIs(t, err, token.ErrSealed, name)
		require.True(t, fault.Is(err, fault.Unavailable), name)
	}
}

func TestPrintedTicketsShowNoToken(t *testing.T) {
	t.Parallel()
	sealer := keytest.Sealer(t, 0)
	ticket, err := connect.New(sealer).Ticket(resolved(sealer, netcode.NewKey(), netcode.Netcode102))
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		require.NotContains(t, fmt.Sprintf(verb, *ticket), "NETCODE")
		require.Contains(t, fmt.Sprintf(verb, *ticket), "[hidden]")
	}
}

// BenchmarkTicket mints tokens for 1,000 deployments in turn.
func BenchmarkTicket(b *testing.B) {
	sealer := keytest.Sealer(b, 0)
	m := connect.New(sealer)
	seats := make([]db.Resolved, 1000)
	for i := range seats {
		seats[i] = resolved(sealer, netcode.NewKey(), netcode.LightyearBE)
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		ticket, err := m.Ticket(seats[i%len(seats)])
		if err != nil || len(ticket.Token.Base64()) != 2732 {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
