package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// matchDistance is the difference of skill that matches allow.
const matchDistance = 100

// similarSkill returns a skill; any two similar players may be matched.
func similarSkill() float64 { return matchDistance * rand.Float64() }

// strangeSkill returns a skill that no rule matches with another stranger's.
func strangeSkill(i int) float64 { return float64(2*matchDistance*(i+1)) + similarSkill()/2 }

// profileDocument is a profile with two teams of players of similar skill.
const profileDocument = `name: %s
mode: %s
regions: [%s]
attributes: {skill: {type: number}}
teams: [{name: red, players: %d}, {name: blue, players: %d}]
rules: [{near: skill, within: %d}]
`

// apply applies a new profile and returns its name, once all replicas know it.
func (m *matches) apply(ctx context.Context, mode string, team, within int) (name string, err error) {
	m.mu.Lock()
	name = fmt.Sprintf("bench-%s-%d", m.world.job.ID, len(m.profiles))
	m.profiles = append(m.profiles, name)
	m.mu.Unlock()
	if err := m.change(name, mode, team, within); err != nil {
		return "", err
	}
	return name, m.awaitProfile(ctx, name)
}

// lastProfile is the last profile that was applied.
func (m *matches) lastProfile() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.profiles[len(m.profiles)-1]
}

// change makes a version of a profile the live one.
func (m *matches) change(name, mode string, team, within int) error {
	document := fmt.Sprintf(profileDocument, name, mode, strings.Join(m.world.places.regions, ", "), team, team, within)
	body := encode(map[string]string{"document": document, "reason": "a benchmark"})
	err := m.world.client.Do(m.request(http.MethodPut, name, body))
	if err != nil {
		return fmt.Errorf("profile %s cannot be applied at %s: %w", name, m.world.job.URLs[0], err)
	}
	return nil
}

// request is an operator's call about a profile.
func (m *matches) request(method, profile string, body []byte) Request {
	return Request{Method: method, URL: m.world.job.URLs[0] + "/ops/profiles/" + url.PathEscape(profile),
		As: Bearer(m.world.job.OpsToken), Body: body}
}

const (
	knownTimeout = 10 * time.Second // a replica reads the list of profiles once a second
	knownPause   = 20 * time.Millisecond
	// retireTimeout bounds retiring profiles. Profiles that it leaves live have no tickets.
	retireTimeout = 10 * time.Second
)

// awaitProfile waits until each replica knows a profile. A replica that knows it refuses a ticket without the attribute
// that the profile requires.
func (m *matches) awaitProfile(ctx context.Context, name string) error {
	p, err := m.world.players.next()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, knownTimeout)
	defer cancel()
	body := encode(&ticketRequest{Profiles: []string{name}})
	for _, replica := range m.world.job.URLs {
		for {
			err := m.world.client.Post(replica+"/tickets", Bearer(p.token), body, nil)
			if KindOf(err) == "404 profile_unknown" && Pause(ctx, knownPause) == nil {
				continue
			}
			if err != nil && KindOf(err) != "400 invalid_request" {
				return fmt.Errorf("%s does not take tickets of profile %s: %w", replica, name, err)
			}
			break
		}
	}
	return nil
}

// retire retires all profiles, which cancels the tickets that still wait for them. It also works after ctx has ended.
func (m *matches) retire(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), retireTimeout)
	defer cancel()
	client := NewClient(ctx, 1)
	defer client.Close()
	for _, name := range m.profiles {
		_ = client.Do(m.request(http.MethodDelete, name, nil)) // see retireTimeout
	}
}

// ticketRequest is the body of tickets.
type ticketRequest struct {
	Profiles   []string           `json:"profiles"`
	Attributes map[string]float64 `json:"attributes,omitempty"`
}

// ticket is a player's ticket.
type ticket struct{ url, id, token string }

