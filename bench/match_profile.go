package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// matches are the profiles and tickets of a run.
type matches struct {
	run     *run
	filling sync.Mutex

	mu      sync.Mutex
	applied []string // profiles, to be retired at the end
}

// document is a profile with two teams of players of similar skill.
const document = `name: %s
mode: %s
regions: [%s]
attributes: {skill: {type: number}}
teams: [{name: red, players: %d}, {name: blue, players: %d}]
rules: [{near: skill, within: %d}]
`

// apply applies a new profile and returns its name, once all replicas know it.
func (m *matches) apply(ctx context.Context, mode string, team, within int) (name string, err error) {
	m.mu.Lock()
	name = fmt.Sprintf("bench-%s-%d", m.run.id, len(m.applied))
	m.applied = append(m.applied, name)
	m.mu.Unlock()
	if err := m.change(name, mode, team, within); err != nil {
		return "", err
	}
	return name, m.known(ctx, name)
}

// current is the last profile that was applied.
func (m *matches) current() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.applied[len(m.applied)-1]
}

// change makes a version of a profile the live one.
func (m *matches) change(name, mode string, team, within int) error {
	text := fmt.Sprintf(document, name, mode, strings.Join(m.run.places.regions, ", "), team, team, within)
	body := encode(struct {
		Document string `json:"document"`
		Reason   string `json:"reason"`
	}{text, "a benchmark"})
	if err := m.run.client.asOperator(http.MethodPut, m.url(name), m.run.OpsToken, body); err != nil {
		return fmt.Errorf("profile %s cannot be applied at %s: %w", name, m.run.URLs[0], err)
	}
	return nil
}

func (m *matches) url(profile string) string {
	return m.run.URLs[0] + "/ops/profiles/" + url.PathEscape(profile)
}

const (
	knownTimeout = 10 * time.Second // a replica reads the list of profiles once a second
	knownPause   = 20 * time.Millisecond
)

// known waits until each replica knows a profile. A replica that knows it refuses a ticket without the attribute that
// the profile requires.
func (m *matches) known(ctx context.Context, name string) error {
	p, err := m.run.players.another()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, knownTimeout)
	defer cancel()
	body := encode(&ticketRequest{Profiles: []string{name}})
	for _, at := range m.run.URLs {
		err := m.run.client.asPlayer(at+"/tickets", p.token, body, ignoreAnswer)
		for isKind(err, "404 profile_unknown") && pause(ctx, knownPause) {
			err = m.run.client.asPlayer(at+"/tickets", p.token, body, ignoreAnswer)
		}
		if err != nil && !isKind(err, "400 invalid_request") {
			return fmt.Errorf("%s does not take tickets of profile %s: %w", at, name, err)
		}
	}
	return nil
}

func isKind(err error, kind string) bool {
	said, ok := errors.AsType[*failure](err)
	return ok && said.Kind() == kind
}

// retireTimeout bounds retiring profiles. Profiles that it leaves live have no tickets.
const retireTimeout = 10 * time.Second

// retire retires all profiles, which cancels the tickets that still wait for them. It also works after ctx has ended.
func (m *matches) retire(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), retireTimeout)
	defer cancel()
	client := NewClient(ctx, "", 1)
	defer client.Close()
	for _, name := range m.applied {
		_ = client.asOperator(http.MethodDelete, m.url(name), m.run.OpsToken, nil) // see retireTimeout
	}
}

// prepareMatches prepares the queue.
func (r *run) prepareMatches(ctx context.Context) error {
	if r.scenario.prepare == nil {
		return nil
	}
	r.enter("queueing players")
	return r.scenario.prepare(r, ctx)
}
