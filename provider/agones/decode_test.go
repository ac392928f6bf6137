package agones

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/provider"
)

// Pins a port that is both TCP and UDP, which Agones splits.
func TestExternal(t *testing.T) {
	t.Parallel()
	got, err := externalPorts([]statusPort{{"game-tcp", 7001}, {"game-udp", 7002}, {"web", 7003}},
		[]provider.Port{{Name: "game", Internal: 5000, Protocol: "tcpudp"},
			{Name: "web", Internal: 80, Protocol: provider.TCP}})
	require.NoError(t, err)
	require.Equal(t, map[string]provider.Port{
		"game-tcp": {Name: "game-tcp", Internal: 5000, External: 7001, Protocol: provider.TCP},
		"game-udp": {Name: "game-udp", Internal: 5000, External: 7002, Protocol: provider.UDP},
		"web":      {Name: "web", Internal: 80, External: 7003, Protocol: provider.TCP},
	}, got)
	_, err = externalPorts([]statusPort{{"game", 70000}}, nil)
	require.Error(t, err)
}

// Whatever answers as Kubernetes does: no panic, and only deployments with a name and a tag.
func FuzzDecodePage(f *testing.F) {
	f.Add([]byte(`{"kind":"GameServerList","metadata":{"continue":"x"},"items":[{"metadata":{"name":"a-1","labels":{"lattice-director.dev/tag":"abc"},` +
		`"deletionTimestamp":"2026-11-23T16:00:00Z"},"spec":{"ports":[{"name":"game","containerPort":5000,"protocol":"UDP"}]},` +
		`"status":{"state":"Allocated","address":"192.0.2.1","ports":[{"name":"game","port":7000}]}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		page, err := decodePage(body)
		if err != nil {
			return
		}
		for _, o := range page.Deployments {
			_, tag, ok := parseRef(o.Ref)
			require.True(t, ok)
			require.Equal(t, tag, o.Tag)
			require.LessOrEqual(t, len(o.Ref), provider.MaxRefBytes)
			require.LessOrEqual(t, len(o.Ports), provider.MaxPorts)
		}
	})
}
