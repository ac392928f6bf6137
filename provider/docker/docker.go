package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/internal/httpcall"
)

// DefaultHost is the socket of an engine that was installed in the usual way.
const DefaultHost = "unix:///var/run/docker.sock"

// Config configures a [Provider].
type Config struct {
	// of the engine: unix:///path or tcp://host:port, which is neither encrypted nor authenticated. DefaultHost by
	// default
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

var (
	_ provider.Provider  = (*Provider)(nil)
	_ provider.Checker   = (*Provider)(nil)
	_ provider.LogReader = (*Provider)(nil)
)

// New returns a provider. It makes no call. Errors: the host has another form, or there is no image.
func New(cfg Config) (*Provider, error) {
	cfg.Host, cfg.Timeout = cmp.Or(cfg.Host, DefaultHost), cmp.Or(cfg.Timeout, 15*time.Second)
	if !cfg.Advertise.IsValid() {
		cfg.Advertise = provider.Loopback
	}
	if len(cfg.Images) == 0 {
		return nil, errors.New("docker: no image is allowed")
	}
	transport, base, err := dialEngine(cfg.Host)
	if err != nil {
		return nil, err
	}
	p := &Provider{cfg: cfg, httpClient: httpcall.Client(transport), baseURL: base}
	p.stopContext, p.cancelStops = context.WithCancel(context.Background())
	return p, nil
}

// ValidHost reports whether a host has a form that [New] accepts.
func ValidHost(host string) bool {
	_, _, err := dialEngine(host)
	return err == nil
}

// dialEngine returns how the engine is reached.
func dialEngine(host string) (*http.Transport, string, error) {
	t := httpcall.Transport()
	t.Proxy = nil // an engine is on this machine or beside it
	u, err := url.Parse(host)
	switch {
	case err == nil && u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", u.Path)
		}
		return t, "http://docker", nil
	case err == nil && u.Scheme == "tcp" && u.Hostname() != "" && u.Port() != "" && u.Path == "" && u.User == nil:
		return t, "http://" + u.Host, nil
	}
	return nil, "", fmt.Errorf("docker: the host %.100q is neither unix:///path nor tcp://host:port", host)
}

// Close ends the provider and leaves the containers alone.
func (p *Provider) Close() {
	p.cancelStops()
	p.stopsRunning.Wait()
	p.httpClient.CloseIdleConnections()
}

// Capabilities implements provider.Provider.
func (p *Provider) Capabilities() provider.Capabilities {
	return provider.Capabilities{NativeNames: true, List: true, Stop: true}
}

// Deploy implements provider.Provider. App is an image; Version is its tag, or its digest (sha256:…), or empty if App
// has one.
func (p *Provider) Deploy(ctx context.Context, s provider.Spec) (provider.Observation, error) {
	body, err := p.containerBody(s)
	if err != nil {
		return provider.Observation{}, err
	}
	e, err := p.reachEngine(ctx, "deploy")
	if err != nil {
		return provider.Observation{}, err
	}
	body.HostConfig.LogConfig = e.logConfig()
	secrets := secretsOf(s)
	a, err := p.callEngine(ctx, call{op: "deploy", method: http.MethodPost, path: "/containers/create",
		query: url.Values{"name": {nameOf(s.Tag)}}, body: body})
	switch {
	case err != nil:
		return provider.Observation{}, err
	case a.Status == http.StatusCreated:
		return p.startContainer(ctx, s.Tag, secrets)
	// The name is taken: by an earlier call whose answer was lost, or by a stranger.
	case a.Status == http.StatusConflict:
		return p.adoptContainer(ctx, s, secrets)
	// The engine refuses it, and would refuse it again. A status of 500 and more may come after the container was
	// created.
	case a.Status >= 400 && a.Status < 500:
		return provider.Observation{}, answerError(provider.Permanent, "deploy", a, secrets)
	default:
		return provider.Observation{}, answerError(provider.Ambiguous, "deploy", a, secrets)
	}
}

// adoptContainer returns the container that has the name, and starts it if its creator did not.
func (p *Provider) adoptContainer(ctx context.Context, s provider.Spec,
	secrets []string) (provider.Observation, error) {
	c, ok, err := p.inspectContainer(ctx, "deploy", s.Tag)
	switch {
	case err != nil:
		return provider.Observation{}, ambiguousError(err)
	case !ok || c.ownerOf() != s.Owner:
		err := fmt.Errorf("the name %s belongs to a container that the director did not create", nameOf(s.Tag))
		return provider.Observation{}, provider.Fail(provider.Permanent, "deploy", err)
	case c.State.Status == stateCreated:
		return p.startContainer(ctx, s.Tag, secrets)
	default:
		return p.observeContainer(c), nil
	}
}

