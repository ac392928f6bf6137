package openmatch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/server/rest"
)

// gateway is the REST mapping: it turns requests into gRPC calls through an in-memory connection.
type gateway struct {
	listener   gatewayListener
	clientConn *grpc.ClientConn
	mux        *runtime.ServeMux
}

// gatewayListener accepts the gateway's connection for the gRPC server.
type gatewayListener struct{ *bufconn.Listener }

// gatewayConn marks connections of the gateway, which has authenticated its callers.
type gatewayConn struct{ net.Conn }

// Accept implements net.Listener.
func (l gatewayListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return gatewayConn{conn}, nil
}

// restJSON is the JSON of Open Match: field names as in the .proto files, empty fields omitted, unknown fields ignored.
var restJSON = &runtime.JSONPb{
	MarshalOptions:   protojson.MarshalOptions{UseProtoNames: true},
	UnmarshalOptions: protojson.UnmarshalOptions{DiscardUnknown: true},
}

// optionHeader passes on the headers that carry options (see metadata.go). Of the others grpc-gateway passes on only
// Authorization, which overHTTP deletes.
func optionHeader(name string) (key string, ok bool) {
	key, ok = strings.CutPrefix(name, runtime.MetadataHeaderPrefix)
	return key, ok && strings.HasPrefix(key, "Director-")
}

// makeGateway makes the REST mapping, and its connection to the gRPC server, which is made when first used.
func (s *Server) makeGateway() (err error) {
	g := &gateway{listener: gatewayListener{bufconn.Listen(256 << 10)}}
	g.clientConn, err = grpc.NewClient("passthrough:gateway",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return g.listener.DialContext(ctx)
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		// Answers are bounded where they are made. A limit here would only apply over REST.
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		// a slow REST client buffers no more than one over gRPC
		grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(window))
	if err != nil {
		return err
	}
	g.mux = runtime.NewServeMux(runtime.WithMarshalerOption(runtime.MIMEWildcard, restJSON),
		runtime.WithMetadata(spanOfRequest), runtime.WithIncomingHeaderMatcher(optionHeader))
	for _, register := range []func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error{
		pb.RegisterFrontendServiceHandler, pb.RegisterBackendServiceHandler, pb.RegisterQueryServiceHandler,
		pb.RegisterTicketsHandler,
	} {
		if err := register(context.Background(), g.mux, g.clientConn); err != nil {
			return err
		}
	}
	s.gateway = g
	return nil
}

// Mount adds the REST mapping of the three services under their prefixes. It authenticates callers as gRPC does. Errors
// have the form of Open Match, except where another cell serves the universe: that is a problem document with the header
// Director-Cell.
func (s *Server) Mount(r gin.IRouter) {
	for _, service := range services {
		r.Any("/v1/"+service+"service/*path", s.overHTTP(service))
	}
}

func (s *Server) overHTTP(service string) gin.HandlerFunc {
	return func(c *gin.Context) {
		fail := func(err error) {
			runtime.HTTPError(c.Request.Context(), s.gateway.mux, restJSON, c.Writer, c.Request, err)
		}
		addr, _ := netip.ParseAddr(c.ClientIP())
		unverified := caller{c.GetHeader("Authorization"), c.Request.TLS, addr}
		if err := s.access.authenticateCaller(service, unverified); err != nil {
			fail(err)
			return
		}
		if s.options.CheckHere != nil {
			if err := s.options.CheckHere(s.options.Universe); err != nil {
				rest.Fail(c, err) // no error of Open Match can name another cell
				return
			}
		}
		// The body is read after the credentials are checked: strangers have no bodies read.
		if err := takeBody(c); err != nil {
			fail(err)
			return
		}
		c.Request.Header.Del("Authorization") // grpc-gateway copies it into the metadata; the caller is known already
		w := streamWriter{c.Writer, http.NewResponseController(c.Writer)}
		// What the HTTP server writes after the handler, such as the last chunk, has a deadline as well.
		defer w.setSendDeadline()
		w.clearSendDeadline()
		s.gateway.mux.ServeHTTP(w, c.Request)
	}
}

// takeBody reads the whole body of a request into memory.
func takeBody(c *gin.Context) error {
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxMessage))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return status.Errorf(codes.ResourceExhausted, "the request has more than %d bytes", tooLarge.Limit)
	}
	if err != nil {
		return status.Error(codes.InvalidArgument, "the request could not be read")
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// streamWriter replaces the server's write deadline, which is for short calls: a stream may be silent for any time, but
// each write must end within sendTimeout.
type streamWriter struct {
	writer  gin.ResponseWriter
	control *http.ResponseController
}

// clearSendDeadline removes the deadline. An error means that the connection has none, in tests.
func (w streamWriter) clearSendDeadline() { _ = w.control.SetWriteDeadline(time.Time{}) }

func (w streamWriter) setSendDeadline() { _ = w.control.SetWriteDeadline(time.Now().Add(sendTimeout)) }

// Header implements http.ResponseWriter.
func (w streamWriter) Header() http.Header { return w.writer.Header() }

// WriteHeader implements http.ResponseWriter.
func (w streamWriter) WriteHeader(status int) { w.writer.WriteHeader(status) }

// Write implements http.ResponseWriter.
func (w streamWriter) Write(b []byte) (int, error) {
	w.setSendDeadline()
	defer w.clearSendDeadline()
	return w.writer.Write(b)
}

// Flush implements http.Flusher.
func (w streamWriter) Flush() {
	w.setSendDeadline()
	defer w.clearSendDeadline()
	w.writer.Flush()
}

// Unwrap is for http.ResponseController.
func (w streamWriter) Unwrap() http.ResponseWriter { return w.writer }
