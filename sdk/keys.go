package sdk

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/lattice-director/director/token"
)

const (
	keysPath = "/.well-known/jwks.json"
	// keysRetry is the shortest interval between two reads of the key set. It bounds the reads that clients can cause
	// with tokens that name unknown keys.
	keysRetry = 5 * time.Second
)

// newKeySource returns a source that reads the key set of a cell, from the first replica that answers, and caches it
// according to the answer's Cache-Control. The cell "" is that of the configured replicas.
func newKeySource(c *Client, cell string) (*token.KeySource, error) {
	// The URL only names the source: keysTransport chooses the replica of each request.
	return token.NewKeySource(c.replicas.pickReplica(time.Now()).baseURL+keysPath, token.SourceOptions{
		Client:     &http.Client{Transport: keysTransport{c, cell}},
		Timeout:    time.Duration(c.replicas.replicaCount())*c.clientOptions.AttemptTimeout + time.Second,
		RetryEvery: keysRetry,
		// A director URL with plain HTTP already trusts that network with the fleet token.
		PlainHTTP: true,
		Log:       c.clientOptions.Logger,
	})
}

// renewKeySource makes a new source of keys, for a server whose region has moved: keys are a cell's own, and the former
// source would not ask for others until its interval is over.
func (s *GameServer) renewKeySource() error {
	keys, err := newKeySource(s.client, s.registeredAt())
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keySource, s.verifier = keys, token.NewSessionVerifier(keys, 0)
	return nil
}

func (s *GameServer) keysOfCell() *token.KeySource {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keySource
}

func (s *GameServer) verifierOfFormerCell() *token.SessionVerifier {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.formerVerifier
}

func (s *GameServer) verifierOfCell() *token.SessionVerifier {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.verifier
}

// keysTransport sends a request for the key set to each replica in turn until one answers.
type keysTransport struct {
	client *Client
	cell   string
}

// RoundTrip implements http.RoundTripper.
func (t keysTransport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	ask := func(base string) error {
		resp, err = t.attemptRequest(req, base) //nolint:bodyclose // the caller of RoundTrip closes it
		switch {
		case err != nil:
			return &unreachableError{err}
		case resp.StatusCode >= http.StatusInternalServerError:
			return &unreachableError{errors.New(resp.Status)}
		}
		return nil
	}
	if t.cell != "" {
		err = ask(t.cell)
	} else {
		_, err = t.client.tryReplicas(req.Context(), ask)
	}
	if resp != nil {
		return resp, nil // also an error of the last replica: its status says why there are no keys
	}
	return nil, err
}

// attemptRequest reads the whole answer, so that a replica that stops in the middle of it counts as one that did not
// answer.
func (t keysTransport) attemptRequest(req *http.Request, base string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), t.client.clientOptions.AttemptTimeout)
	defer cancel()
	again, err := http.NewRequestWithContext(ctx, req.Method, base+keysPath, nil)
	if err != nil {
		return nil, err
	}
	again.Header = req.Header.Clone()
	again.Header.Set("User-Agent", t.client.clientOptions.UserAgent)
	resp, err := t.client.http.Do(again)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := readBounded(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
