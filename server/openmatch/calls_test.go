package openmatch_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/internal/testkit/metrictest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server/openmatch"
)

// beginOnly starts a call, sends nothing, and returns the code that it ends with.
func beginOnly(t *testing.T, conn *grpc.ClientConn, method string) codes.Code {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	stream := must.Get(conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, method))(t)
	code := status.Code(stream.RecvMsg(&pb.Ticket{}))
	require.NoError(t, ctx.Err(), "the call is ended by the server")
	return code
}

// Pins requests that are never sent completely: their callers, even without credentials, could occupy memory for ever.
func TestIncompleteRequestsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.Tokens, c.token, c.CallTimeout = []string{anyToken}, anyToken, 50*time.Millisecond })
	stranger := b.dial()
	for _, method := range []string{
		pb.FrontendService_CreateTicket_FullMethodName, pb.QueryService_QueryTickets_FullMethodName, pb.BackendService_FetchMatches_FullMethodName, "/made/up",
	} {
		require.Equal(t, codes.Unauthenticated, beginOnly(t, stranger, method), method)
	}
	for _, method := range []string{pb.FrontendService_CreateTicket_FullMethodName, pb.QueryService_QueryTickets_FullMethodName, healthpb.Health_Check_FullMethodName} {
		require.Equal(t, codes.DeadlineExceeded, beginOnly(t, b.conn, method), method)
	}
}

// Pins answers that are held for ever for callers that do not read, and a replica that waits for these when it stops.
func TestUnreadAnswersEndTheirCalls(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(b *bundle) error{
		"a query": func(b *bundle) error {
			_, err := b.QueryTickets(b.t.Context(), &pb.QueryTicketsRequest{Pool: &pb.Pool{}})
			return err
		},
		"matches": func(b *bundle) error {
			large := strings.Repeat("x", 2<<20)
			var matches []*pb.Match
			for _, id := range []string{"1", "2", "3"} {
				matches = append(matches, &pb.Match{MatchId: id, MatchProfile: large})
			}
			at := functionstest.ServeMMF(b.t, functionstest.Proposing(matches...))
			_, err := b.FetchMatches(b.t.Context(), &pb.FetchMatchesRequest{Config: at, Profile: &pb.MatchProfile{}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			metrics := prometheus.NewRegistry()
			b := setup(t, func(c *config) {
				c.CallTimeout, c.Metrics = 2*time.Second, metrics
				openmatch.WithSendTimeout(&c.Options, time.Second)
			})
			for range 20 {
				b.create(&pb.Ticket{SearchFields: &pb.SearchFields{Tags: []string{strings.Repeat("x", 60<<10)}}})
			}
			require.NoError(t, call(b))
			require.Eventually(t, func() bool { return metrictest.Sum(t, metrics, "director_openmatch_calls_open") == 1 },
				wait, tick)
			require.Eventually(t, func() bool { return metrictest.Sum(t, metrics, "director_openmatch_calls_open") == 0 },
				wait, tick)
		})
	}
}

// Pins answers of ended calls that gRPC holds while a client that does not read keeps its connection: watchers that are
// cut off and call again would fill the memory.
func TestUnreadAnswersAreFreed(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { openmatch.WithSendTimeout(&c.Options, 100*time.Millisecond) })
	id := b.create(&pb.Ticket{}).GetId()
	other := b.watch(id)
	deaf := b.dial(grpc.WithStaticStreamWindowSize(64 << 10))
	_, err := pb.NewFrontendServiceClient(deaf).WatchAssignments(t.Context(), &pb.WatchAssignmentsRequest{TicketId: id})
	require.NoError(t, err)
	require.Equal(t, connectivity.Ready, deaf.GetState())
	for _, n := range []string{"1", "2", "3", "4"} {
		connection := n + strings.Repeat("x", 60<<10)
		b.assign(connection, id)
		other.hears(connection)
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	require.True(t, deaf.WaitForStateChange(ctx, connectivity.Ready), "the connection is closed")
	b.assign("host:5", id)
	other.hears("host:5")
}

// Pins an unbounded number of calls on a connection.
func TestStreamsOfAConnectionAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := webtest.Dial(t, b.addr())
	_, err := io.WriteString(conn, http2.ClientPreface)
	require.NoError(t, err)
	framer := http2.NewFramer(conn, conn)
	require.NoError(t, framer.WriteSettings())
	frame, err := framer.ReadFrame()
	require.NoError(t, err)
	most, said := frame.(*http2.SettingsFrame).Value(http2.SettingMaxConcurrentStreams)
	require.True(t, said)
	require.EqualValues(t, 16_384, most)
}

// Pins an unbounded number of health streams, which need no credentials.
func TestHealthStreamsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	watch := func() (healthpb.Health_WatchClient, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		stream, err := healthpb.NewHealthClient(b.conn).Watch(ctx, &healthpb.HealthCheckRequest{})
		require.NoError(t, err)
		return stream, cancel
	}
	var leave context.CancelFunc
	for range 64 {
		var stream healthpb.Health_WatchClient
		stream, leave = watch()
		_, err := stream.Recv()
		require.NoError(t, err)
	}
	stream, _ := watch()
	_, err := stream.Recv()
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	leave()
	require.Eventually(t, func() bool {
		stream, _ := watch()
		_, err := stream.Recv()
		return err == nil
	}, wait, tick)
}
