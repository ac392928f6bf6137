package faults

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/server/openmatch"
	"github.com/lattice-director/director/server/telemetry"
	"github.com/lattice-director/director/test/rigtest"
	"github.com/lattice-director/director/token"
)

// embedded is a replica inside the test process, because only there a test can make it panic.
type embedded struct {
	*rig
	url      string // of its database
	trap     storetest.Trap
	log      *logtest.Buffer
	registry *prometheus.Registry
	conn     *grpc.ClientConn
}

// startEmbedded starts a replica that is ready, on a database of its own, until the test ends.
func startEmbedded(t *testing.T) *embedded {
	t.Helper()
	r := &embedded{rig: &rig{rigtest.NewEmbeddedRig(t, time.Minute)}, url: dbtest.New(t), log: &logtest.Buffer{},
		registry: prometheus.NewRegistry()}
	metrics := must.Get(telemetry.New(r.registry, "test"))(t)
	log := slog.New(listenerTrap{slog.NewJSONHandler(r.log, nil), new(atomic.Bool)})
	// No trap before single statements: it would also spring at one within a transaction, and at those with which a
	// replica warms up.
	tracer := &storetest.Tracer{BeforeAcquire: func() { r.trap.AtCall("Queries") }, BeforePipeline: r.trap.AtStatement}
	store := storetest.Open(t, r.url, func(c *db.Config) { c.Tracer, c.Observer, c.Log = tracer, metrics, log })
	r.SQLPool = store.Pool()
	keys := keyring.New(store, keytest.Sealer(t, 7), token.AlgEdDSA, keyring.Schedule{})
	require.NoError(t, store.ReadClock(t.Context()))
	require.NoError(t, keys.Refresh(t.Context()))
	s := must.Get(server.New(server.Options{ // with long timeouts, because a machine that runs all tests at once is slow
		Store: store, Keys: keys, Access: token.AccessConfig{Keys: r.PlayerLogin.Source},
		FleetTokens: []string{fleetToken}, Addr: "127.0.0.1:0",
		OpenMatch:   &openmatch.Options{Addrs: []string{"127.0.0.1:0"}, CallTimeout: time.Minute},
		CallTimeout: 30 * time.Second, ReadyTimeout: 30 * time.Second, Log: log, Metrics: metrics,
	}))(t)
	require.NoError(t, s.Listen(t.Context()))
	background.Run(t, s.Run)
	r.SetURLs("http://" + s.Addr().String())
	r.conn = rigtest.DialAll(t, s.GRPCAddrs()[0].String()).NextConn()
	return r
}
