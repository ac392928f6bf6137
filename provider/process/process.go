package process

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/lattice-director/director/provider"
)

var (
	_ provider.Provider  = (*Provider)(nil)
	_ provider.Checker   = (*Provider)(nil)
	_ provider.LogReader = (*Provider)(nil)
)

// New returns a provider, and adopts the servers that an earlier one has started. Until Close, a goroutine kills
// servers whose grace is over, stops those whose lifetime is over, and bounds logs.
func New(cfg Config) (*Provider, error) {
	cfg.PortMin, cfg.PortMax = cmp.Or(cfg.PortMin, DefaultPortMin), cmp.Or(cfg.PortMax, DefaultPortMax)
	cfg.MaxServers, cfg.MaxLogBytes = cmp.Or(cfg.MaxServers, 100), cmp.Or(cfg.MaxLogBytes, 8<<20)
	if !cfg.Advertise.IsValid() {
		cfg.Advertise = provider.Loopback
	}
	if err := cfg.checkSettings(); err != nil {
		return nil, err
	}
	var err error
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, err
	}
	if err := makeDir(cfg.Dir, cfg.User); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Provider{config: cfg, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
		lockSlot:     make(chan struct{}, 1),
		cancelTidier: cancel}
	p.tidier.Go(func() { p.tidyForever(ctx) })
	return p, nil
}

// Close ends the provider and leaves the servers alone.
func (p *Provider) Close() {
	p.cancelTidier()
	p.tidier.Wait()
}

// Capabilities implements provider.Provider.
func (p *Provider) Capabilities() provider.Capabilities {
	return provider.Capabilities{NativeNames: true, List: true, Stop: true}
}

// Deploy implements provider.Provider. App is the name of a command; Version is not used.
func (p *Provider) Deploy(ctx context.Context, s provider.Spec) (provider.Observation, error) {
	if err := s.Check(); err != nil {
		return provider.Observation{}, err
	}
	argv, err := p.commandOf(s.App)
	if err != nil {
		return provider.Observation{}, provider.Fail(provider.Permanent, "deploy", err)
	}
	if err := p.checkVariables(s.Env); err != nil {
		return provider.Observation{}, provider.Fail(provider.Permanent, "deploy", err)
	}
	unlock, err := p.acquireLock(ctx, "deploy")
	if err != nil {
		return provider.Observation{}, err
	}
	defer unlock()
	d, ok, err := p.readDeployment(s.Tag)
	switch {
	case err != nil:
		return provider.Observation{}, provider.Fail(provider.Transient, "deploy", err)
	// A repeated call: the server was started by an earlier one, whose answer may have been lost.
	case ok && d.hasRun():
		return p.observeDeployment(d), nil
	default:
		return p.startServer(s, argv)
	}
}

// commandOf returns a command that is configured and whose program can be run.
func (p *Provider) commandOf(name string) ([]string, error) {
	argv, ok := p.config.Commands[name]
	if !ok {
		return nil, fmt.Errorf("no command %q is configured", name)
	}
	_, err := exec.LookPath(argv[0])
	return argv, err
}

// Check implements provider.Checker: the command is configured, and its program can be run.
func (p *Provider) Check(_ context.Context, app, _ string) error {
	if _, err := p.commandOf(app); err != nil {
		return provider.Fail(provider.Permanent, "check", err)
	}
	return nil
}

// startServer starts a server under the lock.
func (p *Provider) startServer(s provider.Spec, argv []string) (provider.Observation, error) {
	ports, err := p.allocatePorts(s.Ports)
	if err != nil {
		return provider.Observation{}, err
	}
	now := time.Now()
	d := deployment{dir: p.dirOf(s.Tag),
		state: state{Tag: s.Tag, Owner: s.Owner, App: s.App, Ports: ports, Started: now}}
	if s.Lifetime > 0 {
		d.state.Ends = now.Add(s.Lifetime)
	}
	if err := d.createDir(); err != nil {
		return provider.Observation{}, provider.Fail(provider.Transient, "deploy", err)
	}
	if err := p.runServer(d, s.Env, argv); err != nil {
		_ = os.RemoveAll(d.dir) // nothing has run: Find must not see a deployment
		kind := provider.Permanent
		// A shortage, such as too many open files, passes by itself.
		if isShortage(err) {
			kind = provider.Transient
		}
		return provider.Observation{}, provider.Fail(kind, "deploy", err)
	}
	p.log.Info("started a game server", slog.String("tag", string(s.Tag)), slog.String("command", s.App))
	return p.observeDeployment(d), nil
}

// Get implements provider.Provider. The ref is the tag.
func (p *Provider) Get(ctx context.Context, ref provider.Ref) (provider.Observation, error) {
	d, ok, err := p.readDeployment(provider.Tag(ref))
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return provider.Observation{}, provider.Fail(provider.Transient, "get", err)
	}
	switch {
	case !ok:
		return provider.Observation{Ref: ref, Phase: provider.PhaseAbsent}, nil
	case !d.hasRun():
		return provider.Observation{Ref: ref, Phase: provider.PhaseGone}, nil
	default:
		return p.observeDeployment(d), nil
	}
}

// Find implements provider.Provider.
func (p *Provider) Find(ctx context.Context, owner provider.Owner, tag provider.Tag) ([]provider.Observation, error) {
	d, ok, err := p.readDeployment(tag)
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return nil, provider.Fail(provider.Transient, "find", err)
	}
	if !ok || d.state.Owner != owner || !d.hasRun() {
		return nil, nil
	}
	return []provider.Observation{p.observeDeployment(d)}, nil
}

// pageSize is how many deployments a page of List has.
const pageSize = 100

// List implements provider.Provider. The cursor is the last tag of the page before.
func (p *Provider) List(ctx context.Context, owner provider.Owner, cursor string) (provider.Page, error) {
	all, err := p.allDeployments()
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return provider.Page{}, provider.Fail(provider.Transient, "list", err)
	}
	all = slices.DeleteFunc(all, func(d deployment) bool {
		// The cursor is a tag and not a number: servers start and end while a caller reads the pages.
		return d.state.Owner != owner || string(d.state.Tag) <= cursor || !d.isAlive() || d.isAbandoned()
	})
	page := provider.Page{Total: -1}
	for _, d := range all[:min(len(all), pageSize)] {
		page.Deployments = append(page.Deployments, p.observeDeployment(d))
	}
	if len(all) > pageSize {
		page.Next = string(all[pageSize-1].state.Tag)
	}
	return page, nil
}

// Stop implements provider.Provider: SIGTERM to the process group now, and SIGKILL to all its processes after the
// grace. A repeated call sends no second SIGTERM, at which many games exit immediately, and does not prolong the grace.
func (p *Provider) Stop(ctx context.Context, ref provider.Ref, grace time.Duration) error {
	unlock, err := p.acquireLock(ctx, "stop")
	if err != nil {
		return err
	}
	defer unlock()
	d, ok, err := p.readDeployment(provider.Tag(ref))
	if err != nil {
		return provider.Fail(provider.Transient, "stop", err)
	}
	if !ok || !d.isAlive() || d.isAbandoned() {
		return provider.Fail(provider.Gone, "stop", fmt.Errorf("no process of %.40q is alive", ref))
	}
	if err := d.stopGroup(time.Now(), grace); err != nil {
		return provider.Fail(provider.Transient, "stop", err)
	}
	return nil
}
