package agones

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/internal/httpcall"
)

// pageSize is how many game servers a page of List has at most.
const pageSize = 100

// Get implements provider.Provider. Without access to Kubernetes, a deployment is taken for ready: its heartbeats say
// more.
func (p *Provider) Get(ctx context.Context, ref provider.Ref) (provider.Observation, error) {
	absent := provider.Observation{Ref: ref, Phase: provider.PhaseAbsent}
	if err := ctx.Err(); err != nil {
		return provider.Observation{}, provider.Fail(provider.Transient, "get", err)
	}
	name, tag, ok := parseRef(ref)
	if !ok {
		return absent, nil
	}
	if !p.hasKube() {
		return provider.Observation{Ref: ref, Tag: tag, Phase: provider.PhaseReady, Raw: "no access to Kubernetes"}, nil
	}
	g, ok, err := p.readGameServer(ctx, "get", name)
	switch {
	case err != nil:
		return provider.Observation{}, err
	case !ok:
		return absent, nil
	// The same server, allocated again for another deployment.
	case g.tagOf() != tag:
		return provider.Observation{Ref: ref, Phase: provider.PhaseGone}, nil
	}
	o, err := g.observationOf()
	if err != nil {
		return provider.Observation{}, provider.Fail(provider.Transient, "get", err)
	}
	return o, nil
}

// Find implements provider.Provider.
func (p *Provider) Find(ctx context.Context, owner provider.Owner, tag provider.Tag) ([]provider.Observation, error) {
	if err := ctx.Err(); err != nil {
		return nil, provider.Fail(provider.Transient, "find", err)
	}
	if !p.hasKube() || !owner.Valid() || !tag.Valid() {
		return nil, nil
	}
	found, err := provider.Collect(func(cursor string) (provider.Page, error) {
		return p.readPage(ctx, "find", fmt.Sprintf("%s=%s,%s=%s", LabelOwner, owner, LabelTag, tag), cursor)
	})
	return found[:min(len(found), provider.MaxFound)], err
}

// List implements provider.Provider. The cursor is the token with which Kubernetes continues its list.
func (p *Provider) List(ctx context.Context, owner provider.Owner, cursor string) (provider.Page, error) {
	if err := ctx.Err(); err != nil {
		return provider.Page{}, provider.Fail(provider.Transient, "list", err)
	}
	if !p.hasKube() {
		return provider.Page{}, provider.Fail(provider.Permanent, "list",
			errors.New("there is no access to Kubernetes"))
	}
	if !owner.Valid() {
		return provider.Page{}, provider.Fail(provider.Permanent, "list", fmt.Errorf("%.40q is no owner", owner))
	}
	return p.readPage(ctx, "list", fmt.Sprintf("%s=%s", LabelOwner, owner), cursor)
}

// Stop implements provider.Provider: the game server is deleted. The fleet's template defines its grace. Without access
// to Kubernetes there is nothing to stop.
func (p *Provider) Stop(ctx context.Context, ref provider.Ref, _ time.Duration) error {
	if err := ctx.Err(); err != nil {
		return provider.Fail(provider.Transient, "stop", err)
	}
	name, tag, ok := parseRef(ref)
	if !ok || !p.hasKube() {
		return provider.Fail(provider.Gone, "stop", fmt.Errorf("no game server %.80q can be deleted", ref))
	}
	g, ok, err := p.readGameServer(ctx, "stop", name)
	switch {
	case err != nil:
		return err
	// The name is now that of another deployment's server, which deleting by name would end.
	case !ok || g.tagOf() != tag || g.wasReturned():
		return provider.Fail(provider.Gone, "stop",
			fmt.Errorf("game server %s is not this deployment's any more", name))
	// An earlier call has deleted it: its grace runs.
	case g.Metadata.Deleted != nil:
		return nil
	}
	a, err := p.askKubernetes(ctx, "stop", http.MethodDelete, p.resourcePath("gameservers", name), nil,
		g.deletionBody())
	switch {
	case err != nil:
		return err
	case a.Status == http.StatusOK || a.Status == http.StatusAccepted:
		return nil
	case a.Status == http.StatusNotFound:
		return answerError(provider.Gone, "stop", a, nil)
	default: // also 409: it changed since it was read
		return readError("stop", a)
	}
}

