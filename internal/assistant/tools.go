package assistant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// tools answer the calls.
type tools struct {
	options Options

	runningCalls chan struct{} // full while as many calls run as may
}

type noArguments struct{}

func (t tools) runDoctor(ctx context.Context, _ noArguments) (string, error) {
	text, err := json.Marshal(t.options.Doctor.Examine(ctx))
	return cutText(string(text)), err
}

// ticketsArguments select tickets.
type ticketsArguments struct {
	Profile string `json:"profile,omitempty" jsonschema:"only tickets that name this profile"`
	Limit   int    `json:"limit,omitempty" jsonschema:"how many, 1 to 100; 20 by default"`
}

// maxScan bounds the tickets that are read to find those of a profile, as in the console.
const maxScan = 2000

// waitingTicket is a ticket as it is answered: with durations that people read.
type waitingTicket struct {
	opsview.WaitingTicket

	Waits string `json:"waits"`
}

func (t tools) waitingTickets(ctx context.Context, in ticketsArguments) (string, error) {
	limit, err := rowLimit(in.Limit)
	if err != nil {
		return "", err
	}
	found, more, err := opsview.WaitingTickets.List(ctx, t.options.Store.Pool(),
		opsview.WaitingTicketFilter{Universe: t.options.Universe, Profile: in.Profile},
		opsview.Page{Limit: limit, Scan: maxScan})
	if err != nil {
		return "", err
	}
	rows := make([]waitingTicket, len(found))
	for i, row := range found {
		rows[i] = waitingTicket{row, row.Waits.Round(time.Second).String()}
	}
	return rowsText(rows, more)
}

// ticketArguments name a ticket.
type ticketArguments struct {
	Ticket string `json:"ticket" jsonschema:"the id of the ticket"`
}

func (t tools) explainTicket(ctx context.Context, in ticketArguments) (string, error) {
	found, err := t.options.Explain.Ticket(ctx, in.Ticket)
	if err != nil {
		return "", err
	}
	return cutText(found.Text()), nil
}

// capacityArguments select a region.
type capacityArguments struct {
	Region string `json:"region,omitempty" jsonschema:"only this region"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many modes, 1 to 100; 20 by default"`
}

// capacityRow is a mode of a region.
type capacityRow struct {
	opsview.Outlook

	Why     string `json:"why"` // a request for a player is refused now; "": it is not
	Seats   int64  `json:"seats"`
	Free    int64  `json:"free_seats"`
	Players int64  `json:"players"`
}

func (t tools) readCapacity(ctx context.Context, in capacityArguments) (string, error) {
	limit, err := rowLimit(in.Limit)
	if err != nil {
		return "", err
	}
	found, more, err := opsview.ListCapacity(ctx, t.options.Store.Pool(), in.Region, opsview.Page{Limit: limit})
	if err != nil {
		return "", err
	}
	rows := make([]capacityRow, len(found))
	for i, m := range found {
		rows[i] = capacityRow{m.Outlook, m.Outlook.RefusalText(1, 1), m.Capacity.Seats, m.Capacity.FreeSeats,
			m.Capacity.Players}
	}
	return rowsText(rows, more)
}

// eventsArguments select events.
type eventsArguments struct {
	Kind     string `json:"kind,omitempty" jsonschema:"the beginning of the kind, such as instance. or session.closed"`
	Region   string `json:"region,omitempty" jsonschema:"only this region"`
	Instance string `json:"instance,omitempty" jsonschema:"only this game server"`
	Session  string `json:"session,omitempty" jsonschema:"only this session: region.uuid"`
	Minutes  int    `json:"minutes,omitempty" jsonschema:"how far back, 1 to 10080; 60 by default"`
	Limit    int    `json:"limit,omitempty" jsonschema:"how many, 1 to 100; 20 by default"`
}

// maxMinutes is how far back events are read: a week.
const maxMinutes = 7 * 24 * 60

func (t tools) readEvents(ctx context.Context, in eventsArguments) (string, error) {
	limit, err := rowLimit(in.Limit)
	if in.Minutes == 0 {
		in.Minutes = 60
	}
	if in.Minutes < 1 || in.Minutes > maxMinutes {
		err = errors.Join(err, fmt.Errorf("minutes %d is not allowed: it must be 1 to %d", in.Minutes, maxMinutes))
	}
	if err != nil {
		return "", err
	}
	now, err := t.options.Store.DatabaseNow(ctx) // events have the time of the database
	if err != nil {
		return "", err
	}
	rows, more, err := opsview.Events.List(ctx, t.options.Store.Pool(), opsview.EventFilter{
		Kinds: in.Kind, Region: in.Region, Instance: in.Instance, Session: in.Session,
		Since: now.Add(-time.Duration(in.Minutes) * time.Minute),
	}, opsview.Page{Limit: limit})
	if err != nil {
		return "", err
	}
	return rowsText(rows, more)
}
