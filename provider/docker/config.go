package docker

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lattice-director/director/provider/internal/httpcall"
)

// DefaultHost is the socket of an engine that was installed in the usual way.
const DefaultHost = "unix:///var/run/docker.sock"

// Config configures a [Provider].
type Config struct {
	// Host is the address of the engine: unix:///path or tcp://host:port, which is neither encrypted nor authenticated.
	// DefaultHost by default.
	Host string
	// Images are the images that may be started: a repository, which allows all its tags, or one with a tag or digest.
	// Required.
	Images []string
	// Advertise is the address that players dial; 127.0.0.1 by default. With a loopback address the engine publishes
	// ports only there.
	Advertise netip.Addr
	Timeout   time.Duration // of a call's HTTP exchange; 15 s by default. A context may be shorter
}

// Provider runs containers. Safe for concurrent use.
type Provider struct {
	cfg        Config
	httpClient *http.Client
	baseURL    string // http://host

	mu          sync.Mutex
	knownEngine *engine // nil until the engine has answered

	stopContext  context.Context // of the calls that outlive Stop; Close ends it
	cancelStops  context.CancelFunc
	stopsRunning sync.WaitGroup
}

// ValidHost reports whether a host has a form that [New] accepts.
func ValidHost(host string) bool {
	_, _, err := engineTransport(host)
	return err == nil
}

// engineTransport returns the transport to the engine, and the beginning of the URLs of its API.
func engineTransport(host string) (*http.Transport, string, error) {
	t := httpcall.Transport()
	t.Proxy = nil // an engine is on this machine or beside it
	u, err := url.Parse(host)
	switch {
	case err == nil && u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", u.Path)
		}
		// A URL needs a host; on a socket its name means nothing.
		return t, "http://docker", nil
	case err == nil && u.Scheme == "tcp" && u.Hostname() != "" && isPort(u.Port()) && u.Path == "" && u.User == nil:
		return t, "http://" + u.Host, nil
	}
	return nil, "", fmt.Errorf("docker: the host %.100q is neither unix:///path nor tcp://host:port", host)
}

// isPort reports whether a port exists: url.Parse takes any number.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}