// Check implements provider.Checker: the fleet exists. Without access to Kubernetes it only checks that the allocator
// answers.
func (p *Provider) Check(ctx context.Context, app, version string) error {
	if version != "" || !validName(app) {
		return provider.Fail(provider.Permanent, "check",
			errors.New("app must be the name of a fleet, and version empty"))
	}
	// Any answer will do: the handshake has tried the certificates.
	if _, _, err := p.allocator.exchange(ctx, p.callTimeout, http.MethodGet, "/", nil, nil); err != nil {
		return provider.Fail(provider.Transient, "check", fmt.Errorf("the allocator: %w", err))
	}
	if !p.hasKube() {
		return nil
	}
	a, err := p.askKubernetes(ctx, "check", http.MethodGet, p.resourcePath("fleets", app), nil, nil)
	switch {
	case err != nil:
		return err
	case a.Status == http.StatusNotFound:
		return provider.Fail(provider.Permanent, "check", fmt.Errorf("namespace %s has no fleet %s", p.namespace, app))
	case a.Status != http.StatusOK:
		return readError("check", a)
	}
	return nil
}

// resourcePath returns the path of a resource of Agones' in the namespace.
func (p *Provider) resourcePath(kind, name string) string {
	path := "/apis/agones.dev/v1/namespaces/" + p.namespace + "/" + kind
	if name != "" {
		path += "/" + name
	}
	return path
}

// askKubernetes makes a call of the Kubernetes API. Errors: Transient, RateLimited.
func (p *Provider) askKubernetes(ctx context.Context, op, method, path string, query url.Values,
	body any) (httpcall.Answer, error) {
	a, _, err := p.kube.exchange(ctx, p.callTimeout, method, path, query, body)
	if err != nil {
		return httpcall.Answer{}, provider.Fail(provider.Transient, op, err)
	}
	if a.Status == http.StatusTooManyRequests {
		// At least a second where the answer does not say, and five minutes at most.
		seconds, _ := strconv.Atoi(a.Header.Get("Retry-After"))
		after := time.Duration(min(max(seconds, 1), 300)) * time.Second
		return httpcall.Answer{}, &provider.Error{Kind: provider.RateLimited, Op: op, RetryAfter: after,
			Err: errors.New("Kubernetes has asked for a pause")}
	}
	return a, nil
}

// readError returns the error of an answer of Kubernetes.
func readError(op string, a httpcall.Answer) error {
	// These answers stay the same until somebody changes a setting or a role.
	if a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden || a.Status == http.StatusBadRequest {
		return answerError(provider.Permanent, op, a, nil)
	}
	return answerError(provider.Transient, op, a, nil)
}

// readGameServer reads a game server; false means that there is none.
func (p *Provider) readGameServer(ctx context.Context, op, name string) (g gameServer, ok bool, err error) {
	a, err := p.askKubernetes(ctx, op, http.MethodGet, p.resourcePath("gameservers", name), nil, nil)
	switch {
	case err != nil:
		return gameServer{}, false, err
	case a.Status == http.StatusNotFound && isStatus(a.Body):
		return gameServer{}, false, nil
	case a.Status != http.StatusOK:
		return gameServer{}, false, readError(op, a)
	}
	// A proxy may answer 200 with a page of its own.
	if err := json.Unmarshal(a.Body, &g); err != nil || g.Metadata.Name != name {
		return gameServer{}, false, provider.Fail(provider.Transient, op,
			errors.New("the answer is not this game server"))
	}
	return g, true, nil
}

// isStatus reports whether a body is an error of Kubernetes. The error page of a proxy is none: it must not make a
// server gone whose players are in a match.
func isStatus(body []byte) bool {
	var v struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(body, &v) == nil && v.Kind == "Status"
}

// readPage reads a page of the game servers with labels.
func (p *Provider) readPage(ctx context.Context, op, labels, cursor string) (provider.Page, error) {
	query := url.Values{"labelSelector": {labels}, "limit": {strconv.Itoa(pageSize)}}
	if cursor != "" {
		query.Set("continue", cursor)
	}
	a, err := p.askKubernetes(ctx, op, http.MethodGet, p.resourcePath("gameservers", ""), query, nil)
	if err != nil {
		return provider.Page{}, err
	}
	if a.Status != http.StatusOK { // also 410: the cursor has expired
		return provider.Page{}, readError(op, a)
	}
	page, err := decodePage(a.Body)
	if err != nil {
		return provider.Page{}, provider.Fail(provider.Transient, op, err)
	}
	return page, nil
}
