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
)

// gateway is REST: it turns requests into calls over gRPC, through a pipe within this process.
type gateway struct {
	inside inside
	conn   *grpc.ClientConn
	mux    *runtime.ServeMux
}

// inside is the listener at the other end of that pipe.
type inside struct{ *bufconn.Listener }

// insideConn is a connection of the gateway.
type insideConn struct{ net.Conn }

// Accept implements net.Listener.
func (l inside) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return insideConn{conn}, nil
}

// restJSON is how Open Match writes and reads JSON: the names of the .proto files, nothing that is empty, and what it does
// not know left aside.
var restJSON = &runtime.JSONPb{
	MarshalOptions:   protojson.MarshalOptions{UseProtoNames: true},
	UnmarshalOptions: protojson.UnmarshalOptions{DiscardUnknown: true},
}

// wishHeader lets wishes through. What else headers say is for the HTTP server, and not for the calls that are made of it.
func wishHeader(name string) (key string, ok bool) {
	key, ok = strings.CutPrefix(name, runtime.MetadataHeaderPrefix)
	return key, ok && strings.HasPrefix(key, "Director-")
}

func (s *Server) makeGateway() (err error) {
	g := &gateway{inside: inside{bufconn.Listen(256 << 10)}}
	g.conn, err = grpc.NewClient("passthrough:gateway",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return g.inside.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(window)) // what a slow caller does not take stays within the bounds of gRPC's callers
	if err != nil {
		return err
	}
	g.mux = runtime.NewServeMux(runtime.WithMarshalerOption(runtime.MIMEWildcard, restJSON), runtime.WithMetadata(ofRequest), runtime.WithIncomingHeaderMatcher(wishHeader))
	for _, register := range []func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error{
		pb.RegisterFrontendServiceHandler, pb.RegisterBackendServiceHandler, pb.RegisterQueryServiceHandler, pb.RegisterTicketsHandler,
	} {
		if err := register(context.Background(), g.mux, g.conn); err != nil {
			return err
		}
	}
	s.gateway = g
	return nil
}

// Mount adds the REST mapping of the three services under their prefixes. It judges callers as gRPC does, and answers in
// the way of Open Match, whatever the router before it says to others.
func (s *Server) Mount(r gin.IRouter) {
	for _, service := range services {
		r.Any("/v1/"+service+"service/*path", s.overHTTP(service))
	}
}

func (s *Server) overHTTP(service string) gin.HandlerFunc {
	return func(c *gin.Context) {
		addr, _ := netip.ParseAddr(c.ClientIP())
		err := s.access.judge(service, caller{c.GetHeader("Authorization"), c.Request.TLS, addr})
		if err == nil {
			err = takeBody(c)
		}
		if err != nil {
			runtime.HTTPError(c.Request.Context(), s.gateway.mux, restJSON, c.Writer, c.Request, err)
			return
		}
		c.Request.Header.Del("Authorization") // it has done its work
		w := patient{c.Writer, http.NewResponseController(c.Writer)}
		defer w.hurry()
		w.wait()
		s.gateway.mux.ServeHTTP(w, c.Request)
	}
}

// takeBody reads the request as a whole, while the deadlines of the server still hold.
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

// patient lifts the deadlines of the server, which are for short calls: a stream may be silent for as long as it likes, but
// what is sent has to be taken.
type patient struct {
	gin.ResponseWriter
	control *http.ResponseController
}

// taking is for how long a client may leave what is sent to it.
const taking = 30 * time.Second

// wait lets nothing but the caller end the call. Errors mean that the connection knows no deadlines, in tests.
func (p patient) wait() {
	_ = p.control.SetReadDeadline(time.Time{})
	_ = p.control.SetWriteDeadline(time.Time{})
}

func (p patient) hurry() { _ = p.control.SetWriteDeadline(time.Now().Add(taking)) }

// Write implements http.ResponseWriter.
func (p patient) Write(b []byte) (int, error) {
	p.hurry()
	defer p.wait()
	return p.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (p patient) Flush() {
	p.hurry()
	defer p.wait()
	p.ResponseWriter.Flush()
}

// Unwrap is for http.ResponseController.
func (p patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }
