package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

// evacuationFlags are the flags of 'director evacuate'.
type evacuationFlags struct {
	evacuation  db.NewEvacuation
	reason      *string
	isDryRun    bool
	waitsForEnd bool
	waitTimeout time.Duration
	progressOut io.Writer
}

func (p *program) evacuateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "evacuate REGION|HOST|LABEL",
		Short: "Take the players off the game servers of a region, of a host or with a label",
		Long: "Drains the game servers, closes their sessions, and ends those that do not report, or with --dead all of them. Workers do it, in small\n" +
			"transactions; the command returns at once, or with --wait when everything is decided.\n\n" +
			"With --requeue the players continue elsewhere. Those whom a profile matched wait again with one ticket a party, as old as it was: they keep\n" +
			"their order. Those who asked with POST /matchmake get seats by its rules, in the region in which they were, or in that of --seats-in. A game\n" +
			"that connects again finds its ticket or seat with the old ticket or session. Players count as well who lost their game server shortly\n" +
			"before, since it stopped reporting.\n\n" +
			"The drain stays until 'director fleet undrain' ends it. 'director evacuations show' reports who went where.\n" +
			"The same in SQL: functions ops.preview_evacuation and ops.evacuate.",
		Example: "  director evacuate eu-west --requeue --dry-run\n" +
			"  director evacuate eu-west --requeue --dead --seats-in eu-central --wait --reason 'power is out'\n" +
			"  director evacuate 10.0.3.7 --requeue --wait\n" +
			"  director evacuate rack=7 --region eu-west -o json | jq -r .evacuation",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completeArgs(firstOnly(regionWords)),
	}
	var f evacuationFlags
	f.addTo(p, cmd)
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, args []string) error {
		f.evacuation.Target.Name, f.progressOut = args[0], cmd.ErrOrStderr()
		// A preview writes nothing, so that no worker acts on it.
		if f.isDryRun {
			return op.previewEvacuation(ctx, f.evacuation.Target)
		}
		return op.beginEvacuation(ctx, f)
	})
}

// addTo adds the flags to the command, and checks that a flag which needs another one has it.
func (f *evacuationFlags) addTo(p *program, cmd *cobra.Command) {
	flags, target := cmd.Flags(), &f.evacuation.Target
	flags.StringVar(&target.Kind, "as", "",
		"What the argument is: region, host or label; without it, whichever it can be")
	flags.StringVar(&target.Region, "region", "", "Of a host or a label: only in this region; without it, in all")
	flags.DurationVar(&target.LostWithin, "lost-within", 10*time.Minute,
		"With --requeue: also players who lost their game server so long ago at most; 0: none")
	flags.BoolVar(&f.evacuation.Requeue, "requeue", false, "Let the players wait again, or seat them elsewhere")
	flags.BoolVar(&f.evacuation.Dead, "dead", false, "Declare the game servers dead: also those that report end")
	flags.StringVar(&f.evacuation.SeatsIn, "seats-in", "",
		"With --requeue: the region in which players without a ticket get seats")
	flags.BoolVar(&f.isDryRun, "dry-run", false, "Only print how many game servers and players it would concern")
	flags.BoolVar(&f.waitsForEnd, "wait", false, "Return when everything is decided, and print progress on stderr")
	flags.DurationVar(&f.waitTimeout, "timeout", 0,
		"With --wait: the most time to wait, after which it fails; 0: without end")
	requireBetween(cmd, "lost-within", &target.LostWithin, 0, 24*time.Hour) // as ops.evacuate
	requireAtLeast(cmd, "timeout", &f.waitTimeout, 0)
	f.reason = addReason(cmd, "Why, for the report and the event")
	p.completeFlag(cmd, "region", regionWords)
	p.completeFlag(cmd, "seats-in", regionWords)
	completeFixed(cmd, "as", []string{"region", "host", "label"})
	checkFirst(cmd, func([]string) error {
		switch {
		case f.waitTimeout != 0 && !f.waitsForEnd:
			return cli.Usage(errors.New("--timeout is a time to wait with --wait"))
		case f.evacuation.SeatsIn != "" && !f.evacuation.Requeue:
			return cli.Usage(errors.New("--seats-in is of --requeue"))
		case f.isDryRun && f.waitsForEnd:
			return cli.Usage(errors.New("--dry-run and --wait exclude each other"))
		}
		return nil
	})
}

// previewEvacuation counts what a real run would concern now.
func (op operator) previewEvacuation(ctx context.Context, target db.EvacuationTarget) error {
	preview, err := op.store.PreviewEvacuation(ctx, target)
	if err != nil {
		return err
	}
	return writeDetails(op.out, preview, func(e db.EvacuationPreview, out cli.Output) error {
		lines := [][2]any{
			{e.Kind, e.Value}, {"game servers", e.Servers}, {"that report", e.Alive}, {"sessions", e.Sessions},
			{"players", e.Players}, {"that a profile matched", e.Matched}, {"players who lost theirs before", e.Lost},
		}
		return writeFields(out, lines)
	})
}

// beginEvacuation begins an evacuation, and with --wait waits for its end.
func (op operator) beginEvacuation(ctx context.Context, f evacuationFlags) error {
	// Workers carry the evacuation out: an interruption of this command from here on does not stop the evacuation.
	id, err := op.store.As("").Because(*f.reason).Evacuate(ctx, f.evacuation)
	if err != nil {
		return err
	}
	// Without --wait, the report below is of an evacuation that has just begun.
	if f.waitsForEnd {
		if err := op.waitForEvacuation(ctx, id, f); err != nil {
			return err
		}
	}
	e, err := opsview.Evacuations.One(ctx, op.store.Pool(), opsview.EvacuationFilter{ID: &id})
	if err != nil {
		return err
	}
	return writeDetails(op.out, e, writeEvacuation)
}

// evacuationInterval is how often 'evacuate --wait' reads how far the evacuation has come.
const evacuationInterval = 500 * time.Millisecond

// waitForEvacuation waits until workers have ended an evacuation.
func (op operator) waitForEvacuation(ctx context.Context, id uuid.UUID, f evacuationFlags) error {
	wait := operatorWait{
		progress: progressLine{stderr: f.progressOut}, interval: evacuationInterval, timeout: f.waitTimeout,
		whatStays: fmt.Sprintf("workers continue it: 'director evacuations show %s' says how far it is", id),
		look: func(ctx context.Context) (string, bool, error) {
			e, err := opsview.Evacuations.One(ctx, op.store.Pool(), opsview.EvacuationFilter{ID: &id})
			if err != nil {
				return "", false, err
			}
			if e.EndedAt != nil {
				return "", true, nil // the report says the rest
			}
			return fmt.Sprintf("waiting: game servers left: %d of %d; players: %d waiting, %d queued, %d seated, %d with nothing",
				e.ServersLeft, e.Servers, e.Waiting, e.Queued, e.Seated, e.Nothing), false, nil
		},
	}
	return wait.untilDone(ctx)
}
