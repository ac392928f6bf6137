package server

import (
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/bevygap"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/rest"
)

// requireHere refuses calls that concern the universe, if another cell serves it.
func (o Options) requireHere() gin.HandlerFunc {
	return rest.RequireHere(o.universeName(), o.Store.CheckHere)
}

// middlewares returns the chain of one audience, such as game servers or players, in the order of the package comment.
// auth are the handlers that need the headers only.
func (o Options) middlewares(gate *rest.Gate, auth ...gin.HandlerFunc) []gin.HandlerFunc {
	return append(o.untimedMiddlewares(gate, auth...), rest.SetDeadline(o.CallTimeout))
}

// untimedMiddlewares returns middlewares that set no deadline.
func (o Options) untimedMiddlewares(gate *rest.Gate, auth ...gin.HandlerFunc) []gin.HandlerFunc {
	bodies := rest.NewBodies(2*o.MaxInFlight, o.BodyTimeout)
	return slices.Concat([]gin.HandlerFunc{gate.RefuseWhenFull}, auth, []gin.HandlerFunc{bodies.Read, gate.Enter})
}

// publicHandler removes the Origin header unless a listed page calls a player route. Other requests are then served
// without CORS headers, and the browser hides the answer from the page. rest would refuse them with 403, native clients
// too. Requests of bevygap's clients keep the header, because that face itself refuses pages that are not listed.
func (s *Server) publicHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isBevygap := s.bevygap != nil && bevygap.Serves(r.URL.Path)
		isListed := play.Serves(r.URL.Path) && s.options.allowsOrigin(r.Header.Get("Origin"))
		if !isBevygap && !isListed {
			r.Header.Del("Origin")
		}
		s.guardedEngine.ServeHTTP(w, r)
	})
}

// httpServer makes a server of short calls. Those that wait set write deadlines of their own.
func (s *Server) httpServer(handler http.Handler, config *tls.Config, addr string,
	listener net.Listener) *rest.HTTPServer {
	return rest.NewHTTPServer(rest.HTTPOptions{
		Handler: handler, Addr: addr, Listener: listener, TLS: config.Clone(), WriteTimeout: 30 * time.Second,
		Log: s.options.Log,
	})
}
