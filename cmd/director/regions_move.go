package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

// moveFlags are the flags of 'director regions move'.
type moveFlags struct {
	terms     db.MoveTerms
	targetURL string
	sourceURL string
	otherURLs []string
	reason    *string
	isDryRun  bool
	isUndo    bool
	yes       *bool
}

func (p *program) regionsMove() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "move REGION",
		Short: "Move a region to another cell, while players play",
		Long: "Moves a region to another cell by Postgres's logical replication: its game servers, sessions, seats, tickets, profiles, stored players and\n" +
			"history. Sessions continue where they are. While the rows are copied, this cell serves the region. Then it refuses the region for a fraction of\n" +
			"a second, in which calls wait, until the other cell has everything; from then on callers are sent there with 421, which SDKs and the sidecar follow.\n\n" +
			"Run it first with --dry-run: it prints what would move and what stands in the way. The database settings are those of this cell, --to is the\n" +
			"database of the other one. A command that was killed continues when it is started again with the same arguments. Until the other cell serves\n" +
			"the region, --undo ends the move; afterwards it can be moved back. docs/how-to/move-a-region.md says what each step does, and what to do\n" +
			"when one does not end. The same in SQL, to look at: view ops.region_moves.",
		Example: "  director regions move eu-west --to postgres://director@db.us.example/director --cell us --address https://us.director.example \\\n" +
			"    --here eu --here-address https://eu.director.example --dry-run\n" +
			"  director regions move eu-west --to postgres://director@db.us.example/director --reason 'the region leaves'\n" +
			"  director regions move eu-west --to postgres://director@db.us.example/director --undo --yes",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completeArgs(firstOnly(regionWords)),
	}
	var f moveFlags
	f.addTo(cmd)
	// byMove: the direct URL of this cell, with which the other Postgres connects.
	return p.onDatabase(cmd, byOperator|byMove, func(ctx context.Context, op operator, args []string) error {
		f.terms.Region, f.terms.Reason = args[0], *f.reason
		return p.moveRegion(ctx, op, f)
	})
}

// addTo adds the flags to the command. Names and addresses of cells that are not given are read from the lists of
// cells.
func (f *moveFlags) addTo(cmd *cobra.Command) {
	flags, t := cmd.Flags(), &f.terms
	flags.StringVar(&f.targetURL, "to", "",
		"The database of the other cell, postgres://user@host/name; passwords are best in PGPASSFILE")
	flags.StringVar(&f.sourceURL, "from", "",
		"The database of this cell as the Postgres of the other one reaches it, with a password if it needs one; without it, as this command does")
	flags.StringSliceVar(&f.otherURLs, "also", nil,
		"The databases of further cells, which from the flip on send callers of the region to the other cell")
	flags.StringVar(&t.Cell, "cell", "", "The name of the other cell; without it, as it was before")
	flags.StringVar(&t.Address, "address", "", "The base URL of its API; without it, as this cell lists it")
	flags.StringVar(&t.Here, "here", "",
		"The name of this cell in the other one; without it, that of the cell which serves the region there")
	flags.StringVar(&t.HereAddress, "here-address", "",
		"The base URL of the API of this cell; without it, as the other one lists it")
	flags.BoolVar(&f.isDryRun, "dry-run", false, "Only print what would move, and what stands in the way")
	flags.BoolVar(&f.isUndo, "undo", false,
		"End a move that runs: this cell continues to serve the region, and what was copied is deleted")
	f.reason, f.yes = addReason(cmd, "Why, for the events"), addYes(cmd)
	checkFirst(cmd, func([]string) error {
		switch {
		case f.targetURL == "":
			return cli.Usage(errors.New("--to is missing: name the database of the other cell"))
		case f.isDryRun && f.isUndo:
			return cli.Usage(errors.New("--dry-run and --undo exclude each other"))
		}
		return nil
	})
}

// moveRegion opens the other cells, and plans, undoes or runs the move. The command holds no lock of its own:
// two that run at a time work on the same move.
func (p *program) moveRegion(ctx context.Context, op operator, f moveFlags) error {
	// The Postgres of the other cell connects with this URL, which must bypass a pooler: replication needs Postgres
	// itself.
	var err error
	if f.terms.Connection, err = libpqURL(cmp.Or(f.sourceURL, op.conf.config.Database.DirectURL,
		op.conf.config.Database.URL)); err != nil {
		return err
	}
	cells, closeAll, err := p.openCells(ctx, op, append([]string{f.targetURL}, f.otherURLs...))
	defer closeAll() // also after an error, before which some were opened
	if err != nil {
		return err
	}
	f.terms.OtherCells = cells[1:] // cells[0] is that of --to
	progress := progressLine{stderr: p.stderr}
	// "": events of both cells name the login of their database.
	move := db.NewRegionMove(op.store, cells[0], "", f.terms,
		func(step db.MoveProgress) { progress.show(progressText(step)) })
	switch {
	// A plan changes nothing: it needs neither a reason nor a confirmation.
	case f.isDryRun:
		return op.planMove(ctx, move)
	case f.isUndo:
		return p.confirmMove(ctx, op, f, "What was copied to the other cell is deleted.", move.Undo)
	}
	// Checked only here: --dry-run and --undo write no event that needs a reason.
	if f.terms.Reason == "" {
		return cli.Usage(errors.New("--reason is missing: say why, the events have it beside your name"))
	}
	return p.confirmMove(ctx, op, f, fmt.Sprintf("Region %s then belongs to the other cell.", f.terms.Region), move.Run)
}

