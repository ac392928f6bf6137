package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) valvesCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "valves",
		Short: "Limit how fast players enter, and see who waits in the login queue",
		Long: "A valve limits how many players a second enter the title, a region or a client build, and how many are in at once. The others wait in a\n" +
			"login queue, in the order in which they came. docs/how-to/launch-day.md shows a launch.\n" +
			"The same in SQL: views ops.valves, ops.valve_estimates and ops.admissions, functions ops.set_valve, ops.open_valve, ops.close_valve,\n" +
			"ops.delete_valve and ops.admit_player.",
		Example: "  director valves set launch --rate 50 --max-players 20000\n  director valves list\n" +
			"  director valves close launch --reason 'the database is full'\n  director valves open launch",
	}, p.valvesList(), p.valvesSet(), p.valvesOpen(), p.valvesClose(), p.valvesDelete(), p.valvesWho(), p.valvesAdmit(), p.valvesEstimates())
}

// valveWords completes the name of a valve.
var valveWords = firstOnly(wordsOf(opsview.Valves, opsview.ValveFilter{}, "valve"))

// onValve makes a command on the database whose first argument is the name of a valve.
func (p *program) onValve(cmd *cobra.Command, argCount int, run databaseRun) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = cli.Exactly(argCount), p.completeArgs(valveWords)
	return p.onDatabase(cmd, byOperator, run)
}

func (p *program) valvesList() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:   "list",
		Short: "List the valves and their lines",
		Long: "Lists the valves: what they admit at most, what they admitted of late, how many players are in and how many wait, and since when the first\n" +
			"of them does. The same in SQL: view ops.valves.",
		Example: "  director valves list\n  director valves list -o json | jq '.[] | {valve, waiting, rate_now}'",
		Args:    cli.Exactly(0),
	}, byOperator, func(ctx context.Context, op operator, _ []string) error {
		return printView(ctx, op, opsview.Valves, opsview.ValveFilter{}, opsview.Page{}, valveTable)
	})
}

// valveTable rounds the rate, which is measured, to tenths.
var valveTable = table[opsview.Valve]{
	titles: []string{"valve", "mode", "rate", "rate now", "players", "max players", "waiting", "staff waiting",
		"first since", "region", "build", "reason"},
	spareTitles: []string{"build", "region", "staff waiting", "reason"},
	rowCells: func(v opsview.Valve) []any {
		return []any{v.Name, v.Mode, v.Rate, math.Round(v.RateNow*10) / 10, v.Players, v.MaxPlayers, v.Waiting,
			v.WaitingStaff, v.FirstSince, v.Region, v.Build, v.Reason}
	},
}

func (p *program) valvesSet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Make a valve or change it, and let it limit",
		Long: "Makes a valve, or changes what flags name, and lets it limit: replicas heed it within two seconds. Without flags it ends 'valves open' and\n" +
			"'valves close'. Players who are in stay in, and count. A new valve needs --rate; it is for everybody unless --region or --build says\n" +
			"otherwise, which never change. The valve of a build and region decides before that of a build, of a region, and of all.\n" +
			"The same in SQL: function ops.set_valve.",
		Example: "  director valves set launch --rate 50 --max-players 20000\n  director valves set launch --rate 80 --reason 'it goes well'\n" +
			"  director valves set eu --region eu-west --rate 20\n  director valves set beta --build 2.0-beta --rate 5 --max-players 500",
	}
	f := cmd.Flags()
	rate := f.Float64("rate", 0, "Admissions a second")
	maxPlayers := f.Int32("max-players", 0, "Players who are in at once: in a seat, in the queue, or away for less than five minutes; 0: any number")
	region := f.String("region", "", "Of a new valve: the game region, or universe of tickets, that it is for")
	build := f.String("build", "", "Of a new valve: the client build that it is for, as clients send it in the header Client-Build")
	// The defaults of these two are those of ops.set_valve, for --help: a flag that is not given is not sent.
	share := f.Float64("staff-share", 0.05, "The part of the rate and of the players that only staff gets, 0 to 0.5")
	line := f.Int32("max-waiting", 200_000, "How many players the line holds; those beyond it are refused")
	// The bounds of ops.set_valve.
	requirePositiveUpTo(cmd, "rate", rate, 100_000)
	requireAtLeast(cmd, "max-players", maxPlayers, 0)
	requireBetween(cmd, "staff-share", share, 0, 0.5)
	requireBetween(cmd, "max-waiting", line, 1, 1_000_000)
	return p.changeValve(cmd, func(by db.Act, ctx context.Context, name string) (bool, error) {
		changes := db.ValveSettings{
			Rate: ifGiven(cmd, "rate", rate), MaxPlayers: ifGiven(cmd, "max-players", maxPlayers),
			Region: ifGiven(cmd, "region", region), Build: ifGiven(cmd, "build", build),
			StaffShare: ifGiven(cmd, "staff-share", share), MaxWaiting: ifGiven(cmd, "max-waiting", line),
		}
		// Where nothing changes, the reason does not either: the row has that of the last change.
		return by.SetValve(ctx, name, changes)
	})
}

// changeValve completes a command that changes the valve in its argument, and prints it as it is then.
func (p *program) changeValve(cmd *cobra.Command,
	change func(by db.Act, ctx context.Context, name string) (bool, error)) *cobra.Command {
	reason := addReason(cmd, "Why, for the event and other operators")
	return p.onValve(cmd, 1, func(ctx context.Context, op operator, args []string) error {
		if _, err := change(op.store.As("").Because(*reason), ctx, args[0]); err != nil {
			return err
		}
		v, err := opsview.Valves.One(ctx, op.store.Pool(), opsview.ValveFilter{Name: args[0]})
		if err != nil {
			return err
		}
		return valveTable.write(op.out, []opsview.Valve{v})
	})
}

