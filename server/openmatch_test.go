package server_test

import (
	"bufio"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/openmatch"
	"github.com/lattice-director/director/token"
)

func openMatch(c *config) { c.OpenMatch = &openmatch.Options{Addrs: []string{"127.0.0.1:0"}} }

// grpcConn is a client of a replica's gRPC.
func (b *bundle) grpcConn() *grpc.ClientConn {
	b.t.Helper()
	conn, err := grpc.NewClient(b.server.GRPCAddrs()[0].String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(b.t, err)
	b.t.Cleanup(func() { require.NoError(b.t, conn.Close()) })
	return conn
}

// Pins Open Match's paths answered as if they were ours, or other paths as if they were Open Match's.
func TestOpenMatchBesideTheOthers(t *testing.T) {
	t.Parallel()
	b := setup(t, openMatch)
	created, err := pb.NewFrontendServiceClient(b.grpcConn()).CreateTicket(t.Context(), &pb.CreateTicketRequest{Ticket: &pb.Ticket{}})
	require.NoError(t, err)
	wire := http.DefaultTransport.(*http.Transport).Clone()
	defer wire.CloseIdleConnections()
	b.client = &http.Client{Transport: wire} // these answers are of another contract
	require.Equal(t, created.GetId(), b.get("/v1/frontendservice/tickets/" + created.GetId()).ok(http.StatusOK)["id"])
	require.Equal(t, fields{"code": 5.0, "message": "Not Found"}, b.get("/v1/queryservice/x").ok(http.StatusNotFound))
	for _, path := range []string{"/v1", "/v1/frontendservice", "/v1/matchfunction:run", "/v2/frontendservice/tickets"} {
		b.get(path).problem(http.StatusNotFound, "route_not_found")
	}
	b.register("a")
	b.seat("alice")
}

// Pins routes that are open, or say "unauthorized", where nobody could ever be let in.
func TestOpenMatchAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, openMatch, func(c *config) { c.nobody = true })
	_, err := pb.NewFrontendServiceClient(b.grpcConn()).CreateTicket(t.Context(), &pb.CreateTicketRequest{Ticket: &pb.Ticket{}})
	require.NoError(t, err)
	wire := http.DefaultTransport.(*http.Transport).Clone()
	defer wire.CloseIdleConnections()
	b.client = &http.Client{Transport: wire} // the contract has these routes
	b.matchmake("alice", fields{"region": "eu", "mode": "duel"}).problem(http.StatusNotFound, "route_not_found")
	b.post("/fleet/register", fields{}).problem(http.StatusNotFound, "route_not_found")
	b.get("/readyz").ok(http.StatusOK)
	for _, alone := range []func(*server.Options){
		func(o *server.Options) { o.FleetTokens = nil }, func(o *server.Options) { o.Access.Keys = nil },
	} {
		o := server.Options{Store: b.store, Keys: b.keys, FleetTokens: []string{fleetToken}, Access: token.AccessConfig{Keys: b.issuer.source}}
		alone(&o)
		_, err := server.New(o)
		require.Error(t, err, "without Open Match all of it is wanted")
	}
}

// Pins a replica without Open Match that answers its paths.
func TestOpenMatchThatIsNotWanted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Empty(t, b.server.GRPCAddrs())
	b.get("/v1/frontendservice/tickets/x").problem(http.StatusNotFound, "route_not_found")
}

// Pins streams that keep a replica from stopping, or that end without a word; and health that says nothing of it.
func TestStoppingWithWatchers(t *testing.T) {
	t.Parallel()
	b := setup(t, openMatch)
	conn := b.grpcConn()
	created, err := pb.NewFrontendServiceClient(conn).CreateTicket(t.Context(), &pb.CreateTicketRequest{Ticket: &pb.Ticket{}})
	require.NoError(t, err)
	stream, err := pb.NewFrontendServiceClient(conn).WatchAssignments(t.Context(), &pb.WatchAssignmentsRequest{TicketId: created.GetId()})
	require.NoError(t, err)
	_, err = pb.NewBackendServiceClient(conn).AssignTickets(t.Context(), &pb.AssignTicketsRequest{Assignments: []*pb.AssignmentGroup{{
		TicketIds: []string{created.GetId()}, Assignment: &pb.Assignment{Connection: "host:1"},
	}}})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	wire := http.DefaultTransport.(*http.Transport).Clone()
	defer wire.CloseIdleConnections()
	res, err := wire.RoundTrip(b.request(http.MethodGet, "/v1/frontendservice/tickets/"+created.GetId()+"/assignments", nil))
	require.NoError(t, err)
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	require.True(t, lines.Scan())

	health, err := healthpb.NewHealthClient(conn).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	heard, err := health.Recv()
	require.NoError(t, err)
	require.Equal(t, healthpb.HealthCheckResponse_SERVING, heard.GetStatus())
	b.stop()
	_, err = stream.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), `"error"`)
	for err = nil; err == nil; { // it may hear of the end of service before the end of the stream
		_, err = health.Recv()
	}
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.Contains(t, b.log.String(), `"clean":true`)
}

// Pins a replica that serves Open Match to everybody because nobody thought of it: over REST its own address counts.
func TestOpenMatchIsNotOpenByAccident(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := server.Options{
		Store: b.store, Keys: b.keys, Access: token.AccessConfig{Keys: b.issuer.source}, FleetTokens: []string{fleetToken}, Addr: ":8080",
		OpenMatch: &openmatch.Options{Addrs: []string{"127.0.0.1:50504"}},
	}
	_, err := server.New(good)
	require.ErrorContains(t, err, "anybody who reaches :8080 would be let in")
}
