package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// ticketRequest is the body of tickets.
type ticketRequest struct {
	Profiles   []string           `json:"profiles"`
	Attributes map[string]float64 `json:"attributes,omitempty"`
}

// ticket is a player's ticket.
type ticket struct{ url, id, token string }

// create queues a player.
func (m *matches) create(at string, p player, profile string, skill float64) (ticket, error) {
	t := ticket{url: at, token: p.token}
	body := encode(&ticketRequest{[]string{profile}, map[string]float64{"skill": skill}})
	err := m.run.client.asPlayer(at+"/tickets", p.token, body,
		func(a answer) error { return a.read(member{"ticket_id", &t.id}) })
	return t, err
}

// fill queues n new players as fast as the director takes them, and returns the last ticket of each concurrent caller.
func (m *matches) fill(ctx context.Context, profile string, n int, skill func(i int) float64) ([]ticket, error) {
	m.filling.Lock() // so that two fills never need more connections than there are
	defer m.filling.Unlock()
	group, ctx := errgroup.WithContext(ctx)
	callers := min(n, maxConcurrent)
	last := make([]ticket, callers)
	for c := range callers {
		group.Go(func() error {
			for i := c; i < n && ctx.Err() == nil; i += callers {
				p, err := m.run.players.another()
				if err != nil {
					return err
				}
				if last[c], err = m.create(m.run.URLs[i%len(m.run.URLs)], p, profile, skill(i)); err != nil {
					return fmt.Errorf("players cannot be queued: %w", err)
				}
			}
			return ctx.Err()
		})
	}
	return last, group.Wait()
}

// pollFor is for how long a poll waits.
const pollFor = 30 * time.Second

// await waits until a ticket has a state. Another final state is a failure.
func (m *matches) await(t ticket, state string) error {
	var seen struct {
		State   string `json:"state"`
		Version int    `json:"version"`
	}
	for seen.Version = 1; ; {
		url := fmt.Sprintf("%s/tickets/%s?wait=%s&version=%d", t.url, t.id, pollFor, seen.Version)
		before := seen.Version
		err := m.run.client.poll(url, t.token, pollFor, func(a answer) error { return json.Unmarshal(a, &seen) })
		switch {
		case err != nil:
			return err
		case seen.State == state:
			return nil
		case seen.Version == before:
			return &failure{code: "ticket stays " + seen.State}
		case final[seen.State]:
			return &failure{http.StatusOK, "ticket is " + seen.State, ""}
		}
	}
}

// final are the states that a ticket never leaves.
var final = map[string]bool{"assigned": true, "declined": true, "cancelled": true, "expired": true}
