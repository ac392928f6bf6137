package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/internal/httpcall"
)

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
	transport, base, err := engineTransport(cfg.Host)
	if err != nil {
		return nil, err
	}
	p := &Provider{cfg: cfg, httpClient: httpcall.Client(transport), baseURL: base}
	p.stopContext, p.cancelStops = context.WithCancel(context.Background())
	return p, nil
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
	// The engine refuses the container, and would refuse it again. A status of 500 and more may come after the
	// container was created.
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
	// Another installation that shares the engine has the same form of names: its container must not become ours.
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
	// 304: it runs already, by an earlier call whose answer was lost.
	case a.Status == http.StatusNoContent || a.Status == http.StatusNotModified:
		return provider.Observation{Ref: provider.Ref(tag), Tag: tag, Phase: provider.PhaseStarting,
			Raw: "started"}, nil
	case a.Status >= 400 && a.Status < 500 && a.Status != http.StatusNotFound:
		// An error is ignored: the next Deploy of the tag finds the container and starts it, or fails in the same way.
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
	// Deploy starts a container before it returns a ref: this one was created by a Deploy that failed.
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
