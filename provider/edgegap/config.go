package edgegap

import (
	"net/http"
	"time"

	"github.com/lattice-director/director/provider"
)

// Config configures a [Provider].
type Config struct {
	Token   provider.Secret // the key, with or without the word token before it. Required
	URL     string          // of the API; https://api.edgegap.com by default
	Timeout time.Duration   // of a call's HTTP exchange; 15 s by default. A context may be shorter
	// Rates are the calls per second that this process makes at most; 80 % of the published limits by default. A call
	// waits for the limit as long as its context allows.
	Rates     provider.Rates
	Transport http.RoundTripper // nil is one with bounded connections
}

// MaxLifetime is how long a deployment runs at most, in a paid account.
const MaxLifetime = 24 * time.Hour

// publishedRates are the limits of an organisation, in calls per second. Edgegap publishes none for
// Stop.
var publishedRates = provider.Rates{Deploy: 40, Get: 20, List: 10, Stop: 10}
