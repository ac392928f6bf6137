package server_test

import (
	"encoding/base64"
	"net/http"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/token"
	"github.com/lattice-director/director/token/netcode"
)

// deployNetcode registers the server of a deployment with connect tokens, and returns its instance id and the key that
// it holds.
func (b *bundle) deployNetcode(app string, maxPlayers int, dialect netcode.Dialect, protocol string) (instance string, key netcode.Key) {
	b.t.Helper()
	instance, key = uuid.NewString(), netcode.NewKey()
	b.register(instance)
	sealed, by := b.sealer.SealSecret(token.PurposeNetcode, "eu", instance, key.Secret())
	b.addApp(app, "duel", maxPlayers, dialect, protocol)
	b.store.Exec(`INSERT INTO deployments (region, id, app, version, provider, tag, phase, intent_at, ref, ip, ports, endpoint, netcode_key, sealed_by, incarnation, next_at)
		SELECT 'eu', $1::uuid, $2, '1', 'process', left($1::uuid::text, 20), 'ready', now(), 'ref', '192.0.2.7', '{"game": {"name": "game", "internal": 6420, "external": 31504, "protocol": "udp"}}',
			'192.0.2.7:31504', $3, $4, incarnation, NULL FROM instances WHERE id = $1::uuid::text`, instance, app, sealed, by)
	b.store.Exec(`UPDATE instances SET deployment_id = $1 WHERE id = $1::uuid::text`, instance)
	return instance, key
}

// A client that resolves a seat gets a token that its server opens, and nothing of it reaches the log.
func TestAConnectToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, key := b.deployNetcode("arena", 8, netcode.LightyearBE, "80085")
	session, resolved := b.seat("alice")
	answer := fields(resolved["netcode"].(map[string]any))
	raw, err := base64.StdEncoding.DecodeString(answer["token"].(string))
	require.NoError(t, err)
	server, err := netcode.NewMinter(netcode.LightyearBE, key)
	require.NoError(t, err)
	claims, err := server.Open(raw, 80085, time.Now())
	require.NoError(t, err)
	require.Equal(t, strconv.FormatUint(claims.ClientID, 10), answer["client_id"])
	require.Equal(t, []netip.AddrPort{netip.MustParseAddrPort("192.0.2.7:31504")}, claims.Public.Addrs)
	require.Equal(t, claims.Public.Expires.UTC().Format(time.RFC3339), answer["expires_at"])
	require.Contains(t, session["session_id"], uuid.UUID(claims.UserData[1:17]).String(), "the server learns the session from the user data")
	delete(answer, "token")
	delete(answer, "client_id")
	delete(answer, "expires_at")
	require.Equal(t, fields{"dialect": "lightyear-be", "ip": "192.0.2.7", "port": 31504.0, "cert_digest": nil}, answer)
	require.NotEmpty(t, resolved["session_token"])
	for _, secret := range []string{base64.StdEncoding.EncodeToString(raw)[:40], key.Hex(), key.Decimals()} {
		require.NotContains(t, b.log.String(), secret)
	}
}

// A key that does not open is no internal error: the player tries again, and workers replace the server.
func TestNoConnectTokenWithoutItsKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deployNetcode("arena", 8, netcode.LightyearBE, "80085")
	b.store.Exec(`UPDATE deployments SET netcode_key = $1`, []byte("broken"))
	session := b.matchmake("alice", duel).ok(http.StatusOK)
	b.resolve("alice", session["session_handle"]).problem(http.StatusServiceUnavailable, "unavailable")
}

// A server lists its clients, the players are seated and freed, and strangers are named to it.
func TestListsOfClients(t *testing.T) {
	t.Parallel()
	b := setup(t)
	server, _ := b.deployNetcode("arena", 8, netcode.LightyearBE, "80085")
	_, resolved := b.seat("alice")
	client := resolved["netcode"].(map[string]any)["client_id"]
	require.Equal(t, fields{"instance_id": server, "applied": true, "refused": []any{map[string]any{"client_id": "7", "result": "unknown"}}},
		b.fleet("clients", fields{"instance_id": server, "seq": 2, "clients": []any{"7", client}}).ok(http.StatusOK))
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM seats WHERE state = 'connected'"))
	require.Equal(t, false, b.fleet("clients", fields{"instance_id": server, "seq": 1, "clients": []any{}}).ok(http.StatusOK)["applied"])
	b.fleet("clients", fields{"instance_id": server, "seq": 3, "clients": []any{}}).ok(http.StatusOK)
	require.Equal(t, 0, b.store.Count("SELECT count(*) FROM seats"))
	b.register("plain")
	b.fleet("clients", fields{"instance_id": "plain", "seq": 1, "clients": []any{}}).problem(http.StatusConflict, "no_connect_tokens")
}

// Each bad entry is named.
func TestBadListsOfClients(t *testing.T) {
	t.Parallel()
	b := setup(t)
	many := make([]any, 1025)
	for i := range many {
		many[i] = strconv.Itoa(i + 1)
	}
	for name, c := range map[string]struct {
		clients any
		field   string
	}{
		"not decimal": {[]any{"1", "0x7"}, "clients[1]"}, "zero": {[]any{"0"}, "clients[0]"}, "2^63": {[]any{"9223372036854775808"}, "clients[0]"},
		"leading zero": {[]any{"07"}, "clients[0]"}, "twice": {[]any{"7", "8", "7"}, "clients[2]"}, "too many": {many, "clients"}, "null": {nil, "clients"},
		"empty": {[]any{""}, "clients[0]"}, "a sign": {[]any{"+7"}, "clients[0]"},
	} {
		problem := b.fleet("clients", fields{"instance_id": "a", "seq": 1, "clients": c.clients}).problem(http.StatusBadRequest, "invalid_request")
		require.Contains(t, problem["errors"].([]any)[0].(map[string]any)["field"], c.field, name)
	}
}
