package server

import (
	"net"

	"github.com/gin-gonic/gin"
	"google.golang.org/grpc"
)

// Routes returns all routes of the API.
func (s *Server) Routes() gin.RoutesInfo { return s.apiEngine.Routes() }

// Listener is a listener of HTTP and what is mounted on it.
type Listener struct {
	Name   string
	Addr   net.Addr
	Routes gin.RoutesInfo
}

// Listeners returns all listeners of HTTP, after Listen. All faces must be served.
func (s *Server) Listeners() []Listener {
	upgrade := gin.RouteInfo{Method: "GET", Path: "/"} // it answers any path
	return []Listener{
		{"api", s.Addr(), s.apiEngine.Routes()},
		{"orchestrator", s.OrchestratorAddr(), append(s.agents.api.Routes(), upgrade)},
		{"realtime", s.RealtimeAddr(), gin.RoutesInfo{upgrade}},
		{"control", s.RealtimeControlAddr(), s.control.Handler().(*gin.Engine).Routes()},
		{"console", s.ConsoleAddr(), s.console.Handler().(interface{ Routes() gin.RoutesInfo }).Routes()},
		{"metrics", s.MetricsAddr(), gin.RoutesInfo{{Method: "GET", Path: "/metrics"},
			{Method: "GET", Path: "/debug/pprof/"}, {Method: "GET", Path: "/"}}},
	}
}

// GRPCMethods returns the full names of the methods of Open Match.
func (s *Server) GRPCMethods() (names []string) {
	registered := grpc.NewServer()
	s.openMatch.Register(registered)
	for service, info := range registered.GetServiceInfo() {
		for _, method := range info.Methods {
			names = append(names, "/"+service+"/"+method.Name)
		}
	}
	return names
}

// Warm reports whether the first connections are prepared.
func (s *Server) Warm() bool { return s.isWarm.Load() }

// Waiting returns the number of calls that wait for a ticket.
func (s *Server) Waiting() int { return s.ticketHub.Following() }

// WaitingForSessions returns the number of game servers that wait for a change of their sessions.
func (s *Server) WaitingForSessions() int { return s.waitingServers() }
