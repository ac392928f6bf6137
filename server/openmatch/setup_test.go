package openmatch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server/openmatch"
	"github.com/lattice-director/director/server/rest"
)

// Pins goroutines that outlive a stopped server.
func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

// config holds the settings that a test may change before its server starts.
type config struct {
	db.Timing
	openmatch.Options
	token string // that its clients send
}

// bundle is a server on a database, with clients over gRPC and REST.
type bundle struct {
	t      *testing.T
	store  *storetest.DB
	server *openmatch.Server
	stop   func() error // stops the server, once

	conn *grpc.ClientConn
	pb.FrontendServiceClient
	pb.BackendServiceClient
	pb.QueryServiceClient
	web *httptest.Server
}

// setup starts a server on a database of its own.
func setup(t *testing.T, change ...func(*config)) *bundle {
	return replica(t, dbtest.New(t), change...)
}

// replica starts a server on a database that other servers may use.
func replica(t *testing.T, url string, change ...func(*config)) *bundle {
	c := variant.Apply(config{Timing: db.DefaultTiming(), Options: openmatch.Options{CallTimeout: time.Minute,
		Addrs: []string{"127.0.0.1:0"}}}, change...)
	b := &bundle{t: t}
	b.store = storetest.OnDatabase(t, url, func(d *db.Config) { d.Timing, d.Log = c.Timing, slog.New(slog.DiscardHandler) })
	require.NoError(t, b.store.ReadClock(t.Context()))
	c.Store = b.store.Store
	b.server = must.Get(openmatch.New(c.Options))(t)
	b.run()
	b.conn = b.dial(grpc.WithPerRPCCredentials(bearer(c.token)))
	b.FrontendServiceClient = pb.NewFrontendServiceClient(b.conn)
	b.BackendServiceClient = pb.NewBackendServiceClient(b.conn)
	b.QueryServiceClient = pb.NewQueryServiceClient(b.conn)
	return b
}

// run runs the server until the end of the test.
func (b *bundle) run() {
	require.NoError(b.t, b.server.Listen(b.t.Context()))
	engine := must.Get(rest.New(rest.Options{}))(b.t)
	b.server.Mount(engine)
	b.web = httptest.NewUnstartedServer(engine)
	// for short calls, as in a replica
	b.web.Config.ReadTimeout, b.web.Config.WriteTimeout = 500*time.Millisecond, time.Second
	b.web.Start()
	stop := background.Serve(b.t, b.server)
	b.stop = func() error {
		b.server.EndStreams()
		b.web.Close()
		return stop()
	}
	b.t.Cleanup(func() { require.NoError(b.t, b.stop()) })
}

func (b *bundle) addr() string { return b.server.Addrs()[0].String() }

func (b *bundle) dial(options ...grpc.DialOption) *grpc.ClientConn {
	return functionstest.Dial(b.t, b.addr(), options...)
}

// bearer sends a token; "" sends none.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (t bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if t == "" {
		return nil, nil
	}
	return map[string]string{"authorization": "Bearer " + string(t)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (bearer) RequireTransportSecurity() bool { return false }

// create creates a ticket.
func (b *bundle) create(t *pb.Ticket) *pb.Ticket {
	return must.Get(b.CreateTicket(b.t.Context(), &pb.CreateTicketRequest{Ticket: t}))(b.t)
}

func (b *bundle) ticket(id string) (*pb.Ticket, error) {
	return b.GetTicket(b.t.Context(), &pb.GetTicketRequest{TicketId: id})
}

// queried returns the tickets of a pool by id.
func (b *bundle) queried(pool *pb.Pool) map[string]*pb.Ticket {
	pages := must.Get(functionstest.ReceiveAll(b.QueryTickets(b.t.Context(), &pb.QueryTicketsRequest{Pool: pool})))(b.t)
	found := map[string]*pb.Ticket{}
	for _, page := range pages {
		for _, t := range page.GetTickets() {
			require.NotContains(b.t, found, t.GetId())
			found[t.GetId()] = t
		}
	}
	return found
}

func (b *bundle) assign(connection string, ids ...string) *pb.AssignTicketsResponse {
	return must.Get(b.AssignTickets(b.t.Context(), &pb.AssignTicketsRequest{Assignments: []*pb.AssignmentGroup{{
		TicketIds: ids, Assignment: &pb.Assignment{Connection: connection},
	}}}))(b.t)
}

// match puts a ticket into a match, as FetchMatches does.
func (b *bundle) match(id string) {
	b.store.Exec("UPDATE tickets SET pending_at = clock_timestamp(), matched_in = 'm' WHERE id = $1", id)
}

// refused requires an error with exactly this code and text.
func refused(t *testing.T, code codes.Code, text string, err error) {
	t.Helper()
	require.Equal(t, code, status.Code(err), "%v", err)
	require.Equal(t, text, status.Convert(err).Message())
}

// same requires two messages to be equal, unknown fields included.
func same(t *testing.T, want, got proto.Message) {
	t.Helper()
	require.True(t, proto.Equal(want, got), "want %v\n got %v", want, got)
}

func (b *bundle) request(method, path, body string, header ...string) *http.Request {
	return webtest.Request(b.t, method, b.web.URL+path, body, header...)
}

func (b *bundle) rest(method, path, body string, header ...string) webtest.Answer {
	b.t.Helper()
	return webtest.Send(b.t, b.web.Client(), b.request(method, path, body, header...))
}

// compact removes white space from JSON: protojson varies it on purpose.
func compact(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	for line := range strings.Lines(text) {
		require.NoError(t, json.Compact(&out, []byte(line)), text)
		out.WriteByte('\n')
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// Limit and interval of tests that wait for a condition.
const (
	wait = 20 * time.Second
	tick = 5 * time.Millisecond
)
