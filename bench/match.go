package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
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

// applyProfile applies a new profile and returns its name, once all replicas know it.
func (w *world) applyProfile(ctx context.Context, mode string, team, within int) (name string, err error) {
	w.mu.Lock()
	name = fmt.Sprintf("bench-%s-%d", w.job.ID, len(w.profiles))
	w.profiles = append(w.profiles, name)
	w.mu.Unlock()
	if err := w.changeProfile(name, mode, team, within); err != nil {
		return "", err
	}
	return name, w.awaitProfile(ctx, name)
}

// changeProfile makes a version of a profile the live one.
func (w *world) changeProfile(name, mode string, team, within int) error {
	document := fmt.Sprintf(profileDocument, name, mode, strings.Join(w.places.regions, ", "), team, team, within)
	body := encode(map[string]string{"document": document, "reason": "a benchmark"})
	if err := w.client.Do(w.profileRequest(http.MethodPut, name, body)); err != nil {
		return fmt.Errorf("profile %s cannot be applied at %s: %w", name, w.job.Options.URLs[0], err)
	}
	return nil
}

// profileRequest is an operator's call about a profile.
func (w *world) profileRequest(method, profile string, body []byte) Request {
	return Request{Method: method, URL: w.job.Options.URLs[0] + "/ops/profiles/" + profile,
		As: Bearer(w.job.Options.OpsToken), Body: body}
}

const (
	knownTimeout = 10 * time.Second // a replica reads the list of profiles once a second
	knownPause   = 20 * time.Millisecond
)

// awaitProfile waits until each replica knows a profile. A replica that knows it refuses a ticket without the attribute
// that the profile requires.
func (w *world) awaitProfile(ctx context.Context, name string) error {
	p, err := w.nextPlayer()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, knownTimeout)
	defer cancel()
	body := encode(&ticketRequest{Profiles: []string{name}})
	for _, replica := range w.job.Options.URLs {
		for {
			err := w.client.Post(replica+"/tickets", Bearer(p.token), body, nil)
			// The replica has not read its list again since the profile was applied.
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

// ticketRequest is the body of tickets.
type ticketRequest struct {
	Profiles   []string           `json:"profiles"`
	Attributes map[string]float64 `json:"attributes,omitempty"`
}

// ticket is a player's ticket.
type ticket struct{ url, id, token string }

// createTicket queues a new player at a replica.
func (w *world) createTicket(replica, profile string, skill float64) (t ticket, err error) {
	p, err := w.nextPlayer()
	if err != nil {
		return t, err
	}
	t.url, t.token = replica, p.token
	body := encode(&ticketRequest{[]string{profile}, map[string]float64{"skill": skill}})
	err = w.client.Post(replica+"/tickets", Bearer(p.token), body,
		func(a []byte) error { return readStrings(a, member{"ticket_id", &t.id}) })
	return t, err
}

// queuePlayers queues n new players as fast as the director takes them, and returns the last ticket of each concurrent caller.
func (w *world) queuePlayers(ctx context.Context, profile string, n int, skill func(i int) float64) ([]ticket, error) {
	callers, urls := min(n, maxConcurrent), w.job.Options.URLs
	last := make([]ticket, callers)
	return last, Concurrently(ctx, callers, 0, func(ctx context.Context, c int) (err error) {
		for i := c; i < n && ctx.Err() == nil; i += callers {
			if last[c], err = w.createTicket(urls[i%len(urls)], profile, skill(i)); err != nil {
				return fmt.Errorf("players cannot be queued: %w", err)
			}
		}
		return ctx.Err()
	})
}

// pollTime is for how long a poll waits.
const pollTime = 30 * time.Second

// awaitTicket waits until a ticket has a state. Another final state is a failure.
func (w *world) awaitTicket(t ticket, state string) error {
	var seen struct {
		State   string `json:"state"`
		Version int    `json:"version"`
	}
	for seen.Version = 1; ; {
		before := seen.Version
		err := w.client.Do(Request{Method: http.MethodGet, As: Bearer(t.token), Wait: pollTime,
			URL:  fmt.Sprintf("%s/tickets/%s?wait=%s&version=%d", t.url, t.id, pollTime, seen.Version),
			Take: func(a []byte) error { return json.Unmarshal(a, &seen) }})
		switch {
		case err != nil:
			return err
		case seen.State == state:
			return nil
		case seen.Version == before: // the poll waited for all of pollTime, far longer than a match takes
			return &Failure{"ticket stays " + seen.State, nil}
		case finalStates[seen.State]:
			return &Failure{"200 ticket is " + seen.State, nil}
		}
	}
}

// finalStates are the states that a ticket never leaves.
var finalStates = map[string]bool{"assigned": true, "declined": true, "cancelled": true, "expired": true}

// applyDuels applies the profile of match-life. It has teams of one, so that a player waits only for the next player.
func (w *world) applyDuels(ctx context.Context) (err error) {
	w.profile, err = w.applyProfile(ctx, w.places.modes[0], 1, matchDistance)
	return err
}

// queueStrangers queues players that no rule matches.
func (w *world) queueStrangers(ctx context.Context) (err error) {
	w.job.Enter("queueing players")
	if w.profile, err = w.applyProfile(ctx, w.places.modes[0], 5, matchDistance); err != nil {
		return err
	}
	_, err = w.queuePlayers(ctx, w.profile, w.job.Options.Load.Tickets, strangeSkill)
	return err
}

// matchLife queues two players, who match each other or those of another caller. The number of players is even, so none
// is left over.
func (w *world) matchLife(c *Caller) error {
	var two [2]ticket
	err := c.Timed("create", func() error {
		return Concurrently(w.ctx, 2, 2, func(_ context.Context, i int) (err error) {
			two[i], err = w.createTicket(c.URL, w.profile, similarSkill())
			return err
		})
	})
	if err != nil {
		return err
	}
	return c.Timed("and assigned", func() error {
		return Concurrently(w.ctx, 2, 2, func(_ context.Context, i int) error { return w.awaitTicket(two[i], "assigned") })
	})
}

// matchSteady queues a player, who matches those of other callers, and does not wait for the match.
func (w *world) matchSteady(c *Caller) error {
	return c.Timed("create", func() error {
		_, err := w.createTicket(c.URL, w.profile, similarSkill())
		return err
	})
}
