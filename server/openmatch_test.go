package server_test

import (
	"bufio"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/openmatch"
	"github.com/lattice-director/director/token"
)

func openMatch(c *config) { c.OpenMatch = &openmatch.Options{Addrs: []string{"127.0.0.1:0"}} }

// grpcConn makes a client connection to the gRPC listener of the replica.
func (b *bundle) grpcConn() *grpc.ClientConn {
	b.t.Helper()
	return functionstest.Dial(b.t, b.server.GRPCAddrs()[0].String())
}

// Open Match's paths get answers in its own format, and all other paths get ours.
func TestOpenMatchBesideOtherFaces(t *testing.T) {
	t.Parallel()
	b := setup(t, openMatch)
	created, err := pb.NewFrontendServiceClient(b.grpcConn()).CreateTicket(t.Context(), &pb.CreateTicketRequest{Ticket: &pb.Ticket{}})
	require.NoError(t, err)
	wire := http.DefaultTransport.(*http.Transport).Clone()
	defer wire.CloseIdleConnections()
	b.client = &http.Client{Transport: wire} // without validation: api/openapi.yaml does not describe these answers
	require.Equal(t, created.GetId(), b.get("/v1/frontendservice/tickets/" + created.GetId()).ok(http.StatusOK)["id"])
	require.Equal(t, fields{"code": 5.0, "message": "Not Found"}, b.get("/v1/queryservice/x").ok(http.StatusNotFound))
	for _, path := range []string{"/v1", "/v1/frontendservice", "/v1/matchfunction:run", "/v2/frontendservice/tickets"} {
		b.get(path).problem(http.StatusNotFound, "route_not_found")
	}
	b.register("a")
	b.seat("alice")
}

// A replica that serves only Open Match has no routes for players and game servers.
func TestOpenMatchAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, openMatch, func(c *config) { c.nobody = true })
	_, err := pb.NewFrontendServiceClient(b.grpcConn()).CreateTicket(t.Context(), &pb.CreateTicketRequest{Ticket: &pb.Ticket{}})
	require.NoError(t, err)
	wire := http.DefaultTransport.(*http.Transport).Clone()
	defer wire.CloseIdleConnections()
	// without validation: api/openapi.yaml has routes that are not mounted here
	b.client = &http.Client{Transport: wire}
	b.matchmake("alice", fields{"region": "eu", "mode": "duel"}).problem(http.StatusNotFound, "route_not_found")
	b.post("/fleet/register", fields{}).problem(http.StatusNotFound, "route_not_found")
	b.get("/readyz").ok(http.StatusOK)
	for _, alone := range []func(*server.Options){
		func(o *server.Options) { o.FleetTokens = nil }, func(o *server.Options) { o.Access.Keys = nil },
	} {
		o := server.Options{Store: b.store.Store, Keys: b.keys, FleetTokens: []string{fleetToken}, Access: token.AccessConfig{Keys: b.issuer.Source}}
		alone(&o)
		_, err := server.New(o)
		require.Error(t, err, "without Open Match both are required")
	}
}

// A replica without Open Match does not serve its paths.
func TestWithoutOpenMatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Empty(t, b.server.GRPCAddrs())
	b.get("/v1/frontendservice/tickets/x").problem(http.StatusNotFound, "route_not_found")
}

// Open streams do not keep a replica from stopping: they end with an error, and the health service reports it.
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
	serving, err := health.Recv()
	require.NoError(t, err)
	require.Equal(t, healthpb.HealthCheckResponse_SERVING, serving.GetStatus())
	b.stop()
	_, err = stream.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), `"error"`)
	for err = nil; err == nil; { // NOT_SERVING may arrive before the end of the stream.
		_, err = health.Recv()
	}
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.Contains(t, b.log.String(), `"clean":true`)
}

// Open Match without authentication needs an explicit setting unless it listens on loopback. For its REST API the
// address of the replica counts.
func TestOpenMatchIsNotOpenByAccident(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := server.Options{
		Store: b.store.Store, Keys: b.keys, Access: token.AccessConfig{Keys: b.issuer.Source}, FleetTokens: []string{fleetToken}, Addr: ":8080",
		OpenMatch: &openmatch.Options{Addrs: []string{"127.0.0.1:50504"}},
	}
	_, err := server.New(good)
	require.ErrorContains(t, err, "clients that reach :8080 need no credentials")
}
