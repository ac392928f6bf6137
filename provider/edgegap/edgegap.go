package edgegap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/provider"
)

// Provider runs deployments at Edgegap. Safe for concurrent use.
type Provider struct {
	client client
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Checker  = (*Provider)(nil)
)

// New returns a provider. It makes no call. Errors: no token, or the URL is none.
func New(cfg Config) (*Provider, error) {
	key := strings.TrimSpace(strings.TrimPrefix(strings.TrimLeft(string(cfg.Token), " "), "token "))
	// The key becomes a header: a line break in it would begin another one.
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("edgegap: the token is empty or not printable")
	}
	base, err := url.Parse(cmp.Or(cfg.URL, "https://api.edgegap.com"))
	if err != nil || base.Host == "" || base.User != nil || (base.Scheme != "https" && base.Scheme != "http") {
		return nil, errors.New("edgegap: the URL is not http(s)://host")
	}
	return &Provider{newClient(cfg, key, base)}, nil
}

// Capabilities implements provider.Provider.
func (p *Provider) Capabilities() provider.Capabilities {
	return provider.Capabilities{List: true, Stop: true, Webhooks: true, MaxLifetime: MaxLifetime, Rates: publishedRates}
}

// Deploy implements provider.Provider. App and Version are Edgegap's application and version, which define ports, grace
// and lifetime. A Hint is required.
func (p *Provider) Deploy(ctx context.Context, s provider.Spec) (provider.Observation, error) {
	body, err := deployBody(s)
	if err != nil {
		return provider.Observation{}, err
	}
	a, err := p.client.callAPI(ctx, call{op: "deploy", class: &p.client.deployClass, method: http.MethodPost,
		path: "/v2/deployments", body: body})
	if err != nil {
		return provider.Observation{}, err
	}
	ref := a.requestID()
	switch {
	// Accepted without a ref, the deployment is ambiguous, by the default below: Find has to look for it by its tag.
	case a.status == http.StatusAccepted && ref != "":
		return provider.Observation{Ref: ref, Tag: s.Tag, Phase: provider.PhasePending}, nil
	// No room was found, and the deployment exists all the same: the caller has to stop it.
	case a.status == http.StatusUnprocessableEntity && ref != "":
		return provider.Observation{}, &provider.Error{Kind: provider.Capacity, Op: "deploy", Ref: ref,
			Err: a.statusError(secretsOf(s))}
	case refusals[a.status]:
		return provider.Observation{}, provider.Fail(provider.Permanent, "deploy", a.statusError(secretsOf(s)))
	default:
		return provider.Observation{}, provider.Fail(provider.Ambiguous, "deploy", a.statusError(secretsOf(s)))
	}
}

// refusals are the statuses of a Deploy that did nothing, and would do nothing if it were repeated.
var refusals = map[int]bool{400: true, 401: true, 403: true, 404: true, 409: true, 424: true}

// Get implements provider.Provider.
func (p *Provider) Get(ctx context.Context, ref provider.Ref) (provider.Observation, error) {
	absent := provider.Observation{Ref: ref, Phase: provider.PhaseAbsent}
	if err := ctx.Err(); err != nil {
		return provider.Observation{}, provider.Fail(provider.Transient, "get", err)
	}
	// No deployment can have a ref of another form.
	if !validRef(string(ref)) {
		return absent, nil
	}
	a, err := p.client.callAPI(ctx, call{op: "get", class: &p.client.getClass, method: http.MethodGet,
		path: "/v1/status/" + string(ref)})
	if err != nil {
		return provider.Observation{}, err
	}
	// Only a 410 says that the deployment existed: an id that is unknown may become known later.
	if a.status == http.StatusGone && a.isUnknown() {
		return provider.Observation{Ref: ref, Phase: provider.PhaseGone}, nil
	}
	if a.isUnknown() {
		return absent, nil
	}
	if a.status != http.StatusOK {
		return provider.Observation{}, a.readError("get")
	}
	o, err := decodeStatus(a.body)
	if err != nil {
		return provider.Observation{}, provider.Fail(provider.Transient, "get", err)
	}
	if o.Ref != ref {
		return provider.Observation{}, provider.Fail(provider.Transient, "get",
			errors.New("is the status of another deployment"))
	}
	return o, nil
}

