package console

import (
	"context"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/match/explain"
)

// ticketView is what templates/ticket.html reads.
type ticketView struct {
	Ticket explain.Ticket
	Words  string // the explanation as director explain prints it
	Steps  []opsview.TicketState
}

// ticketPage explains a ticket. It is not live, because an explanation reads the whole queue.
func ticketPage(universe string, e Explainer) page[ticketView] {
	return page[ticketView]{routePath: "/tickets/:id", templateName: "ticket",
		loadData: func(ctx context.Context, s Store, q query) (v ticketView, err error) {
			if v.Ticket, err = e.Ticket(ctx, q.Param("id")); err != nil {
				return v, err
			}
			v.Words = v.Ticket.Text()
			v.Steps, err = ticketStates(ctx, s, universe, v.Ticket.TicketID)
			return v, err
		}}
}

// ticketStates returns the states of a ticket in their order, at most 200. An unknown ticket has none.
func ticketStates(ctx context.Context, s Store, universe, ticket string) ([]opsview.TicketState, error) {
	states, _, err := listView(ctx, s, opsview.TicketStates, opsview.TicketFilter{Universe: universe, Ticket: ticket},
		opsview.Page{Limit: 200})
	return states, err
}