// openCells opens the databases of other cells, with the settings of this one.
func (p *program) openCells(ctx context.Context, op operator, addresses []string) (cells []*db.Store, closeAll func(),
	err error) {
	closeAll = func() {
		for _, cell := range cells {
			cell.Close()
		}
	}
	for _, address := range addresses {
		// A copy, so that the settings of this cell stay as they are. All but the database is shared, such as the room
		// types.
		other := *op.conf
		// The direct URL and the pooler are those of this cell's database.
		other.config.Database.URL, other.config.Database.DirectURL, other.config.Database.Pooler = address, "", ""
		cell, err := p.openStore(ctx, &other)
		if err != nil {
			return cells, closeAll, fmt.Errorf("another cell: %w", explainDatabaseError(err))
		}
		cells = append(cells, cell)
	}
	return cells, closeAll, nil
}

// confirmMove asks for a confirmation, runs or undoes the move, and prints its report. Neither is in one transaction:
// if one fails, the databases know how far the move has come, and the same command continues it.
func (p *program) confirmMove(ctx context.Context, op operator, f moveFlags, consequence string,
	run func(context.Context) (db.MoveReport, error)) error {
	if err := p.askConfirmation(*f.yes, consequence); err != nil {
		return err
	}
	report, err := run(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w: the move of region %s stays at its step, and the same command continues it; "+
			"'director regions moves' shows it", errInterrupted, f.terms.Region)
	case err != nil:
		return err
	}
	// No error, since the region has moved. The unreached cells still send callers here, and SDKs do not follow a
	// second answer 421.
	if report.UnreachedCells > 0 {
		fmt.Fprintf(p.stderr, "%d of the further cells did not answer: run 'director cells set %s' there\n",
			report.UnreachedCells, report.Cell)
	}
	return writeDetails(op.out, report, writeMoveReport)
}

// writeMoveReport prints for how long calls waited, and what was deleted in the cell that no longer serves the region.
func writeMoveReport(r db.MoveReport, out cli.Output) error {
	lines := [][2]any{
		{"region", r.Region}, {"cell", r.Cell}, {"address", r.Address}, {"step", r.Step}, {"begun", r.Begun},
		{"refused for ms", r.RefusedMS}, {"move", r.Move},
	}
	for _, t := range r.Deleted {
		lines = append(lines, [2]any{"deleted from " + t.Table, t.Rows})
	}
	return writeFields(out, lines)
}

// planMove prints the obstacles last, where they are seen.
func (op operator) planMove(ctx context.Context, move *db.RegionMove) error {
	plan, err := move.Plan(ctx)
	if err != nil {
		return err
	}
	return writeDetails(op.out, plan, func(plan db.MovePlan, out cli.Output) error {
		lines := [][2]any{{"region", plan.Region}, {"cell", plan.Cell}, {"address", plan.Address}}
		for _, t := range plan.Rows {
			lines = append(lines, [2]any{"rows of " + t.Table, t.Rows})
		}
		for _, o := range plan.Obstacles {
			lines = append(lines, [2]any{"in the way", o})
		}
		return writeFields(out, lines)
	})
}

// progressText says how far a move has come. A move reports about once a second.
func progressText(p db.MoveProgress) string {
	line := p.Step
	if p.Tables > 0 {
		line = fmt.Sprintf("%s: %d of %d tables, %d kB of the log behind", p.Step, p.Copied, p.Tables, p.Behind>>10)
	}
	if p.Failures > 0 {
		line += fmt.Sprintf("; the other Postgres failed %d times to apply a change, its log says why", p.Failures)
	}
	return line
}

func (p *program) regionsMoves() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:     "moves",
		Short:   "List the moves of regions from and to other cells",
		Long:    "Lists the moves of regions, running and ended, the newest first. The same in SQL: view ops.region_moves.",
		Example: "  director regions moves\n  director regions moves -o json | jq -r '.[] | select(.ended_at == null) | .step'",
		Args:    cli.Exactly(0),
	}, byOperator, func(ctx context.Context, op operator, _ []string) error {
		return printView(ctx, op, opsview.RegionMoves, opsview.Any{}, opsview.Page{}, table[opsview.RegionMove]{
			titles: []string{
				"region", "direction", "step", "cell", "copied", "kB behind", "begun", "driven", "fenced", "flipped",
				"ended", "undoable", "in the way", "by", "reason",
			},
			rowCells: func(m opsview.RegionMove) []any {
				return []any{
					m.Region, m.Direction, m.Step, m.Cell, fmt.Sprintf("%d/%d", m.CopiedTables, m.Tables),
					m.BehindBytes >> 10, m.BegunAt, m.DrivenAt, m.FencedAt, m.FlippedAt, m.EndedAt, m.Undoable,
					m.InTheWay, m.Actor, m.Reason,
				}
			},
		})
	})
}