// Find implements provider.Provider. It sees active deployments only.
func (p *Provider) Find(ctx context.Context, owner provider.Owner, tag provider.Tag) ([]provider.Observation, error) {
	if !tag.Valid() || !owner.Valid() {
		return nil, nil // Deploy refuses them
	}
	found, err := provider.Collect(func(cursor string) (provider.Page, error) {
		return p.readPage(ctx, "find", string(tag), []string{string(owner), string(tag)}, cursor)
	})
	return found[:min(len(found), provider.MaxFound)], err
}

// List implements provider.Provider. It sees active deployments only. The cursor is the number of the page.
func (p *Provider) List(ctx context.Context, owner provider.Owner, cursor string) (provider.Page, error) {
	if !owner.Valid() {
		return provider.Page{}, provider.Fail(provider.Permanent, "list", fmt.Errorf("%.40q is no owner", owner))
	}
	return p.readPage(ctx, "list", string(owner), []string{string(owner)}, cursor)
}

// pageSize is the page size that List requests. The API may return fewer.
const pageSize = 50

// readPage asks for deployments with one tag and returns those that have all tags.
func (p *Provider) readPage(ctx context.Context, op, filter string, tags []string,
	cursor string) (provider.Page, error) {
	number := 1
	if cursor != "" {
		var err error
		// A cursor that List did not return is a mistake of the caller.
		if number, err = strconv.Atoi(cursor); err != nil || number < 1 {
			return provider.Page{}, provider.Fail(provider.Permanent, op, fmt.Errorf("%.20q is no cursor", cursor))
		}
	}
	query := url.Values{
		"page": {strconv.Itoa(number)}, "limit": {strconv.Itoa(pageSize)},
		"query": {fmt.Sprintf(`{"filters":[{"field":"tags","operator":"eq","value":%q}]}`, filter)},
	}
	a, err := p.client.callAPI(ctx, call{op: op, class: &p.client.listClass, method: http.MethodGet,
		path:  "/v1/deployments",
		query: query})
	if err != nil {
		return provider.Page{}, err
	}
	if a.status != http.StatusOK {
		return provider.Page{}, a.readError(op)
	}
	page, err := decodePage(a.body, number, tags)
	if err != nil {
		return provider.Page{}, provider.Fail(provider.Transient, op, err)
	}
	return page, nil
}

// Stop implements provider.Provider. Edgegap takes no grace in this call: the app version defines it.
func (p *Provider) Stop(ctx context.Context, ref provider.Ref, _ time.Duration) error {
	if err := ctx.Err(); err != nil {
		return provider.Fail(provider.Transient, "stop", err)
	}
	if !validRef(string(ref)) {
		return provider.Fail(provider.Gone, "stop", fmt.Errorf("%.40q is no request id", ref))
	}
	a, err := p.client.callAPI(ctx, call{op: "stop", class: &p.client.stopClass, method: http.MethodDelete,
		path: "/v1/stop/" + string(ref)})
	switch {
	case err != nil:
		return err
	case a.status == http.StatusOK || a.status == http.StatusAccepted:
		return nil
	case a.isUnknown():
		return provider.Fail(provider.Gone, "stop", a.statusError(nil))
	default:
		return a.readError("stop")
	}
}

// Check implements provider.Checker: it asks Edgegap whether the key is accepted, and the version exists and is active.
func (p *Provider) Check(ctx context.Context, app, version string) error {
	if strings.Trim(app, ".") == "" || strings.Trim(version, ".") == "" { // a path would be cleaned of them
		return provider.Fail(provider.Permanent, "check", errors.New("application or version is empty"))
	}
	path := "/v1/app/" + url.PathEscape(app) + "/version/" + url.PathEscape(version)
	a, err := p.client.callAPI(ctx, call{op: "check", class: &p.client.listClass, method: http.MethodGet, path: path})
	switch {
	case err != nil:
		return err
	case a.status == http.StatusNotFound:
		return provider.Fail(provider.Permanent, "check", fmt.Errorf("%s has no version %s", app, version))
	case a.status != http.StatusOK:
		return a.readError("check")
	case !a.isActive():
		return provider.Fail(provider.Permanent, "check", fmt.Errorf("version %s of %s is not active", version, app))
	default:
		return nil
	}
}
