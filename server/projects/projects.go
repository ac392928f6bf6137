package projects

import (
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// Options configure the API. Store, Tokens and the Sealer of Secrets are required.
type Options struct {
	Store   *db.Store            // The caller closes it.
	Region  string               // of new projects; "" means global
	Tokens  []string             // internal tokens of callers; with several, one can replace another
	Secrets token.ProjectSecrets // that sign the tokens of clients

	CORSOrigins    []string      // whose pages may call the API; "*" means all
	TrustedProxies []string      // whose X-Forwarded-For is trusted; see rest.Options
	FailureRate    rest.Rate     // of wrong internal tokens from one address; zero means no limit
	CallTimeout    time.Duration // of a call, after its body was read; 0 means 900 ms

	Log     *slog.Logger         // nil: no log
	Metrics *rest.Metrics        // nil: no metrics
	Tracer  trace.TracerProvider // nil: no traces
}

const (
	maxCalls    = 256 // at a time
	maxBodies   = 512 // read at a time; together at most 32 MiB
	bodyTimeout = 5 * time.Second

	headerToken = "X-Nexis-Internal-Token" // Nexis' own: its scripts send it
)

// face is the API.
type face struct {
	options Options

	startedAt                 time.Time
	requestCount, deniedCount atomic.Int64 // of this process
}
