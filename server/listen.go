package server

import (
	"context"
	"net"
	"strings"

	"github.com/lattice-director/director/server/rest"
)

// part is a part of a replica with a listener of its own.
type part interface {
	Listen(ctx context.Context) error
	Serve() error
}

// listeningParts returns the parts that this replica has.
func (s *Server) listeningParts() []part {
	all := []part{s.api}
	if s.openMatch != nil {
		all = append(all, s.openMatch)
	}
	if s.agents != nil {
		all = append(all, s.agents.connections)
	}
	if s.nats != nil {
		all = append(all, s.nats)
	}
	if s.realtime != nil {
		all = append(all, s.realtime)
	}
	for _, h := range s.moreServers() {
		all = append(all, h)
	}
	return all
}

// moreServers returns the servers of HTTP that this replica has beside the API.
func (s *Server) moreServers() (all []*rest.HTTPServer) {
	for _, h := range []*rest.HTTPServer{s.control, s.console, s.metrics} {
		if h != nil {
			all = append(all, h)
		}
	}
	return all
}

// Listen opens the listeners that the options do not hold. Run calls it; callers may call it before, to learn the
// addresses.
func (s *Server) Listen(ctx context.Context) error {
	for _, p := range s.listeningParts() {
		if err := p.Listen(ctx); err != nil {
			return err
		}
	}
	return nil
}

// The addresses, after Listen. Each is nil where that part is not served.

// Addr returns the address of the API.
func (s *Server) Addr() net.Addr { return s.api.ListenAddr() }

// MetricsAddr returns the address of the metrics.
func (s *Server) MetricsAddr() net.Addr { return s.metrics.ListenAddr() }

// ConsoleAddr returns the address of the console.
func (s *Server) ConsoleAddr() net.Addr { return s.console.ListenAddr() }

// RealtimeControlAddr returns the address of the control API of the realtime lobby.
func (s *Server) RealtimeControlAddr() net.Addr { return s.control.ListenAddr() }

// RealtimeAddr returns the address of the realtime lobby.
func (s *Server) RealtimeAddr() net.Addr {
	if s.realtime == nil {
		return nil
	}
	return s.realtime.Addr()
}

// NATSAddr returns the address for game servers with bevygap's plugin.
func (s *Server) NATSAddr() net.Addr {
	if s.nats == nil {
		return nil
	}
	return s.nats.Addr()
}

// OrchestratorAddr returns the address of the orchestrator.
func (s *Server) OrchestratorAddr() net.Addr {
	if s.agents == nil {
		return nil
	}
	return s.agents.connections.Addr()
}

// GRPCAddrs returns the addresses of gRPC.
func (s *Server) GRPCAddrs() []net.Addr {
	if s.openMatch == nil {
		return nil
	}
	return s.openMatch.Addrs()
}

// addrList formats addresses for the log: slog's JSON handler would encode them as structs.
func addrList(addrs ...net.Addr) string {
	var list []string
	for _, addr := range addrs {
		if addr != nil {
			list = append(list, addr.String())
		}
	}
	return strings.Join(list, ",")
}