func (p *program) valvesOpen() *cobra.Command {
	return p.changeValve(&cobra.Command{
		Use:   "open NAME",
		Short: "Let everybody in",
		Long: "Lets everybody in, also all who wait. The limits of the valve stay for 'valves set', and its line is forgotten. An open valve costs calls\n" +
			"nothing. The same in SQL: function ops.open_valve.",
		Example: "  director valves open launch --reason 'the rush is over'",
	}, db.Act.OpenValve)
}

func (p *program) valvesClose() *cobra.Command {
	return p.changeValve(&cobra.Command{
		Use:   "close NAME",
		Short: "Admit nobody any more",
		Long: "Admits nobody until 'valves set' or 'valves open'. Players who are in stay in, those who wait keep their places, and others get places behind\n" +
			"them. The same in SQL: function ops.close_valve.",
		Example: "  director valves close launch --reason 'we look into the login'",
	}, db.Act.CloseValve)
}

func (p *program) valvesDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Remove a valve with its line",
		Long: "Removes a valve, after a confirmation. Its line is lost, and players who wait may enter if no other valve is for them. The same in SQL: function\n" +
			"ops.delete_valve.",
		Example: "  director valves delete launch\n  director valves delete launch --yes",
	}
	yes, reason := addYes(cmd), addReason(cmd, "Why, for the event and other operators")
	return p.onValve(cmd, 1, func(ctx context.Context, op operator, args []string) error {
		// cli.Exactly has refused an empty name, which as a filter selects every valve.
		v, err := opsview.Valves.One(ctx, op.store.Pool(), opsview.ValveFilter{Name: args[0]})
		if errors.Is(err, opsview.ErrNoRow) {
			return fmt.Errorf("there is no valve %q; 'director valves list' lists them", args[0])
		}
		if err != nil {
			return err
		}
		// With the number of players who lose their places, as of now.
		if err := p.askConfirmation(*yes, fmt.Sprintf("This removes valve %s, with %d players who wait.", v.Name,
			v.Waiting)); err != nil {
			return err
		}
		changed, err := op.store.As("").Because(*reason).DeleteValve(ctx, v.Name)
		if err != nil {
			return err
		}
		return writeChanges(op.out, "valve", []changeLine{{v.Name, changed}})
	})
}

func (p *program) valvesWho() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "who PLAYER",
		Short: "Show where a player waits, or by which valve it is admitted",
		Long: "Shows the places and admissions of a player. The number of a place is not its position: those that were admitted or have left are before it\n" +
			"as well. The same in SQL: view ops.admissions.",
		Example: "  director valves who alice",
		Args:    cli.Exactly(1),
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, args []string) error {
		return printView(ctx, op, opsview.Admissions, opsview.AdmissionFilter{Player: args[0]},
			opsview.Page{}, table[opsview.Admission]{
				titles:      []string{"valve", "player", "state", "staff", "place", "joined", "admitted", "expires"},
				spareTitles: []string{"staff"},
				rowCells: func(a opsview.Admission) []any {
					return []any{a.Valve, a.Player, a.State, a.IsStaff, a.Place, a.JoinedAt, a.AdmittedAt, a.ExpiresAt}
				},
			})
	})
}

func (p *program) valvesAdmit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "admit NAME PLAYER",
		Short: "Admit a player at once, past the line",
		Long: "Admits a player past the line and the limits, such as one of your own or a streamer. The event has your name and the reason. The same in SQL:\n" +
			"function ops.admit_player.",
		Example: "  director valves admit launch alice --reason 'she shows the launch on stage'",
	}
	reason := requireReason(cmd, "", "Why, for the event and other operators")
	return p.onValve(cmd, 2, func(ctx context.Context, op operator, args []string) error {
		// false: the player is admitted already, or the valve is open.
		changed, err := op.store.As("").Because(*reason).AdmitPlayer(ctx, args[0], args[1])
		if err != nil {
			return err
		}
		return writeChanges(op.out, "player", []changeLine{{args[1], changed}})
	})
}

func (p *program) valvesEstimates() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:   "estimates",
		Short: "Show how long players wait, and how good the estimates of that were",
		Long: "Shows for each valve within how many seconds half of the players who join its line now, and nine of ten of them, are admitted; and which share\n" +
			"of the players who were admitted waited for no longer than that when they joined. These should be 50 % and 90 %. The waits of a day ago count\n" +
			"about a third. The same in SQL: view ops.valve_estimates.",
		Example: "  director valves estimates\n  director valves estimates -o json | jq '.[] | select(.before_p90 < 0.85)'",
		Args:    cli.Exactly(0),
	}, byOperator, func(ctx context.Context, op operator, _ []string) error {
		return printView(ctx, op, opsview.ValveEstimates, opsview.ValveEstimateFilter{},
			opsview.Page{}, table[opsview.ValveEstimate]{
				titles: []string{"valve", "p50", "p90", "waits", "before p50", "before p90"},
				rowCells: func(e opsview.ValveEstimate) []any {
					return []any{
						e.Valve, roundOrBlank(e.P50), roundOrBlank(e.P90), e.WaitCount, shareOrBlank(e.BeforeP50),
						shareOrBlank(e.BeforeP90),
					}
				},
			})
	})
}

// roundOrBlank rounds seconds to tenths, for people; "" for nil, which is not known.
func roundOrBlank(seconds *float64) any {
	if seconds == nil {
		return ""
	}
	return math.Round(*seconds*10) / 10
}

// shareOrBlank formats a share, for people; "" for nil, which is not known.
func shareOrBlank(share *float64) any {
	if share == nil {
		return ""
	}
	return formatShare(*share)
}
