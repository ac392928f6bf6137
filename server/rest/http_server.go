package rest

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout  = 5 * time.Second
	requestTimeout = 10 * time.Second // headers and body
	idleTimeout    = 90 * time.Second
	maxHeaderBytes = 32 << 10 // an access token has up to 8 KiB
)

// HTTPOptions configure an [HTTPServer]. Handler is required; every other zero value is usable.
type HTTPOptions struct {
	Handler  http.Handler
	Addr     string       // where to listen; used unless Listener is set
	Listener net.Listener // nil: [HTTPServer.Listen] opens one
	TLS      *tls.Config  // nil: plain text
	// WriteTimeout is the time from the headers of a request to the end of its answer; 0 sets no limit.
	WriteTimeout time.Duration
	// HTTP1 offers no HTTP/2. WebSockets begin as HTTP/1.1; over TLS, clients would choose HTTP/2 if it were offered.
	HTTP1 bool
	Log   *slog.Logger // nil: no log
}

// HTTPServer answers HTTP requests on listeners. Every listener of the director has one, because it bounds what a
// connection costs before anybody is authenticated: headers arrive within 5 s and whole requests within 10 s, or the
// connection ends, whatever the handler does meanwhile. A body of GET and HEAD, which means nothing, is read and
// dropped before the handler is called. All other deadlines are the handlers'.
type HTTPServer struct {
	http           *http.Server
	addr           string
	listener       net.Listener // nil before Listen, unless the options have one
	handler        http.Handler
	incomingBodies *incoming
	shutdownHooks  []func() // end calls that would last longer than a shutdown
}

// NewHTTPServer makes a server that does nothing yet.
func NewHTTPServer(o HTTPOptions) *HTTPServer {
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &HTTPServer{addr: o.Addr, listener: o.Listener, handler: o.Handler, incomingBodies: newIncoming()}
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serveRequest), TLSConfig: o.TLS, ConnState: s.incomingBodies.watchConn,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: o.WriteTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		// Most lines are of failed TLS handshakes of scanners.
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	if o.HTTP1 {
		s.http.Protocols = new(http.Protocols)
		s.http.Protocols.SetHTTP1(true)
	}
	return s
}

// Handler returns what answers the requests.
func (s *HTTPServer) Handler() http.Handler { return s.handler }

// Listen opens the listener, once. Errors: the address cannot be listened on.
func (s *HTTPServer) Listen(ctx context.Context) (err error) {
	if s.listener == nil {
		s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.addr)
	}
	return err
}

// ListenAddr returns the address, after Listen; nil before, and for a nil server.
func (s *HTTPServer) ListenAddr() net.Addr {
	if s == nil || s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// Serve answers requests, after Listen, until [HTTPServer.Shutdown] or [HTTPServer.Close]; then it returns nil. Errors:
// the listener's.
func (s *HTTPServer) Serve() (err error) {
	if s.http.TLSConfig != nil {
		err = s.http.ServeTLS(s.listener, "", "")
	} else {
		err = s.http.Serve(s.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// OnShutdown calls f in a goroutine of its own when [HTTPServer.Shutdown] begins, to end calls that last. Call it
// before Serve.
func (s *HTTPServer) OnShutdown(f func()) { s.shutdownHooks = append(s.shutdownHooks, f) }

// Shutdown accepts no more connections and waits for the calls in flight. A request that does not arrive within a
// moment is no call in flight: its connection is closed. Call it once. Errors: ctx ended before.
func (s *HTTPServer) Shutdown(ctx context.Context) error {
	for _, end := range s.shutdownHooks {
		go end()
	}
	receiving, cancel := context.WithTimeout(ctx, receiveGrace)
	defer cancel()
	if err := s.http.Shutdown(receiving); err == nil || ctx.Err() != nil {
		return err
	}
	s.incomingBodies.stopReceiving()
	// A new call begins with short pauses: net/http looks at its connections in pauses that double up to half a second.
	return s.http.Shutdown(ctx)
}

// Close closes the listeners and all connections.
func (s *HTTPServer) Close() error { return s.http.Close() }

func (s *HTTPServer) serveRequest(w http.ResponseWriter, r *http.Request) {
	if r.Body == http.NoBody {
		s.handler.ServeHTTP(w, r)
		return
	}
	body := s.incomingBodies.beginBody(w, r.Body)
	defer body.boundRest()
	r = r.WithContext(r.Context()) // copies the request, because net/http uses the body of its own
	r.Body = body
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		if err := dropBody(r); err != nil {
			writeProblem(w, r, *err)
			return
		}
	}
	s.handler.ServeHTTP(w, r)
}
