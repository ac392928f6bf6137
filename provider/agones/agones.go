package agones

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/internal/httpcall"
)

// DefaultNamespace is the namespace of the fleets, unless [Config] has another.
const DefaultNamespace = "default"

// Config configures a [Provider].
type Config struct {
	URL       string // of the allocator: https://host. Required
	Namespace string // of the fleets; DefaultNamespace by default
	// Files in PEM: the client certificate that the allocator accepts, its key, and the authority of the allocator's
	// certificate. The first two are read again for each connection, so that they may be renewed. Required.
	Cert, Key, CA string
	Kube          Kube
	Timeout       time.Duration // of a call's HTTP exchange; 15 s by default. A context may be shorter
}

// Kube is access to the Kubernetes API; the zero Kube is none. The token needs get, list and delete on gameservers, and
// get on fleets, of the group agones.dev in the namespace.
type Kube struct {
	URL   string // of the API: https://host
	Token string // a file, read for each call
	CA    string // a file in PEM: the authority of the API's certificate
}

// Provider takes game servers from fleets. Safe for concurrent use.
type Provider struct {
	allocator   client
	kube        client // without a URL there is none
	namespace   string
	callTimeout time.Duration
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Checker  = (*Provider)(nil)
)

// New returns a provider. It makes no call. Errors: a URL is not https, or a file cannot be read.
func New(cfg Config) (*Provider, error) {
	p := &Provider{namespace: cmp.Or(cfg.Namespace, DefaultNamespace), callTimeout: cmp.Or(cfg.Timeout, 15*time.Second)}
	if !validName(p.namespace) {
		return nil, fmt.Errorf("agones: %.80q is no namespace", p.namespace)
	}
	var err error
	if p.allocator, err = newClient(cfg.URL, cfg.CA, cfg.Cert, cfg.Key); err != nil {
		return nil, fmt.Errorf("agones: the allocator: %w", err)
	}
	// Optional: without it servers can be allocated, and not found, listed or stopped.
	if cfg.Kube == (Kube{}) {
		return p, nil
	}
	if p.kube, err = newClient(cfg.Kube.URL, cfg.Kube.CA, "", ""); err != nil {
		return nil, fmt.Errorf("agones: Kubernetes: %w", err)
	}
	// Read once at the start, for an error that operators see; each call reads it again.
	p.kube.tokenFile = cfg.Kube.Token
	if _, err := p.kube.readAuthorization(); err != nil {
		return nil, fmt.Errorf("agones: Kubernetes: %w", err)
	}
	return p, nil
}

// Close closes the connections.
func (p *Provider) Close() {
	p.allocator.http.CloseIdleConnections()
	if p.hasKube() {
		p.kube.http.CloseIdleConnections()
	}
}

func (p *Provider) hasKube() bool { return p.kube.baseURL != "" }

// Capabilities implements provider.Provider.
func (p *Provider) Capabilities() provider.Capabilities {
	return provider.Capabilities{List: p.hasKube(), Stop: p.hasKube(), WarmPool: true}
}

// allocation is the body of POST /gameserverallocation.
type allocation struct {
	Namespace  string     `json:"namespace"`
	Selectors  []selector `json:"gameServerSelectors"`
	Scheduling string     `json:"scheduling"`
	Metadata   metadata   `json:"metadata"`
}

type selector struct {
	Labels map[string]string `json:"matchLabels"`
	State  string            `json:"gameServerState"`
}

type metadata struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// statusCancelled is the status of gRPC's CANCELLED in the allocator's gateway; older gateways have 408 for it.
const statusCancelled = 499

// Deploy implements provider.Provider. App is a fleet; Version must be empty, because each version is a fleet of its
// own.
func (p *Provider) Deploy(ctx context.Context, s provider.Spec) (provider.Observation, error) {
	body, err := p.allocationOf(s)
	if err != nil {
		return provider.Observation{}, err
	}
	a, sent, err := p.allocator.exchange(ctx, p.callTimeout, http.MethodPost, "/gameserverallocation", nil, body)
	if err != nil {
		kind := provider.Transient
		// The request left this machine, so that a server may be allocated although no answer came.
		if sent {
			kind = provider.Ambiguous
		}
		return provider.Observation{}, provider.Fail(kind, "deploy", err)
	}
	// The allocator may repeat what was sent in its message.
	secrets := slices.Collect(maps.Values(s.Env))
	switch {
	case a.Status == http.StatusOK:
		return p.readAllocated(a, s)
	case a.Status == http.StatusTooManyRequests: // no server of the fleet is ready
		return provider.Observation{}, answerError(provider.Capacity, "deploy", a, secrets)
	case a.Status == http.StatusConflict: // others took the server that was chosen
		return provider.Observation{}, answerError(provider.Transient, "deploy", a, secrets)
	case a.Status >= 400 && a.Status < 500 && a.Status != http.StatusRequestTimeout && a.Status != statusCancelled:
		return provider.Observation{}, answerError(provider.Permanent, "deploy", a, secrets)
	// With a status of 500 and more, or when the allocator gave up on its way, such as at its end, a server may be
	// allocated all the same.
	default:
		return provider.Observation{}, answerError(provider.Ambiguous, "deploy", a, secrets)
	}
}

// allocationOf returns the body for a Spec.
func (p *Provider) allocationOf(s provider.Spec) (allocation, error) {
	if err := s.Check(); err != nil {
		return allocation{}, err
	}
	// The name becomes the value of a label selector, and of paths in Check.
	if s.Version != "" || !validName(s.App) {
		return allocation{}, provider.Fail(provider.Permanent, "deploy",
			errors.New("app must be the name of a fleet, and version empty"))
	}
	// The server runs already, so its environment cannot be set: it reads the annotation through Agones' SDK.
	vars := map[string]string{EnvironmentTag: string(s.Tag)}
	maps.Copy(vars, s.Env)
	env, err := json.Marshal(vars)
	if err != nil {
		return allocation{}, provider.Fail(provider.Permanent, "deploy", err)
	}
	return allocation{
		// Packed is Agones' default: it fills nodes, so that others empty and can be removed.
		Namespace: p.namespace, Scheduling: "Packed",
		Selectors: []selector{{map[string]string{labelFleet: s.App}, "READY"}},
		Metadata: metadata{
			Labels:      map[string]string{LabelOwner: string(s.Owner), LabelTag: string(s.Tag)},
			Annotations: map[string]string{AnnotationEnvironment: string(env)},
		},
	}, nil
}

// readAllocated reads the answer of an allocation. The server is ready: Agones allocates no others.
func (p *Provider) readAllocated(a httpcall.Answer, s provider.Spec) (provider.Observation, error) {
	var v struct {
		Name    string       `json:"gameServerName"`
		Address string       `json:"address"`
		Ports   []statusPort `json:"ports"`
	}
	// A server was allocated, and its name is not known: Find has to look for it by its tag.
	if err := json.Unmarshal(a.Body, &v); err != nil || !validName(v.Name) {
		return provider.Observation{}, provider.Fail(provider.Ambiguous, "deploy",
			errors.New("the answer names no game server"))
	}
	ports, err := externalPorts(v.Ports, s.Ports)
	if err != nil {
		// The server is allocated all the same.
		return provider.Observation{}, provider.Fail(provider.Ambiguous, "deploy", err)
	}
	o := provider.Observation{Ref: refOf(v.Name, s.Tag), Tag: s.Tag, Phase: provider.PhaseReady, Ports: ports,
		Raw: "Allocated"}
	o.IP, o.FQDN = dialledHost(v.Address)
	return o, nil
}