// create queues a player at a replica.
func (m *matches) create(replica string, p player, profile string, skill float64) (ticket, error) {
	t := ticket{url: replica, token: p.token}
	body := encode(&ticketRequest{[]string{profile}, map[string]float64{"skill": skill}})
	err := m.world.client.Post(replica+"/tickets", Bearer(p.token), body,
		func(a []byte) error { return readStrings(a, member{"ticket_id", &t.id}) })
	return t, err
}

// fill queues n new players as fast as the director takes them, and returns the last ticket of each concurrent caller.
func (m *matches) fill(ctx context.Context, profile string, n int, skill func(i int) float64) ([]ticket, error) {
	m.filling.Lock() // so that two fills never need more connections than there are
	defer m.filling.Unlock()
	callers, urls := min(n, maxConcurrent), m.world.job.URLs
	last := make([]ticket, callers)
	return last, Concurrently(ctx, callers, 0, func(ctx context.Context, c int) error {
		for i := c; i < n && ctx.Err() == nil; i += callers {
			p, err := m.world.players.next()
			if err != nil {
				return err
			}
			if last[c], err = m.create(urls[i%len(urls)], p, profile, skill(i)); err != nil {
				return fmt.Errorf("players cannot be queued: %w", err)
			}
		}
		return ctx.Err()
	})
}

// pollTime is for how long a poll waits.
const pollTime = 30 * time.Second

// await waits until a ticket has a state. Another final state is a failure.
func (m *matches) await(t ticket, state string) error {
	var seen struct {
		State   string `json:"state"`
		Version int    `json:"version"`
	}
	for seen.Version = 1; ; {
		before := seen.Version
		err := m.world.client.Do(Request{Method: http.MethodGet, As: Bearer(t.token), Wait: pollTime,
			URL:  fmt.Sprintf("%s/tickets/%s?wait=%s&version=%d", t.url, t.id, pollTime, seen.Version),
			Take: func(a []byte) error { return json.Unmarshal(a, &seen) }})
		switch {
		case err != nil:
			return err
		case seen.State == state:
			return nil
		case seen.Version == before:
			return &Failure{"ticket stays " + seen.State, nil}
		case finalStates[seen.State]:
			return &Failure{"200 ticket is " + seen.State, nil}
		}
	}
}

// finalStates are the states that a ticket never leaves.
var finalStates = map[string]bool{"assigned": true, "declined": true, "cancelled": true, "expired": true}

// applyDuels applies the profile of match-life. It has teams of one, so that a player waits only for the next player.
func (w *world) applyDuels(ctx context.Context) error {
	_, err := w.matches.apply(ctx, w.places.modes[0], 1, matchDistance)
	return err
}

// queueStrangers queues players that no rule matches.
func (w *world) queueStrangers(ctx context.Context) error {
	name, err := w.matches.apply(ctx, w.places.modes[0], 5, matchDistance)
	if err == nil {
		_, err = w.matches.fill(ctx, name, w.job.Tickets, strangeSkill)
	}
	return err
}

// matchLife queues two players, who match each other or those of another caller. The number of players is even, so none
// is left over.
func (w *world) matchLife(c *Caller) error {
	var two [2]ticket
	err := c.Timed("create", func() error {
		return Concurrently(w.ctx, 2, 2, func(_ context.Context, i int) (err error) {
			two[i], err = w.createSimilar(c)
			return err
		})
	})
	if err != nil {
		return err
	}
	return c.Timed("and assigned", func() error {
		return Concurrently(w.ctx, 2, 2, func(_ context.Context, i int) error { return w.matches.await(two[i], "assigned") })
	})
}

func (w *world) matchSteady(c *Caller) error {
	return c.Timed("create", func() error {
		_, err := w.createSimilar(c)
		return err
	})
}

func (w *world) createSimilar(c *Caller) (ticket, error) {
	p, err := w.players.next()
	if err != nil {
		return ticket{}, err
	}
	return w.matches.create(c.URL, p, w.matches.lastProfile(), similarSkill())
}
