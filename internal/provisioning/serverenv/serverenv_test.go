package serverenv

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/token"
	"github.com/lattice-director/director/token/netcode"
)

func settings(t *testing.T) Settings {
	return Settings{PublicURL: "https://director.test", Sealer: keytest.Sealer(t, 1)}
}

func version() provision.AppVersion {
	return provision.AppVersion{
		App: "arena", Version: "1", Provider: "process", Modes: []string{"duel", "ffa"}, Capacity: 32, GamePort: "game",
		Ports: []provision.AppPort{{Name: "game", Internal: 7000, Protocol: provider.UDP}, {Name: "web-rtc", Internal: 7001, Protocol: provider.TCP}},
		Env:   map[string]string{"MAP": "canyon", "FLEET_TOKEN": "mine"},
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	s, id := settings(t), uuid.New()
	env, webhook, err := s.Environment(Server{Region: "eu", ID: id, EndsAt: time.Date(2027, 1, 2, 3, 4, 5, 6, time.UTC)}, version())
	require.NoError(t, err)
	d, _, ok := s.Sealer.ServerTokens().Verify(token.ForFleet, env["FLEET_TOKEN"])
	require.True(t, ok, "the app version's variables must not replace the director's")
	require.Equal(t, token.Deployment{Region: "eu", ID: id.String()}, d)
	delete(env, "FLEET_TOKEN")
	require.Equal(t, provider.Env{
		"DIRECTOR_URL": "https://director.test", "LATTICE_DEPLOYMENT_ID": id.String(), "LATTICE_REGION": "eu", "LATTICE_MODES": "duel,ffa",
		"LATTICE_CAPACITY": "32", "LATTICE_PORT_GAME": "7000", "LATTICE_PORT_WEB_RTC": "7001", "LATTICE_ENDS_AT": "2027-01-02T03:04:05Z", "MAP": "canyon",
	}, env)
	path, found := strings.CutPrefix(string(webhook), "https://director.test/hooks/eu/"+id.String()+"/")
	require.True(t, found)
	_, ok = s.Sealer.ServerTokens().VerifyMAC(token.ForHook, d, path)
	require.True(t, ok)
}

func TestEnvironmentOfNetcodeServers(t *testing.T) {
	t.Parallel()
	s, id, v := settings(t), uuid.New(), version()
	v.Dialect, v.ProtocolID = netcode.LightyearLE, 1<<63
	_, _, err := s.Environment(Server{Region: "eu", ID: id}, v)
	require.ErrorContains(t, err, "no netcode key")

	key := netcode.NewKey()
	sealed, _ := s.Sealer.SealSecret(token.PurposeNetcode, "eu", id.String(), key.Secret())
	env, _, err := s.Environment(Server{Region: "eu", ID: id, SealedKey: sealed}, v)
	require.NoError(t, err)
	require.Equal(t, key.Hex(), env["LATTICE_NETCODE_KEY"])
	require.Equal(t, key.Decimals(), env["LIGHTYEAR_PRIVATE_KEY"])
	require.Equal(t, "9223372036854775808", env["LATTICE_PROTOCOL_ID"])

	_, _, err = s.Environment(Server{Region: "eu", ID: uuid.New(), SealedKey: sealed}, v)
	require.ErrorIs(t, err, token.ErrSealed, "a key that was copied to another row")
}

// bevygap's servers stop with an error when one of these is missing. Edgegap sets all but the two of the context.
func TestEnvironmentOfArbitrium(t *testing.T) {
	t.Parallel()
	s, id, v := settings(t), uuid.New(), version()
	v.Compat = provision.CompatArbitrium
	env, _, err := s.Environment(Server{Region: "eu", ID: id}, v)
	require.NoError(t, err)
	for _, name := range []string{"REQUEST_ID", "DELETE_URL", "DELETE_TOKEN", "DEPLOYMENT_LOCATION", "CONTEXT_URL", "CONTEXT_TOKEN", "PUBLIC_IP", "PORTS_MAPPING"} {
		require.NotEmpty(t, env["ARBITRIUM_"+name], name)
	}
	var where struct{ City, Country, Continent, Timezone *string }
	require.NoError(t, json.Unmarshal([]byte(env["ARBITRIUM_DEPLOYMENT_LOCATION"]), &where))
	require.Equal(t, "eu", *where.City)
	require.NotNil(t, where.Timezone)
	var mapping struct{ Ports map[string]provider.Port }
	require.NoError(t, json.Unmarshal([]byte(env["ARBITRIUM_PORTS_MAPPING"]), &mapping))
	require.Equal(t, provider.Port{Name: "game", Internal: 7000, External: 7000, Protocol: provider.UDP}, mapping.Ports["game"])
	_, _, ok := s.Sealer.ServerTokens().Verify(token.ForContext, env["ARBITRIUM_CONTEXT_TOKEN"])
	require.True(t, ok)

	v.Provider = "edgegap"
	env, _, err = s.Environment(Server{Region: "eu", ID: id}, v)
	require.NoError(t, err)
	require.Equal(t, "https://director.test/fleet/context", env["ARBITRIUM_CONTEXT_URL"])
	require.NotContains(t, env, "ARBITRIUM_PUBLIC_IP")
}

// bevygap's plugin panics without NATS, and demands TLS unless it is told otherwise.
func TestEnvironmentOfBevygap(t *testing.T) {
	t.Parallel()
	s, id, v := settings(t), uuid.New(), version()
	v.Compat = provision.CompatBevygap
	for _, url := range []string{"", "director.test:4222", "http://director.test:4222"} {
		s.NATSURL = url
		_, _, err := s.Environment(Server{Region: "eu", ID: id}, v)
		require.ErrorContains(t, err, "DIRECTOR_BEVYGAP_NATS_URL", url)
	}
	s.NATSURL = "tls://director.test:4222"
	env, _, err := s.Environment(Server{Region: "eu", ID: id}, v)
	require.NoError(t, err)
	require.Equal(t, "director.test:4222", env["NATS_HOST"])
	require.Equal(t, id.String(), env["NATS_USER"])
	require.Equal(t, env["FLEET_TOKEN"], env["NATS_PASSWORD"])
	require.NotContains(t, env, "NATS_INSECURE")
	require.NotEmpty(t, env["ARBITRIUM_CONTEXT_URL"], "it reads Edgegap's environment, too")
	s.NATSURL = "nats://10.0.0.7:4222"
	env, _, err = s.Environment(Server{Region: "eu", ID: id}, v)
	require.NoError(t, err)
	require.Equal(t, "1", env["NATS_INSECURE"])
}
