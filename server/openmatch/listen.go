package openmatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// serverPings find clients whose machine is gone; a watcher may be silent for ever.
var serverPings = keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}

func (s *Server) makeGRPC() error {
	config, err := s.options.ClientTLS(s.options.TLS)
	if err != nil {
		return err
	}
	transport := insecure.NewCredentials()
	if config != nil {
		transport = credentials.NewTLS(config)
	}
	// Open Match's own clients ping every 20 s, also without a stream, and its servers allow that every 10 s. gRPC's
	// default policy would disconnect such clients.
	pings := keepalive.EnforcementPolicy{MinTime: s.options.minPing, PermitWithoutStream: true}
	s.grpc = grpc.NewServer(append(traceCalls(s.options.Tracer),
		grpc.Creds(handshaker{transport, s.sendQueues}), grpc.ForceServerCodecV2(newQueueingCodec()),
		grpc.ConnectionTimeout(10*time.Second),
		grpc.InTapHandle(s.tapCall), grpc.UnaryInterceptor(s.interceptUnary), grpc.StreamInterceptor(s.interceptStream),
		grpc.KeepaliveEnforcementPolicy(pings), grpc.KeepaliveParams(serverPings),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxHeaderListSize(maxHeaders), grpc.MaxConcurrentStreams(maxStreams),
		grpc.WaitForHandlers(true),
		grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(window),
		// reuse grown stacks; further calls get goroutines of their own
		grpc.NumStreamWorkers(uint32(16*runtime.GOMAXPROCS(0))),
	)...)
	s.Register(s.grpc)
	// Clients ask for the health of Open Match's services only; those of health and reflection are registered below.
	for name := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	healthpb.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	s.methodsByName = map[string]grpc.MethodInfo{}
	for name, service := range s.grpc.GetServiceInfo() {
		for _, method := range service.Methods {
			s.methodsByName["/"+name+"/"+method.Name] = method
		}
	}
	return nil
}

// Listen opens the listeners of Addrs, once. Errors: an address cannot be listened on; then none is open.
func (s *Server) Listen(ctx context.Context) error {
	if s.grpcListeners != nil {
		return nil
	}
	open := slices.Clone(s.options.Listeners)
	for _, addr := range s.options.Addrs {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
		if err != nil {
			for _, l := range open { // the caller neither serves nor stops after an error
				_ = l.Close()
			}
			return err
		}
		open = append(open, l)
	}
	s.grpcListeners = open
	return nil
}

// Addrs returns the addresses of gRPC, after Listen.
func (s *Server) Addrs() []net.Addr {
	var addrs []net.Addr
	for _, l := range s.grpcListeners {
		addrs = append(addrs, l.Addr())
	}
	return addrs
}

// Serve answers calls until [Server.Stop], or until a listener fails. Errors: the listener's.
func (s *Server) Serve() error {
	// The channel has room for each of them, so that no goroutine stays behind when the first error is returned.
	failed := make(chan error, len(s.grpcListeners)+1)
	for _, l := range append([]net.Listener{s.gateway.listener}, s.grpcListeners...) {
		go func() { failed <- s.grpc.Serve(l) }()
	}
	for range cap(failed) {
		if err := <-failed; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			return err
		}
	}
	return nil
}

// Run runs the hub of watchers and the cycles of FetchMatches until ctx ends.
func (s *Server) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	parts := map[string]func(context.Context) error{}
	if s.options.Matchmaker == nil {
		parts["cycle"] = s.matchmaker.Engine.Run
	}
	if s.options.Hub == nil {
		parts["watch"] = s.watchHub.Run
	}
	for name, run := range parts {
		running.Go(func() {
			// The rest of the server is still of use: each part serves calls of its own.
			if err := run(ctx); err != nil && ctx.Err() == nil {
				s.options.Log.LogAttrs(ctx, slog.LevelError, "a part of the Open Match server stopped early",
					slog.String("part", name), slog.Any("error", err))
			}
		})
	}
}

// Drain reports the server as not serving, for load balancers. Calls are still answered.
func (s *Server) Drain() { s.health.Shutdown() }

// EndStreams ends the streams of watchers and fetchers as Unavailable, so that they retry on another replica.
func (s *Server) EndStreams() {
	s.Drain()
	s.endStreams()
}

// stopGrace is how long a client may take to send what it has begun, and to close its connection, once the server
// stops.
const stopGrace = 250 * time.Millisecond

// Stop calls [Server.EndStreams], lets other calls finish until ctx ends, and then cancels the rest. A call whose
// request does not arrive is not waited for, nor is a client that keeps its connection open. Call it after the REST
// mapping has answered its last request. Errors: calls were canceled.
func (s *Server) Stop(ctx context.Context) (err error) {
	s.EndStreams()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.grpc.GracefulStop()
	}()
	// GracefulStop alone would wait for clients that keep their connections open.
	if err = s.closeConns(ctx, done); err != nil {
		s.sendQueues.closeIdle(0)
		s.grpc.Stop()
		<-done
	}
	if s.options.Matchmaker == nil {
		s.matchmaker.Close()
	}
	return errors.Join(err, s.gateway.clientConn.Close())
}

// closeConns closes connections without a call until all are closed. Errors: ctx ended before.
func (s *Server) closeConns(ctx context.Context, done <-chan struct{}) error {
	look := time.NewTicker(stopGrace)
	defer look.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-look.C:
			s.sendQueues.closeIdle(stopGrace)
		case <-ctx.Done():
			return fmt.Errorf("calls over gRPC were cut off: %w", ctx.Err())
		}
	}
}

// Register adds the services to a gRPC server, without authentication, deadlines and metrics.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	pb.RegisterFrontendServiceServer(r, frontend{server: s})
	pb.RegisterBackendServiceServer(r, backend{server: s})
	pb.RegisterQueryServiceServer(r, query{server: s})
	pb.RegisterTicketsServer(r, tickets{server: s})
}
