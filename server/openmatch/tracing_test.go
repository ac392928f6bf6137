package openmatch_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/server/rest"
)

const (
	tracedAs    = "0af7651916cd43dd8448eb211c80319c"
	traceParent = "00-" + tracedAs + "-b7ad6b7169203331-01"
)

// eventuallyTraced waits for exactly these ended spans in the trace, and removes them.
func eventuallyTraced(t *testing.T, spans *tracetest.SpanRecorder, want ...string) {
	t.Helper()
	slices.Sort(want)
	require.Eventually(t, func() bool {
		var names []string
		for _, s := range spans.Ended() {
			if s.SpanContext().TraceID().String() == tracedAs {
				names = append(names, s.Name())
			}
		}
		slices.Sort(names)
		return slices.Equal(want, names)
	}, wait, tick, "%v", want)
	spans.Reset()
}

// Pins a trace that ends at the director: its statements and calls of match functions belong to the caller's trace.
func TestCallsAreTraced(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	b := setup(t, func(c *config) { c.Tracer = provider })
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", traceParent)
	_, err := healthpb.NewHealthClient(b.conn).Check(ctx, &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	require.Empty(t, spans.Started(), "health checks are not traced")

	_, err = b.CreateTicket(ctx, &pb.CreateTicketRequest{Ticket: &pb.Ticket{}})
	require.NoError(t, err)
	eventuallyTraced(t, spans, "openmatch.FrontendService/CreateTicket", "group ticket")

	told := make(chan []string, 1)
	for name, at := range map[string]*pb.FunctionConfig{
		"openmatch.MatchFunction/Run": functionstest.ServeMMF(t, func(_ *pb.RunRequest, stream functionstest.RunServer) error {
			told <- metadata.ValueFromIncomingContext(stream.Context(), "traceparent")
			return nil
		}),
		"HTTP POST": functionstest.ServeREST(t, func(_ http.ResponseWriter, r *http.Request) { told <- r.Header.Values("Traceparent") }),
	} {
		request := &pb.FetchMatchesRequest{Config: at, Profile: &pb.MatchProfile{}}
		matches, err := functionstest.ReceiveAll(b.FetchMatches(ctx, request))
		require.NoError(t, err)
		require.Empty(t, matches)
		require.Contains(t, (<-told)[0], tracedAs)
		eventuallyTraced(t, spans, "openmatch.BackendService/FetchMatches", name)
	}

	engine, err := rest.New(rest.Options{Tracer: provider})
	require.NoError(t, err)
	b.server.Mount(engine)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, frontendPath+"/tickets/x", nil)
	r.Header.Set("Traceparent", traceParent)
	// no other way in
	r.Header.Set("Grpc-Metadata-Traceparent", strings.Replace(traceParent, tracedAs, strings.Repeat("f", 32), 1))
	engine.ServeHTTP(httptest.NewRecorder(), r)
	eventuallyTraced(t, spans, "GET /v1/frontendservice/*path", "openmatch.FrontendService/GetTicket")
}
