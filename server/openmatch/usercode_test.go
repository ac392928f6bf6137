package openmatch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// User code of the tests: real servers on loopback. The exported names are for the tests in package openmatch_test.

// RunServer is the stream of a match function.
type RunServer = grpc.ServerStreamingServer[pb.RunResponse]

// mmf is a match function.
type mmf struct {
	pb.UnimplementedMatchFunctionServer
	run func(*pb.RunRequest, RunServer) error
}

func (m mmf) Run(r *pb.RunRequest, stream RunServer) error { return m.run(r, stream) }

// Proposes sends some matches, whose ids are numbers.
func Proposes(n int) func(*pb.RunRequest, RunServer) error {
	return func(_ *pb.RunRequest, stream RunServer) error {
		for i := range n {
			if err := stream.Send(&pb.RunResponse{Proposal: &pb.Match{MatchId: fmt.Sprint(i)}}); err != nil {
				return err
			}
		}
		return nil
	}
}

// listen opens a port of loopback.
func listen(t *testing.T, addr string) net.Listener {
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", addr)
	require.NoError(t, err)
	return l
}

// serve runs a gRPC server until stop or the end of the test.
func serve(t *testing.T, l net.Listener, register func(*grpc.Server), options ...grpc.ServerOption) (at *pb.FunctionConfig, stop func()) {
	server := grpc.NewServer(options...)
	register(server)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return configOf(l.Addr()), server.Stop
}

// ServeMMF runs a match function over gRPC.
func ServeMMF(t *testing.T, run func(*pb.RunRequest, RunServer) error) *pb.FunctionConfig {
	at, _ := serve(t, listen(t, "127.0.0.1:0"), func(s *grpc.Server) { pb.RegisterMatchFunctionServer(s, mmf{run: run}) })
	return at
}

// ServeREST runs a match function over HTTP.
func ServeREST(t *testing.T, run http.HandlerFunc) *pb.FunctionConfig {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/matchfunction:run", run)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	at := configOf(server.Listener.Addr())
	at.Type = pb.FunctionConfig_REST
	return at
}

func config(host string, port int32) *pb.FunctionConfig {
	return &pb.FunctionConfig{Host: host, Port: port}
}

func configOf(addr net.Addr) *pb.FunctionConfig {
	tcp := addr.(*net.TCPAddr)
	return config(tcp.IP.String(), int32(tcp.Port))
}

func makeFunctions(t *testing.T, allowed ...string) *functions {
	return functionsOf(t, Options{Functions: allowed})
}

func functionsOf(t *testing.T, o Options) *functions {
	o.Registration = time.Second
	f, err := newFunctions(o.withDefaults())
	require.NoError(t, err)
	t.Cleanup(f.close)
	return f
}

// runs calls a match function and returns the ids of its proposals.
func runs(ctx context.Context, f *functions, at *pb.FunctionConfig) (ids []string, err error) {
	err = f.run(ctx, at, &pb.MatchProfile{Name: "a profile"}, func(m *pb.Match) error {
		ids = append(ids, m.GetMatchId())
		return nil
	})
	return ids, err
}
