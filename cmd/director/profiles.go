package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/match/profile"
)

func (p *program) profilesCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "profiles",
		Short: "Check, apply, compare and roll back matchmaking profiles",
		Long: "Commands for the profiles by which the director makes matches of tickets. A profile is a YAML or JSON file; each change\n" +
			"of it is a version that stays, and one version is live. Workers use a new version within a second.\n\n" +
			"The commands need the director's own database role, as 'keys rotate' does. Operators without it use /ops/profiles.",
		Example: "  director profiles check ranked.yaml\n  director profiles apply -f ranked.yaml --reason 'wider skill window'\n" +
			"  director profiles list\n  director profiles rollback ranked-5v5",
	}, p.profilesApply(), p.profilesList(), p.profilesShow(), p.profilesDiff(), p.profilesRollback(),
		p.profilesRetire(), p.profilesPause(), p.profilesResume(), p.profilesShadow(), p.profilesEstimates(),
		p.profilesCheck(), p.profilesSchema())
}

// profileLine is a profile in lists.
type profileLine struct {
	Name      string     `json:"name"`
	Live      int        `json:"live"`
	Shadow    int        `json:"shadow,omitempty"`
	Versions  int        `json:"versions"`
	RetiredAt *time.Time `json:"retired_at"`
	PausedAt  *time.Time `json:"paused_at"`
	Author    string     `json:"author"`
	CreatedAt time.Time  `json:"created_at"`
	Reason    string     `json:"reason"`
}

func (p *program) profilesList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the profiles",
		Long:    "Lists the profiles with their live versions, and who applied these when and why.",
		Example: "  director profiles list\n  director profiles list --all -o json | jq -r '.[] | select(.retired_at) | .name'",
		Args:    cli.Exactly(0),
	}
	all := cmd.Flags().Bool("all", false, "Also those that are retired")
	return p.onDatabase(cmd, byProfile, func(ctx context.Context, op operator, _ []string) error {
		found, err := op.store.Profiles(ctx,
			db.ProfileQuery{Universe: op.conf.config.Server.Universe, WithRetired: *all})
		if err != nil {
			return err
		}
		lines := make([]profileLine, len(found))
		for i, f := range found {
			// A shadow of 0 is none. The author and the reason are those of the live version, and not of the last
			// change.
			lines[i] = profileLine{f.Name, f.LiveVersion, f.ShadowVersion, f.VersionCount, f.RetiredAt, f.PausedAt,
				f.Author,
				f.CreatedAt, f.Reason}
		}
		header := []string{"profile", "live", "shadow", "versions", "applied", "by", "reason", "retired", "paused"}
		return cli.Write(op.out.Sparing("retired", "paused", "reason", "versions"), lines, header,
			func(line profileLine) []any {
				return []any{
					line.Name, line.Live, versionOrBlank(line.Shadow), line.Versions, line.CreatedAt, line.Author,
					line.Reason, readableTime(line.RetiredAt), readableTime(line.PausedAt),
				}
			})
	})
}

func (p *program) profilesShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME[@VERSION]",
		Short: "Print the document of a profile's version",
		Long: "Prints the document of a version, the live one by default, as its author wrote it. Who applied it when and why goes to\n" +
			"standard error, so that the document can be edited and applied again.",
		Example:           "  director profiles show ranked-5v5\n  director profiles show ranked-5v5@3 > ranked.yaml",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completeProfiles(),
	}
	shown := parseFirst(cmd, parseVersion)
	return p.onDatabase(cmd, byProfile, func(ctx context.Context, op operator, _ []string) error {
		v, err := op.store.Profile(ctx, op.conf.config.Server.Universe, shown.name, shown.number)
		if err != nil {
			return refusalText(err)
		}
		// As JSON the document is a field among the others: nothing goes to standard error.
		d := detailsOf(v)
		if op.out.JSON {
			return cli.WriteJSON(op.out.Writer, d)
		}
		// On stderr, so that stdout is the document alone, as it was applied.
		fmt.Fprintf(p.stderr, "%s@%d, %s, applied at %s by %s%s\n", d.Name, d.Version, d.State,
			d.CreatedAt.UTC().Format(time.RFC3339), d.Author, reasonPhrase(d.Reason))
		// One line break at the end, whatever the author's file had.
		fmt.Fprintln(op.out.Writer, strings.TrimRight(d.Document, "\n"))
		return nil
	})
}

func (p *program) profilesSchema() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of profiles",
		Long:    "Prints the JSON Schema (draft 2020-12) of profiles, with which editors complete and check them. It needs no database.",
		Example: "  director profiles schema > profile.schema.json",
		Args:    cli.Exactly(0),
	}
	// Without --output: the schema is JSON in any case.
	cmd.RunE = func(*cobra.Command, []string) error {
		_, err := p.stdout.Write(profile.Schema())
		return err
	}
	return cmd
}
