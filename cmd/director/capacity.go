package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

// capacityLine is what a region can take of a mode, and the answer to a request.
type capacityLine struct {
	Region           string `json:"region"`
	Mode             string `json:"mode"`
	Refusal          string `json:"refusal"` // why the request is refused with 409; empty: it gets seats
	Seats            int64  `json:"seats"`
	ReservedSeats    int64  `json:"reserved_seats"`
	FreeSeats        int64  `json:"free_seats"`
	SessionsWithRoom int64  `json:"sessions_with_room"`
	LargestParty     int32  `json:"largest_party"`   // that an open session takes; 0: none
	LargestSession   int32  `json:"largest_session"` // that can be opened; 0: none
	LiveServers      int64  `json:"live_servers"`
	Players          int64  `json:"players"`
}

// capacityRequest is the request whose answer is asked for.
type capacityRequest struct {
	region         string
	players, seats int
}

func (p *program) capacityCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "capacity",
		Short: "Say what regions can take, and what a request is answered now",
		Long: "Prints, for each region and mode, how many seats are free and whether a request for --players in a session of --seats gets\n" +
			"seats now, or why it is refused. It fails if the request is refused everywhere. The same in SQL: views\n" +
			"ops.placement_outlook and ops.capacity.",
		Example: "  director capacity\n  director capacity --region eu-west --players 4\n" +
			"  director capacity -o json | jq -r '.[] | select(.refusal != \"\") | .region + \" \" + .mode'",
		Args: cli.Exactly(0),
	}
	var r capacityRequest
	cmd.Flags().StringVar(&r.region, "region", "", "Only this region")
	cmd.Flags().IntVar(&r.players, "players", 1, "Players of the request, who play together")
	// 8, as a request without max_players has in a mode without a setting.
	cmd.Flags().IntVar(&r.seats, "seats", 8, "Seats of the session that it asks for, max_players")
	p.completeFlag(cmd, "region", regionWords)
	// As in POST /matchmake: the seats of a session, and so the players of a request.
	const maxSeats = 1024
	requireBetween(cmd, "players", &r.players, 1, maxSeats)
	requireBetween(cmd, "seats", &r.seats, 1, maxSeats)
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		// The players play together, so that their session has at least as many seats.
		r.seats = max(r.seats, r.players)
		lines, err := op.readCapacity(ctx, r)
		if err != nil {
			return err
		}
		// The table first: it has the reason of each mode, and the error only says that all refuse.
		if err := writeCapacity(op.out, lines); err != nil {
			return err
		}
		return r.refusedEverywhere(lines)
	})
}

// readCapacity reads all pages of the capacity, and judges the request in each mode.
func (op operator) readCapacity(ctx context.Context, r capacityRequest) ([]capacityLine, error) {
	lines, page := []capacityLine{}, opsview.Page{Limit: opsview.MaxPage}
	for {
		found, more, err := opsview.ListCapacity(ctx, op.store.Pool(), r.region, page)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			lines = append(lines, r.lineOf(c))
		}
		if !more {
			return lines, nil
		}
		last := lines[len(lines)-1]
		// The key of the order, and not a number of rows: modes may come and go between two pages.
		page.After = []any{last.Region, last.Mode}
	}
}

// lineOf asks the same function that the console's page asks, so that both name the same reason.
func (r capacityRequest) lineOf(c opsview.ModeCapacity) capacityLine {
	return capacityLine{
		Region: c.Outlook.Region, Mode: c.Outlook.Mode, Refusal: c.Outlook.RefusalText(r.players, r.seats),
		Seats: c.Capacity.Seats, ReservedSeats: c.Capacity.ReservedSeats, FreeSeats: c.Capacity.FreeSeats,
		SessionsWithRoom: c.Outlook.SessionsWithRoom, LargestParty: c.Outlook.LargestParty,
		LargestSession: c.Outlook.LargestSession, LiveServers: c.Outlook.Live, Players: c.Capacity.Players,
	}
}

// refusedEverywhere returns an error where no region and mode takes the request, so that scripts see it by the exit
// code; nil: one does.
func (r capacityRequest) refusedEverywhere(lines []capacityLine) error {
	for _, l := range lines {
		if l.Refusal == "" {
			return nil
		}
	}
	where := ""
	if r.region != "" {
		where = " in region " + r.region
	}
	if len(lines) == 0 {
		return fmt.Errorf("no game server offers a mode%s", where)
	}
	return fmt.Errorf("a request for %d players is refused in every mode%s", r.players, where)
}

// writeCapacity prints "seats" for a request that gets some, in the column in which the others have their reason.
func writeCapacity(out cli.Output, lines []capacityLine) error {
	header := []string{"region", "mode", "answer", "free seats", "reserved", "seats", "largest new session", "servers",
		"players"}
	return cli.Write(out.Sparing("largest new session", "seats", "reserved"), lines, header,
		func(l capacityLine) []any {
			return []any{l.Region, l.Mode, cmp.Or(l.Refusal, "seats"), l.FreeSeats, l.ReservedSeats, l.Seats,
				l.LargestSession, l.LiveServers, l.Players}
		})
}
