package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/internal/httpcall"
)

// call is a call of the engine's API.
type call struct {
	op, method, path string
	query            url.Values
	body             any                             // nil for none
	readBody         func(io.Reader) ([]byte, error) // see httpcall.Request; nil: the whole body
}

// callEngine makes a call. Errors: Transient; Ambiguous if a Deploy may have been executed.
func (p *Provider) callEngine(ctx context.Context, k call) (httpcall.Answer, error) {
	e, err := p.reachEngine(ctx, k.op)
	if err != nil {
		return httpcall.Answer{}, err
	}
	return p.exchangeOnce(ctx, k, e.pathPrefix)
}

// exchangeOnce makes a call below a prefix, the version of the API; "" before that is known.
func (p *Provider) exchangeOnce(ctx context.Context, k call, prefix string) (httpcall.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	target := p.baseURL + prefix + k.path
	if k.query != nil {
		target += "?" + k.query.Encode()
	}
	a, sent, err := httpcall.Exchange(ctx, p.httpClient, httpcall.Request{Method: k.method, URL: target, Body: k.body,
		ReadBody: k.readBody})
	if err == nil {
		return a, nil
	}
	kind := provider.Transient
	// Only a Deploy must not be repeated blindly: all other calls may.
	if sent && k.op == "deploy" {
		kind = provider.Ambiguous
	}
	return httpcall.Answer{}, provider.Fail(kind, k.op, errors.New(httpcall.Scrub(err.Error(), nil)))
}

// engine is what the engine says about itself.
type engine struct {
	pathPrefix    string // names the version of the API
	loggingDriver string
}

var apiVersion = regexp.MustCompile(`^[0-9]{1,3}\.[0-9]{1,3}$`)

// reachEngine asks the engine for its version of the API, once. An engine that is upgraded serves recent older
// versions, too.
func (p *Provider) reachEngine(ctx context.Context, op string) (engine, error) {
	// Not locked during the calls below: two first callers may make the calls at once, and get the same answer.
	p.mu.Lock()
	known := p.knownEngine
	p.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	var version struct {
		API string `json:"ApiVersion"`
	}
	if err := p.readJSON(ctx, "/version", &version); err != nil {
		return engine{}, provider.Fail(provider.Transient, op, err)
	}
	// The version becomes a part of paths.
	if !apiVersion.MatchString(version.API) {
		return engine{}, provider.Fail(provider.Transient, op, errors.New("what answers is no Docker engine"))
	}
	var info struct {
		LoggingDriver string
	}
	if err := p.readJSON(ctx, "/v"+version.API+"/info", &info); err != nil {
		return engine{}, provider.Fail(provider.Transient, op, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.knownEngine = &engine{"/v" + version.API, info.LoggingDriver}
	return *p.knownEngine, nil
}

func (p *Provider) readJSON(ctx context.Context, path string, to any) error {
	a, err := p.exchangeOnce(ctx, call{op: "read", method: http.MethodGet, path: path}, "")
	if err != nil {
		// Without the kind and the operation, which reachEngine adds for its caller.
		return errors.Unwrap(err)
	}
	if a.Status != http.StatusOK {
		return fmt.Errorf("%s has status %d", path, a.Status)
	}
	return json.Unmarshal(a.Body, to)
}

// ambiguousError makes an error of callEngine one of kind Ambiguous: Deploy has changed something before.
func ambiguousError(err error) error {
	return provider.Fail(provider.Ambiguous, "deploy", errors.Unwrap(err))
}

// answerError returns the status and the engine's message as an error.
func answerError(kind provider.Kind, op string, a httpcall.Answer, secrets []string) error {
	var v struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(a.Body, &v) // other bodies have no message
	return provider.Fail(kind, op, fmt.Errorf("status %d: %s", a.Status, httpcall.Scrub(v.Message, secrets)))
}

// secretsOf returns the texts that must be removed from messages of the engine.
func secretsOf(s provider.Spec) []string { return slices.Collect(maps.Values(s.Env)) }
