package server_test

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/connect"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/token"
)

// TestMain fails if a stopped replica leaves goroutines running.
func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

const fleetToken = "the secret of the fleet"

// config holds the settings that a test may change before its replica starts.
type config struct {
	t        *testing.T
	db       db.Config
	schedule keyring.Schedule
	server.Options
	keks   []byte // of the key-encryption keys
	nobody bool   // no key set and no fleet token: no routes for players and game servers
}

// bundle is a replica on a database of its own, with clients.
type bundle struct {
	t      *testing.T
	store  *storetest.DB
	keys   *keyring.Keeper
	server *server.Server
	log    *logtest.Buffer
	issuer keytest.Login
	client *http.Client
	config config
	ticket string // see waitingTicket
	cookie string // of a login at the console that all requests share, and the text that its forms need
	csrf   string
	stop   func() // stops the replica and waits for its end
	sealer *token.Sealer
}

func (b *bundle) deployments() *token.ServerTokens { return b.sealer.ServerTokens() }

// setup starts a replica that is ready.
func setup(t *testing.T, change ...func(*config)) *bundle {
	t.Helper()
	b := start(t, dbtest.New(t), change...)
	require.NoError(t, b.store.ReadClock(t.Context()))
	require.NoError(t, b.keys.Refresh(t.Context()))
	b.eventually(b.server.Warm)
	return b
}

// start starts a replica on a database that may be unavailable.
func start(t *testing.T, url string, change ...func(*config)) *bundle {
	t.Helper()
	b := listen(t, url, change...)
	b.stop = background.Run(t, b.server.Run)
	return b
}

// listen returns a replica that listens, and that the test runs.
func listen(t *testing.T, url string, change ...func(*config)) *bundle {
	t.Helper()
	b := &bundle{t: t, log: new(logtest.Buffer), issuer: keytest.NewLogin(t), config: variant.Apply(defaults(t, url), change...)}
	b.open()
	b.client = newClient(t)
	require.NoError(t, b.server.Listen(t.Context()))
	return b
}

// defaults returns settings with long timeouts, because a machine that runs all tests at once is slow.
func defaults(t *testing.T, url string) config {
	t.Helper()
	return config{
		t: t, keks: []byte{7},
		db: db.Config{URL: url, MaxConns: 8, BatchTimeout: time.Minute, HoldTimeout: time.Minute},
		Options: server.Options{FleetTokens: []string{fleetToken}, OpsTokens: []string{opsToken}, OpenParties: true,
			BackendTokens: backendTokens, Listener: webtest.Listen(t), CallTimeout: 30 * time.Second,
			ReadyTimeout: 30 * time.Second},
	}
}

func (b *bundle) open() {
	b.t.Helper()
	log := slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.config.db.Log, b.config.Log = log, log
	b.store = storetest.OnDatabase(b.t, b.config.db.URL, func(c *db.Config) { *c = b.config.db })
	b.sealer = keytest.Sealer(b.t, b.config.keks...)
	b.keys = keyring.New(b.store.Store, b.sealer, token.AlgEdDSA, b.config.schedule)

	o := b.config.Options
	o.Store, o.Keys, o.ConnectMinter = b.store.Store, b.keys, connect.New(b.sealer)
	if b.config.nobody {
		o.FleetTokens = nil
	} else {
		o.ServerTokens = b.sealer.ServerTokens()
	}
	if o.Access.Keys == nil && !b.config.nobody {
		o.Access.Keys = b.issuer.Source
	}
	b.server = must.Get(server.New(o))(b.t)
}

// duel is a matchmake request for the region and mode of registration.
var duel = fields{"region": "eu", "mode": "duel"}

func registration(id string) fields {
	return fields{
		"instance_id": id, "endpoint": id + ".example:7777", "region": "eu", "modes": []string{"duel"}, "capacity": 64,
		"boot_id": "boot-1", "reports_seats": true,
	}
}

// register registers an instance and returns the fields that identify it in later calls.
func (b *bundle) register(id string, change ...func(fields)) fields {
	b.t.Helper()
	body := registration(id)
	for _, c := range change {
		c(body)
	}
	return fields{"instance_id": id, "incarnation": b.fleet("register", body).ok(http.StatusOK)["incarnation"]}
}

// seat reserves a seat for the player and resolves it.
func (b *bundle) seat(sub string) (session, resolved fields) {
	b.t.Helper()
	session = b.matchmake(sub, duel).ok(http.StatusOK)
	return session, b.resolve(sub, session["session_handle"]).ok(http.StatusOK)
}

// How long, and in which interval, eventually checks its condition.
const (
	wait = 20 * time.Second
	tick = 10 * time.Millisecond
)
