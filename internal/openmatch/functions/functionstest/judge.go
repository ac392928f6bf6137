package functionstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// Judge is an evaluator as users write one: it gets matches from next, nil after the last one, and accepts by accept.
type Judge func(next func() (*pb.Match, error), accept func(id string) error) error

// GRPCJudge serves a Judge.
type GRPCJudge struct {
	pb.UnimplementedEvaluatorServer

	Judge Judge
}

// Evaluate implements pb.EvaluatorServer.
func (g GRPCJudge) Evaluate(stream grpc.BidiStreamingServer[pb.EvaluateRequest, pb.EvaluateResponse]) error {
	return g.Judge(func() (*pb.Match, error) {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return r.GetMatch(), err
	}, func(id string) error { return stream.Send(&pb.EvaluateResponse{MatchId: id}) })
}

// OverGRPC serves the judge and returns its address.
func (j Judge) OverGRPC(t testing.TB) string {
	l := Listen(t, "127.0.0.1:0")
	Serve(t, l, func(s *grpc.Server) { pb.RegisterEvaluatorServer(s, GRPCJudge{Judge: j}) })
	return "grpc://" + l.Addr().String()
}

// OverHTTP serves the judge and returns its address.
func (j Judge) OverHTTP(t testing.TB) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Acceptances are written while proposals are read, which HTTP/1.1 servers have to be asked for.
		if r.URL.Path != "/v1/evaluator/matches:evaluate" || http.NewResponseController(w).EnableFullDuplex() != nil {
			http.NotFound(w, r)
			return
		}
		proposals := json.NewDecoder(r.Body)
		err := j(func() (*pb.Match, error) {
			var text json.RawMessage
			if err := proposals.Decode(&text); errors.Is(err, io.EOF) {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
			if !strings.Contains(string(text), `"matchId"`) {
				return nil, errors.New("camelCase is what evaluators read")
			}
			var request pb.EvaluateRequest
			err := protojson.Unmarshal(text, &request)
			return request.GetMatch(), err
		}, func(id string) error {
			fmt.Fprintf(w, `{"result":{"match_id":%q}}`+"\n", id)
			return http.NewResponseController(w).Flush()
		})
		if err != nil {
			fmt.Fprintf(w, `{"error":{"code":%d,"message":%q}}`, status.Code(err), status.Convert(err).Message())
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}
