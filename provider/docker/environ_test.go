package docker_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/docker"
	"github.com/lattice-director/director/provider/docker/dockertest"
)

// Pins a server that was built for Edgegap and binds port 0 at the address 0.0.0.0.
func TestPortsOfServersBuiltForEdgegap(t *testing.T) {
	t.Parallel()
	e := start(t, dockertest.Options{})
	p := open(t, docker.Config{Host: e.host, Advertise: netip.MustParseAddr("203.0.113.7")})
	s := spec()
	s.Env = provider.Env{"ARBITRIUM_PORTS_MAPPING": `{"ports":{"web-1":{"internal":0}}}`, "ARBITRIUM_PUBLIC_IP": "0.0.0.0"}
	_, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	env := e.Create(nameOf(s))["Env"]
	require.Contains(t, env, "ARBITRIUM_PUBLIC_IP=203.0.113.7")
	require.Contains(t, env, `ARBITRIUM_PORTS_MAPPING={"ports":{"game":{"name":"game","internal":5000,"external":5000,"protocol":"udp"},`+
		`"web-1":{"name":"web-1","internal":7000,"external":7000,"protocol":"tcp"}}}`)
}
