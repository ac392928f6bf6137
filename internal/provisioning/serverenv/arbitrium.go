package serverenv

import (
	"encoding/json"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/token"
)

// unknownAddress stands for the address of a server before its provider has said it. The context says it later. The
// providers process and docker know it before the start, and replace it and the ports.
const unknownAddress = "0.0.0.0"

// edgegap is the provider that sets these variables by itself, but for the two of the context.
const edgegap = "edgegap"

// arbitriumVariables returns the variables that Edgegap's servers read, as far as the provider does not set them. A
// server that was built for Edgegap stops with an error when one is missing.
func (s Settings) arbitriumVariables(name token.Deployment, v provision.AppVersion) provider.Env {
	url, secret := s.PublicURL+"/fleet/context", string(s.Sealer.ServerTokens().Token(token.ForContext, name))
	env := provider.Env{"ARBITRIUM_CONTEXT_URL": url, "ARBITRIUM_CONTEXT_TOKEN": secret}
	if v.Provider == edgegap {
		return env
	}
	env["ARBITRIUM_REQUEST_ID"] = name.ID
	env["ARBITRIUM_DELETE_URL"], env["ARBITRIUM_DELETE_TOKEN"] = url, secret // with DELETE
	env["ARBITRIUM_PUBLIC_IP"] = unknownAddress
	env["ARBITRIUM_DEPLOYMENT_LOCATION"] = regionLocation(name.Region)
	env["ARBITRIUM_PORTS_MAPPING"] = portsMapping(v)
	return env
}

// regionLocation says where the server is in the words there are: its region.
func regionLocation(region string) string {
	text, _ := json.Marshal(map[string]any{ //nolint:errchkjson // strings and numbers
		"city": region, "country": "", "continent": "", "administrative_division": "", "timezone": "", "latitude": 0.0,
		"longitude": 0.0,
	})
	return string(text)
}

// portsMapping names the ports as the version declares them. What players dial is not known yet.
func portsMapping(v provision.AppVersion) string {
	ports := make(map[string]provider.Port, len(v.Ports))
	for _, p := range v.Ports {
		ports[p.Name] = provider.Port{Name: p.Name, Internal: p.Internal, External: p.Internal, Protocol: p.Protocol}
	}
	return provider.PortsMapping(ports)
}
