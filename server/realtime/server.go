package realtime

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/server/realtime/texts"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/server/ws"
)

// Server serves the realtime lobby on a listener of its own. Make it with [New]; then [Server.Listen], [Server.Serve]
// and [Server.Run], once each, and [Server.Stop].
type Server struct {
	store          *db.Store
	options        Options
	rpcs           map[string]rpc
	secrets        *secrets
	trustedProxies rest.Proxies
	failureLimiter *rest.Limiter
	codeLimiter    *rest.Limiter // of the codes of rooms that an address tries
	roomLists      *roomLists
	presences      *presences
	textHook       *texts.Hook // nil: texts are not checked
	guard          *panics.Guard
	metrics        *metrics
	outageLog      *outage.Log
	playerRates    *playerRates
	connSlots      *ws.Slots // also of connections before their handshake
	messageReader  *ws.Reader

	mu            sync.Mutex
	regionsByName map[string]*region
	runContext    context.Context //nolint:containedctx // of the loops; set by Run, nil before
	isDraining    bool
	runningLoops  sync.WaitGroup // goroutines for which Run waits
	connsServed   sync.WaitGroup // goroutines of connections

	http             *rest.HTTPServer
	isStopping       atomic.Bool     // Stop was called: clients reconnect to other replicas
	handshakeContext context.Context //nolint:containedctx // ends when clients without a session are to leave
	endHandshakes    context.CancelFunc
	connsClosed      chan struct{} // closed when Stop has begun to close the connections
	stopOnce         sync.Once
	runEnded         chan struct{} // closed when Run has returned
}
