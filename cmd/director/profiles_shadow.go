package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

// shadowLine is a row of ops.shadow_quality for both sides.
type shadowLine struct {
	Measure       string   `json:"measure"`
	LiveVersion   int      `json:"live_version"`
	ShadowVersion int      `json:"shadow_version"`
	Live          *measure `json:"live"`   // null: no match has this measure
	Shadow        *measure `json:"shadow"` // as well
}

// measure is how one side's matches were by a rule, over its latest 10,000.
type measure struct {
	Matches int64   `json:"matches"`
	Mean    float64 `json:"mean"`
	P50     float64 `json:"p50"`
	P90     float64 `json:"p90"`
}

// showShadow prints the comparison of a profile's shadow with the live version.
func (p *program) showShadow(cmd *cobra.Command, arg string) error {
	named, err := parseVersion(arg)
	if err != nil {
		return err
	}
	return p.withDatabase(cmd, byProfile, func(ctx context.Context, op operator) error {
		// 0: the live one, which names its shadow.
		v, err := op.store.Profile(ctx, op.conf.config.Server.Universe, named.name, 0)
		if err != nil {
			return refusalText(err)
		}
		// Its numbers are deleted with a shadow: there is nothing to show.
		if v.ShadowVersion == 0 {
			return fmt.Errorf("profile %s has no shadow: 'director profiles shadow %s@VERSION' begins one", named.name,
				named.name)
		}
		f := opsview.MinuteFilter{Universe: op.conf.config.Server.Universe, Profile: named.name}
		found, err := opsview.ShadowQualities.Read(ctx, op.store.Pool(), f, opsview.Page{})
		if err != nil {
			return err
		}
		// An empty table would look like an error.
		if len(found) == 0 && !op.out.JSON {
			fmt.Fprintf(p.stderr, "neither version %d nor its shadow, version %d, has decided a match since the shadow began\n", v.LiveVersion, v.ShadowVersion)
		}
		header := []string{"measure", fmt.Sprintf("live @%d", v.LiveVersion), "mean", "p50", "p90",
			fmt.Sprintf("shadow @%d", v.ShadowVersion), "mean", "p50", "p90"}
		return cli.Write(op.out, shadowLines(found, v.LiveVersion, v.ShadowVersion), header, func(s shadowLine) []any {
			// In the order of the header, in which both sides have columns of the same names.
			return append(append([]any{s.Measure}, s.Live.tableCells()...), s.Shadow.tableCells()...)
		})
	})
}

// shadowLines puts both sides of a measure into a line. The rows are sorted by measure.
func shadowLines(found []opsview.ShadowQuality, live, shadow int) (lines []shadowLine) {
	for _, r := range found {
		if len(lines) == 0 || lines[len(lines)-1].Measure != r.Measure {
			lines = append(lines, shadowLine{Measure: r.Measure, LiveVersion: live, ShadowVersion: shadow})
		}
		m := &measure{r.Matches, r.Mean, r.P50, r.P90}
		if r.Side == "live" {
			lines[len(lines)-1].Live = m
		} else {
			lines[len(lines)-1].Shadow = m
		}
	}
	return lines
}

// tableCells are four blanks for nil: a side that has not decided a match with this measure.
func (m *measure) tableCells() []any {
	if m == nil {
		return []any{"", "", "", ""}
	}
	number := func(x float64) string { return fmt.Sprintf("%.4g", x) }
	return []any{m.Matches, number(m.Mean), number(m.P50), number(m.P90)}
}

func (p *program) profilesShadow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shadow NAME[@VERSION]",
		Short: "Let a version decide beside the live one, without making its matches",
		Long: "Makes a version, the latest by default, the shadow of the live one: it decides about the same tickets, and its matches are not\n" +
			"committed. Only numbers are kept, by rule, of the latest 10,000 matches of each side. Tickets leave with the live matches,\n" +
			"so compare quality; 'director replay' compares waiting times. 'apply --shadow' stores a new version as shadow.",
		Example: "  director profiles shadow ranked-5v5@4\n  director profiles shadow ranked-5v5 --show\n  director profiles shadow ranked-5v5 --off",
	}
	off := cmd.Flags().Bool("off", false, "End the shadow, and forget its numbers")
	show := cmd.Flags().Bool("show", false, "Compare its matches with the live ones, and change nothing")
	checkFirst(cmd, func(args []string) error {
		if *show && *off {
			return cli.Usage(errors.New("--show and --off exclude each other"))
		}
		if !*show && !*off {
			return nil
		}
		// There is one shadow, of whatever version.
		_, err := parseUnversioned(args[0])
		return err
	})
	cmd = p.changeProfile(cmd, func(ctx context.Context, op operator, edit db.ProfileEdit,
		version int) (db.ProfileChange, error) {
		if *off {
			return op.store.EndShadow(ctx, edit)
		}
		// 0, without @VERSION, is the latest version, which need not be newer than the live one.
		return op.store.ShadowProfile(ctx, edit, version)
	})
	// --show changes nothing and reads another view, so that it takes the place of the change.
	change := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *show {
			return p.showShadow(cmd, args[0])
		}
		return change(cmd, args)
	}
	return cmd
}