// startContainer starts a container. One that cannot be started is removed, so that its name is free.
func (p *Provider) startContainer(ctx context.Context, tag provider.Tag,
	secrets []string) (provider.Observation, error) {
	a, err := p.callEngine(ctx, call{op: "deploy", method: http.MethodPost,
		path: "/containers/" + nameOf(tag) + "/start"})
	switch {
	case err != nil:
		return provider.Observation{}, ambiguousError(err)
	case a.Status == http.StatusNoContent || a.Status == http.StatusNotModified:
		return provider.Observation{Ref: provider.Ref(tag), Tag: tag, Phase: provider.PhaseStarting,
			Raw: "started"}, nil
	case a.Status >= 400 && a.Status < 500 && a.Status != http.StatusNotFound:
		// An error is left alone: the next Deploy of the tag finds the container and starts it, or fails in the same
		// way.
		_ = p.removeContainer(ctx, nameOf(tag))
		return provider.Observation{}, answerError(provider.Permanent, "deploy", a, secrets)
	default:
		return provider.Observation{}, answerError(provider.Ambiguous, "deploy", a, secrets)
	}
}

// Get implements provider.Provider. The ref is the tag.
func (p *Provider) Get(ctx context.Context, ref provider.Ref) (provider.Observation, error) {
	c, ok, err := p.inspectContainer(ctx, "get", provider.Tag(ref))
	if err != nil {
		return provider.Observation{}, err
	}
	switch {
	case !ok:
		return provider.Observation{Ref: ref, Phase: provider.PhaseAbsent}, nil
	case c.State.Status == stateCreated:
		return provider.Observation{Ref: ref, Phase: provider.PhaseGone}, nil
	default:
		return p.observeContainer(c), nil
	}
}

// Find implements provider.Provider.
func (p *Provider) Find(ctx context.Context, owner provider.Owner, tag provider.Tag) ([]provider.Observation, error) {
	c, ok, err := p.inspectContainer(ctx, "find", tag)
	if err != nil {
		return nil, err
	}
	if !ok || c.ownerOf() != owner || c.State.Status == stateCreated {
		return nil, nil
	}
	return []provider.Observation{p.observeContainer(c)}, nil
}

// Check implements provider.Checker: the image is allowed, and the engine has it.
func (p *Provider) Check(ctx context.Context, app, version string) error {
	image := imageOf(app, version)
	if !p.isAllowed(image) {
		return provider.Fail(provider.Permanent, "check", fmt.Errorf("the image %s is not allowed on this host", image))
	}
	a, err := p.callEngine(ctx, call{op: "check", method: http.MethodGet, path: "/images/" + image + "/json"})
	switch {
	case err != nil:
		return err
	case a.Status == http.StatusNotFound:
		return provider.Fail(provider.Permanent, "check",
			fmt.Errorf("the engine has no image %s: it pulls none by itself", image))
	case a.Status != http.StatusOK:
		return answerError(provider.Transient, "check", a, nil)
	}
	return nil
}

// imageOf returns the reference of an image.
func imageOf(app, version string) string {
	switch {
	case version == "":
		return app
	case strings.HasPrefix(version, "sha256:"):
		return app + "@" + version
	default:
		return app + ":" + version
	}
}

// reference has the characters of images' references, and none that a path would give another meaning.
var reference = regexp.MustCompile(`^[A-Za-z0-9]+([._/:@-]+[A-Za-z0-9]+)*$`)

// isAllowed reports whether the list has the image, or its repository.
func (p *Provider) isAllowed(image string) bool {
	if !reference.MatchString(image) || strings.Contains(image, "..") {
		return false
	}
	for _, entry := range p.cfg.Images {
		if entry == image || entry == repositoryOf(image) {
			return true
		}
	}
	return false
}

// repositoryOf cuts the tag and the digest off. A colon before the last slash belongs to the port of a registry.
func repositoryOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if at := strings.LastIndexByte(image, ':'); at > strings.LastIndexByte(image, '/') {
		image = image[:at]
	}
	return image
}
