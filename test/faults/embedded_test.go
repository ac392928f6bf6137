package faults

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

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
	url     string // of its database
	trap    *trap
	log     *logtest.Buffer
	metrics *telemetry.Metrics
	conn    *grpc.ClientConn
}

// embed starts a replica that is ready, on a database of its own.
func embed(t *testing.T) *embedded {
	t.Helper()
	r := &embedded{url: dbtest.New(t), trap: &trap{}, log: &logtest.Buffer{}}
	r.rig = &rig{rigtest.Embedded(t, time.Minute)}
	r.metrics = must.Get(telemetry.New(prometheus.NewRegistry(), "test"))(t)
	log := slog.New(listenerTrap{slog.NewJSONHandler(r.log, nil), new(atomic.Bool)})
	store := storetest.Open(t, r.url, func(c *db.Config) { c.Tracer, c.Observer, c.Log = r.trap, r.metrics, log })
	r.SQLPool = store.Pool()
	s := must.Get(server.New(r.options(store, log)))(t)
	r.runServer(s)
	return r
}

// options have long timeouts, because a machine that runs all tests at once is slow.
func (r *embedded) options(store *db.Store, log *slog.Logger) server.Options {
	r.T.Helper()
	keys := keyring.New(store, keytest.Sealer(r.T, 7), token.AlgEdDSA, keyring.Schedule{})
	require.NoError(r.T, store.ReadClock(r.T.Context()))
	require.NoError(r.T, keys.Refresh(r.T.Context()))
	return server.Options{
		Store: store, Keys: keys, Access: token.AccessConfig{Keys: r.PlayerLogin.Source},
		FleetTokens: []string{fleetToken}, Addr: "127.0.0.1:0",
		OpenMatch:   &openmatch.Options{Addrs: []string{"127.0.0.1:0"}, CallTimeout: time.Minute},
		CallTimeout: 30 * time.Second, ReadyTimeout: 30 * time.Second, Log: log, Metrics: r.metrics,
	}
}

// runServer runs the replica until the test ends.
func (r *embedded) runServer(s *server.Server) {
	r.T.Helper()
	require.NoError(r.T, s.Listen(r.T.Context()))
	background.Run(r.T, s.Run)
	r.SetURLs("http://" + s.Addr().String())
	conn := must.Get(grpc.NewClient(s.GRPCAddrs()[0].String(),
		grpc.WithTransportCredentials(insecure.NewCredentials())))(r.T)
	r.T.Cleanup(func() { require.NoError(r.T, conn.Close()) })
	r.conn = conn
}
