package orchestrator

import (
	"slices"
	"strings"

	"github.com/nlnwa/whatwg-url/url"

	"github.com/lattice-director/director/internal/base/endpoint"
)

// endpointSchemes are the allowed schemes; javascript: and the like could harm a page that renders an endpoint.
var endpointSchemes = []string{"ws", "wss", "http", "https"}

// urls parses as browsers and Node do, which agents and players use; net/url parses differently.
var urls = url.NewParser()

func (s *snapshot) checkEndpoint() error {
	u, err := urls.Parse(s.endpointURL)
	if err != nil {
		return refusalError("endpointUrl is not a URL")
	}
	if !slices.Contains(endpointSchemes, u.Scheme()) {
		return refusalError("endpointUrl has a scheme other than ws, wss, http and https")
	}
	if !endpoint.IsDialableHost(strings.Trim(u.Hostname(), "[]")) || u.Port() == "0" {
		return refusalError("endpointUrl must be what players dial, not what the server binds")
	}
	return nil
}
