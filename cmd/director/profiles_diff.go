package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) profilesDiff() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff NAME[@VERSION] [FILE|[NAME]@VERSION]",
		Short: "Compare a version of a profile with a file or another version",
		Long: "Prints the differences between two documents, line by line: from a version, the live one by default, to a file or another\n" +
			"version. Without second argument it prints what the version changed. With - it reads standard input.",
		Example: "  director profiles diff ranked-5v5              # what the live version changed\n" +
			"  director profiles diff ranked-5v5 ranked.yaml  # what applying the file would change\n" +
			"  director profiles diff ranked-5v5@3 @5",
		Args:              cli.Between(1, 2),
		ValidArgsFunction: p.completeProfiles(),
	}
	addFlags(cmd.Flags(), byProfile)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, version, err := parseVersion(args[0])
		if err != nil {
			return err
		}
		var other string
		if len(args) == 2 {
			other = args[1]
		}
		if version, ok := strings.CutPrefix(other, name+"@"); ok {
			other = "@" + version
		}
		return p.withDatabase(cmd, byProfile, func(ctx context.Context, l operator) error {
			from, to, err := p.twoDocuments(ctx, l, name, version, other)
			if err != nil {
				return refusalText(err)
			}
			diff := unifiedDiff(from.title, to.title, from.text, to.text)
			if l.out.JSON {
				return cli.WriteJSON(l.out.Writer, documentDiff{from.title, to.title, diff})
			}
			fmt.Fprint(l.out.Writer, diff)
			return nil
		})
	}
	return cmd
}

// documentDiff is the JSON output of `profiles diff`.
type documentDiff struct {
	From string `json:"from"`
	To   string `json:"to"`
	Diff string `json:"diff"` // in the unified format; "" for equal documents
}

// titled is a document with the name under which a diff shows it.
type titled struct{ title, text string }

func versionText(v db.ProfileVersion) titled {
	return titled{fmt.Sprintf("%s@%d", v.Name, v.Version), v.Document}
}

// twoDocuments returns the documents that diff compares.
func (p *program) twoDocuments(ctx context.Context, l operator, name string, version int,
	other string) (from, to titled, err error) {
	first, err := l.Profile(ctx, l.Server.Universe, name, version)
	if err != nil {
		return from, to, err
	}
	switch {
	case other == "" && first.Version == 1:
		return titled{title: "nothing"}, versionText(first), nil
	case other == "":
		before, err := l.Profile(ctx, l.Server.Universe, name, first.Version-1)
		return versionText(before), versionText(first), err
	case strings.HasPrefix(other, "@"):
		_, wanted, err := parseVersion(name + other)
		if err != nil {
			return from, to, err
		}
		second, err := l.Profile(ctx, l.Server.Universe, name, wanted)
		return versionText(first), versionText(second), err
	}
	document, err := p.readProfile(other)
	return versionText(first), titled{other, string(document)}, err
}

// dryRun prints what applying files would change. Files are applied one by one, each to what is there now.
func (l operator) dryRun(ctx context.Context, files []profileFile, shadow bool,
	edit func(name string) db.ProfileEdit) error {
	var changes []appliedProfile
	for _, f := range files {
		live, err := l.Profile(ctx, l.Server.Universe, f.profile.Name, 0)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		before := titled{title: "nothing"}
		if err == nil {
			before = versionText(live)
		}
		only := edit(f.profile.Name)
		only.DryRun = true
		change, err := l.ApplyProfile(ctx, only, f.document, shadow)
		if err != nil {
			return fmt.Errorf("%s: %w", f.file, refusalText(err))
		}
		changes = append(changes, appliedProfile{profileChange(change), roleOf(shadow), true})
		if !l.out.JSON {
			fmt.Fprint(l.out.Writer, unifiedDiff(before.title, f.file, before.text, string(f.document)))
		}
	}
	return writeAppliedProfiles(l.out, changes)
}
