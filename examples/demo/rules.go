package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/verify"
)

// rulesHold proves that every match obeys the profile, with the seats that its players had, at the time of the
// decision. The checker, match/verify, shares no code with the director loop.
func (j *judge) rulesHold(ctx context.Context) proof {
	p := proof{claim: "No match breaks its rules"}
	// The document that was applied, and not what the workers made of it.
	rules, err := profile.Parse(rankedProfile)
	if err != nil {
		return proof{claim: p.claim, evidenceText: err.Error()}
	}
	all, err := j.readDecisions(ctx)
	if err != nil {
		return proof{claim: p.claim, evidenceText: err.Error()}
	}
	unrecorded, err := j.countUnrecorded(ctx)
	if err != nil {
		return proof{claim: p.claim, evidenceText: err.Error()}
	}
	for _, d := range all {
		for _, v := range verify.Check(rules, d.match, d.DecidedAt) {
			p.evidenceText = fmt.Sprintf("match %s breaks %s: %s", d.ID, v.Rule, v.Text)
			return p
		}
	}
	// Without a match, nothing was checked.
	p.holds = len(all) > 0
	p.evidenceText = fmt.Sprintf("%d matches were checked against skill, balance, teams and parties", len(all))
	if unrecorded > 0 {
		p.evidenceText += fmt.Sprintf("; the worker that was killed had not yet recorded the tickets of its last %d",
			unrecorded)
	}
	return p
}

// recordedWithin is how long after its commit a match may be without the tickets in the history: the worker gathers
// them for a second.
const recordedWithin = 3 * time.Second

// countUnrecorded returns how many matches have no tickets in the history because their worker was killed within
// recordedWithin of the decision; up to a second after workerKilledAt, which is read before the kill. Tickets of
// matches that are younger than recordedWithin now may still be missing. Any other match without its tickets is an
// error.
func (j *judge) countUnrecorded(ctx context.Context) (lost int, err error) {
	var missing []string
	err = j.dbPool.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE just), coalesce(array_agg(text) FILTER (WHERE NOT just), '{}') FROM (
			SELECT format('%s (%s of its %s, epoch %s, %s after the kill)', m.id,
					(SELECT count(*) FROM ticket_history t WHERE t.match_id = m.id), cardinality(m.tickets), m.epoch,
					m.decided_at - $1) AS text,
				m.epoch = $4 AND m.decided_at
					BETWEEN $1::timestamptz - $2::interval AND $1::timestamptz + interval '1 second' AS just
			FROM match_history m
			WHERE m.profile = $3 AND m.decided_at < clock_timestamp() - $2::interval
				AND cardinality(m.tickets) <> (SELECT count(*) FROM ticket_history t WHERE t.match_id = m.id)) m`,
		j.chaosRecord.queueing.workerKilledAt, recordedWithin, profileName,
		j.chaosRecord.queueing.epochKilled).Scan(&lost, &missing)
	if err != nil {
		return 0, err
	}
	if len(missing) > 0 {
		return 0, fmt.Errorf("the tickets of match %s are not in the history", missing[0])
	}
	return lost, nil
}

// decided is a match from the history.
type decided struct {
	match verify.Match

	ID        string
	DecidedAt time.Time
}

// readDecisions returns the matches of the profile that were made, of which the history has the tickets.
func (j *judge) readDecisions(ctx context.Context) ([]decided, error) {
	rows, err := j.dbPool.Query(ctx, `
		SELECT m.id::text, m.decided_at, m.mode, m.game_region,
			(SELECT json_agg(json_build_object('id', t.id, 'created', t.created, 'profiles', t.profiles,
					'attributes', t.attributes, 'latencies', t.latencies))
				FROM ticket_history t WHERE t.match_id = m.id),
			(SELECT json_agg(DISTINCT jsonb_build_object('ticket', t.id, 'sub', s.sub, 'team', s.team))
				FROM (SELECT match_id, sub, team FROM seats UNION ALL SELECT match_id, sub, team FROM seat_history) s
				JOIN ticket_history t ON t.match_id = m.id AND s.sub = ANY (t.party) WHERE s.match_id = m.id)
		FROM match_history m
		WHERE m.profile = $1 AND cardinality(m.tickets) = (SELECT count(*) FROM ticket_history t WHERE t.match_id = m.id)`,
		profileName)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (d decided, err error) {
		var tickets, seats []byte
		if err := row.Scan(&d.ID, &d.DecidedAt, &d.match.Mode, &d.match.Region, &tickets, &seats); err != nil {
			return d, err
		}
		// The database cuts times to microseconds: tickets that waited just long enough at the decision still do so
		// then.
		d.DecidedAt = d.DecidedAt.Add(time.Microsecond)
		if d.match.Tickets, err = ticketsIn(tickets); err != nil {
			return d, err
		}
		d.match.Seats, err = seatsIn(seats)
		return d, err
	})
}

// seatsIn decodes the seats of a match.
func seatsIn(raw []byte) (seats []verify.Seat, err error) {
	var rows []struct {
		Ticket string `json:"ticket"`
		Sub    string `json:"sub"`
		Team   string `json:"team"`
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, err
	}
	for _, r := range rows {
		seats = append(seats, verify.Seat{Ticket: r.Ticket, Sub: r.Sub, Team: r.Team})
	}
	return seats, nil
}

// ticketsIn decodes tickets of the history, with what the demo's rules compare: the skill of each player, and the
// latencies of the ticket.
func ticketsIn(raw []byte) (tickets []match.Ticket, err error) {
	var rows []struct {
		ID         string    `json:"id"`
		Created    time.Time `json:"created"`
		Profiles   []string  `json:"profiles"`
		Attributes map[string]struct {
			Skill float64 `json:"skill"`
		} `json:"attributes"`
		Latencies map[string]uint16 `json:"latencies"`
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, err
	}
	for _, r := range rows {
		t := match.Ticket{ID: r.ID, Created: r.Created, Profiles: r.Profiles, Latencies: r.Latencies}
		delete(r.Attributes, "") // the attributes of the whole ticket, which the demo's rules do not read
		for sub, own := range r.Attributes {
			skill := match.Value{Kind: match.Number, Number: own.Skill}
			// The backend vouches for the skill: storeFacts has stored it.
			t.Players = append(t.Players, match.Player{Sub: sub, Source: match.FromBackend,
				Attributes: match.Attributes{"skill": skill}})
		}
		tickets = append(tickets, t)
	}
	return tickets, nil
}
