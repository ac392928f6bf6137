package pb_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/testkit/must"
)

// Each HTTP request must arrive as the message given as JSON. Routers easily mishandle paths with a colon or with a
// variable in the middle.
func TestHTTPReachesTheMethods(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]struct{ method, message string }{
		"POST /v1/frontendservice/tickets":                  {"FrontendService/CreateTicket", `{"ticket": {"id": "x"}}`},
		"DELETE /v1/frontendservice/tickets/t1":             {"FrontendService/DeleteTicket", `{"ticket_id": "t1"}`},
		"GET /v1/frontendservice/tickets/t1":                {"FrontendService/GetTicket", `{"ticket_id": "t1"}`},
		"GET /v1/frontendservice/tickets/t1/assignments":    {"FrontendService/WatchAssignments", `{"ticket_id": "t1"}`},
		"POST /v1/frontendservice/backfills/b1/acknowledge": {"FrontendService/AcknowledgeBackfill", `{"backfill_id": "b1", "assignment": {"connection": "c"}}`},
		"POST /v1/frontendservice/backfills":                {"FrontendService/CreateBackfill", `{"backfill": {"generation": "2"}}`},
		"DELETE /v1/frontendservice/backfills/b1":           {"FrontendService/DeleteBackfill", `{"backfill_id": "b1"}`},
		"GET /v1/frontendservice/backfills/b1":              {"FrontendService/GetBackfill", `{"backfill_id": "b1"}`},
		"PATCH /v1/frontendservice/backfills":               {"FrontendService/UpdateBackfill", `{"backfill": {"id": "b1"}}`},
		"POST /v1/backendservice/matches:fetch":             {"BackendService/FetchMatches", `{"config": {"host": "h", "port": 1, "type": "REST"}, "profile": {"name": "p"}}`},
		"POST /v1/backendservice/tickets:assign":            {"BackendService/AssignTickets", `{"assignments": [{"ticket_ids": ["a"]}]}`},
		"POST /v1/backendservice/tickets:release":           {"BackendService/ReleaseTickets", `{"ticket_ids": ["a", "b"]}`},
		"POST /v1/backendservice/tickets:releaseall":        {"BackendService/ReleaseAllTickets", `{}`},
		"POST /v1/queryservice/tickets:query":               {"QueryService/QueryTickets", `{"pool": {"double_range_filters": [{"max": "Infinity"}]}}`},
		"POST /v1/queryservice/ticketids:query":             {"QueryService/QueryTicketIds", `{"pool": {"name": "p"}}`},
		"POST /v1/queryservice/backfills:query":             {"QueryService/QueryBackfills", `{"pool": {"createdAfter": "2026-01-01T00:00:00.000000001Z"}}`},
		"POST /v1/matchfunction:run":                        {"MatchFunction/Run", `{"profile": {"name": "p"}}`},
		"POST /v1/evaluator/matches:evaluate":               {"Evaluator/Evaluate", `{"match": {"match_id": "m"}}`},
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			s := &recorder{}
			verb, path, _ := strings.Cut(call, " ")
			body := want.message
			if verb == http.MethodGet || verb == http.MethodDelete {
				body = ""
			}
			answer := httptest.NewRecorder()
			gateway(t, s).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), verb, path, strings.NewReader(body)))
			require.Equal(t, http.StatusNotImplemented, answer.Code, answer.Body)
			require.Equal(t, "/openmatch."+want.method, s.method)
			expected := s.request.ProtoReflect().New().Interface()
			require.NoError(t, protojson.Unmarshal([]byte(want.message), expected))
			require.True(t, proto.Equal(expected, s.request), "arrived as %v", s.request)
		})
	}
}

// recorder is a server that implements no method and records the requests.
type recorder struct {
	method  string
	request proto.Message
}

func (s *recorder) unary(_ context.Context, req any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
	s.method, s.request = info.FullMethod, req.(proto.Message)
	return nil, status.Error(codes.Unimplemented, "")
}

func (s *recorder) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
	s.method = info.FullMethod
	if info.IsClientStream {
		s.request = &pb.EvaluateRequest{}
		if err := stream.RecvMsg(s.request); err != nil {
			return err
		}
	}
	return h(srv, &recordedStream{stream, s})
}

// recordedStream is a stream whose received messages are recorded.
type recordedStream struct {
	grpc.ServerStream
	s *recorder
}

func (r *recordedStream) RecvMsg(m any) error {
	err := r.ServerStream.RecvMsg(m)
	r.s.request = m.(proto.Message)
	return err
}

// gateway is the HTTP gateway of a server of all services.
func gateway(t *testing.T, s *recorder) http.Handler {
	t.Helper()
	server := grpc.NewServer(grpc.UnaryInterceptor(s.unary), grpc.StreamInterceptor(s.stream))
	pb.RegisterFrontendServiceServer(server, pb.UnimplementedFrontendServiceServer{})
	pb.RegisterBackendServiceServer(server, pb.UnimplementedBackendServiceServer{})
	pb.RegisterQueryServiceServer(server, pb.UnimplementedQueryServiceServer{})
	pb.RegisterMatchFunctionServer(server, pb.UnimplementedMatchFunctionServer{})
	pb.RegisterEvaluatorServer(server, pb.UnimplementedEvaluatorServer{})
	pipe := bufconn.Listen(1 << 16)
	go func() { _ = server.Serve(pipe) }()
	t.Cleanup(server.Stop)
	conn := must.Get(grpc.NewClient("passthrough:pipe", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) })))(t)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })

	mux := runtime.NewServeMux()
	for _, register := range []func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error{
		pb.RegisterFrontendServiceHandler, pb.RegisterBackendServiceHandler, pb.RegisterQueryServiceHandler,
		pb.RegisterMatchFunctionHandler, pb.RegisterEvaluatorHandler,
	} {
		require.NoError(t, register(t.Context(), mux, conn))
	}
	return mux
}
