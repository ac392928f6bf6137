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
)

// Watchers whose machine is gone are found out by pings of ours.
var ourPings = keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}

// window is how many bytes a client may send ahead, in a call and on a connection. One that grows as it is needed costs a
// ping both ways for nearly every call.
const window = 1 << 20

func (s *Server) makeGRPC() error {
	config, err := s.options.ClientTLS(s.options.TLS)
	if err != nil {
		return err
	}
	transport := insecure.NewCredentials()
	if config != nil {
		transport = credentials.NewTLS(config)
	}
	// Open Match's own clients ping every 20 s, also without a stream, and its servers let them do so every 10 s. By grpc's
	// default such clients would be told to go away.
	pings := keepalive.EnforcementPolicy{MinTime: s.options.pings, PermitWithoutStream: true}
	s.grpc = grpc.NewServer(append(tracing{s.options.Tracer}.ofServer(),
		grpc.Creds(entrance{transport, s.queues}), grpc.ForceServerCodecV2(newQueueingCodec()), grpc.ConnectionTimeout(10*time.Second),
		grpc.InTapHandle(s.tap), grpc.UnaryInterceptor(s.unary), grpc.StreamInterceptor(s.stream),
		grpc.KeepaliveEnforcementPolicy(pings), grpc.KeepaliveParams(ourPings),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxHeaderListSize(maxHeaders), grpc.MaxConcurrentStreams(maxStreams), grpc.WaitForHandlers(true),
		grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(window),
		grpc.NumStreamWorkers(uint32(16*runtime.GOMAXPROCS(0))), // whose stacks have grown; where all are taken, a call gets one of its own
	)...)
	s.Register(s.grpc)
	for name := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	healthpb.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	s.methods = map[string]grpc.MethodInfo{}
	for name, service := range s.grpc.GetServiceInfo() {
		for _, method := range service.Methods {
			s.methods["/"+name+"/"+method.Name] = method
		}
	}
	return nil
}

// Listen opens the listeners of Addrs, once. Errors: an address that is not to be had; then none is open.
func (s *Server) Listen(ctx context.Context) error {
	if s.listeners != nil {
		return nil
	}
	open := slices.Clone(s.options.Listeners)
	for _, addr := range s.options.Addrs {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
		if err != nil {
			for _, l := range open {
				_ = l.Close()
			}
			return err
		}
		open = append(open, l)
	}
	s.listeners = open
	return nil
}

// Addrs are where gRPC listens, after Listen.
func (s *Server) Addrs() []net.Addr {
	var addrs []net.Addr
	for _, l := range s.listeners {
		addrs = append(addrs, l.Addr())
	}
	return addrs
}

// Serve answers calls until [Server.Stop], or until a listener fails, which is the error.
func (s *Server) Serve() error {
	failed := make(chan error, len(s.listeners)+1)
	for _, l := range append([]net.Listener{s.gateway.inside}, s.listeners...) {
		go func() { failed <- s.grpc.Serve(l) }()
	}
	for range cap(failed) {
		if err := <-failed; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			return err
		}
	}
	return nil
}

// Run keeps watching and the cycles of matches going until ctx ends.
func (s *Server) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for name, run := range map[string]func(context.Context) error{"watch": s.hub.Run, "cycle": s.cycle.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				s.options.Log.LogAttrs(ctx, slog.LevelError, "ended before its time", slog.String("part", name), slog.Any("error", err))
			}
		})
	}
}

// Drain says from now on that no more calls should come, and answers those that come.
func (s *Server) Drain() { s.health.Shutdown() }

// End ends the streams that would go on: watchers and fetchers are told Unavailable, so that they go elsewhere.
func (s *Server) End() {
	s.Drain()
	s.stop()
}

// Stop ends what [Server.End] ends, lets other calls finish until ctx ends, and cuts off the rest, which is an error. It
// comes after the REST mapping has had its last request.
func (s *Server) Stop(ctx context.Context) (err error) {
	s.End()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.grpc.GracefulStop()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("calls over gRPC were cut off: %w", ctx.Err())
		s.grpc.Stop()
		<-done
	}
	s.functions.close()
	return errors.Join(err, s.gateway.conn.Close())
}
