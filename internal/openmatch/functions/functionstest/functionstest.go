// Package functionstest serves match functions and evaluators for tests, on loopback.
package functionstest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// RunServer is the stream of a match function.
type RunServer = grpc.ServerStreamingServer[pb.RunResponse]

// MMF is a match function.
type MMF struct {
	pb.UnimplementedMatchFunctionServer

	Function func(*pb.RunRequest, RunServer) error
}

// Run implements pb.MatchFunctionServer.
func (m MMF) Run(r *pb.RunRequest, stream RunServer) error { return m.Function(r, stream) }

// Listen opens a port of loopback.
func Listen(t testing.TB, addr string) net.Listener {
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", addr)
	require.NoError(t, err)
	return l
}

// Serve runs a gRPC server until stop or the end of the test.
func Serve(t testing.TB, l net.Listener, register func(*grpc.Server),
	options ...grpc.ServerOption) (at *pb.FunctionConfig, stop func()) {
	server := grpc.NewServer(options...)
	register(server)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return ConfigOf(l.Addr()), server.Stop
}

// ServeMMF runs a match function over gRPC.
func ServeMMF(t testing.TB, run func(*pb.RunRequest, RunServer) error) *pb.FunctionConfig {
	at, _ := Serve(t, Listen(t, "127.0.0.1:0"),
		func(s *grpc.Server) { pb.RegisterMatchFunctionServer(s, MMF{Function: run}) })
	return at
}

// ServeREST runs a match function over HTTP.
func ServeREST(t testing.TB, run http.HandlerFunc) *pb.FunctionConfig {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/matchfunction:run", run)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	at := ConfigOf(server.Listener.Addr())
	at.Type = pb.FunctionConfig_REST
	return at
}

// Config is the address of a match function over gRPC.
func Config(host string, port int32) *pb.FunctionConfig {
	return &pb.FunctionConfig{Host: host, Port: port}
}

// ConfigOf is the address of a listener.
func ConfigOf(addr net.Addr) *pb.FunctionConfig {
	tcp := addr.(*net.TCPAddr)
	return Config(tcp.IP.String(), int32(tcp.Port))
}
