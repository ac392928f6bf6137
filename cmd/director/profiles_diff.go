package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/declaration"
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
	first := parseFirst(cmd, parseVersion)
	return p.onDatabase(cmd, byProfile, func(ctx context.Context, op operator, args []string) error {
		var other string
		if len(args) == 2 {
			other = args[1]
		}
		// NAME@5 means @5. Another profile's version would be read as a file, which does not exist.
		if version, ok := strings.CutPrefix(other, first.name+"@"); ok {
			other = "@" + version
		}
		from, to, err := p.readDocuments(ctx, op, first.name, first.number, other)
		if err != nil {
			return refusalText(err)
		}
		diff := unifiedDiff(from.title, to.title, from.text, to.text)
		if op.out.JSON {
			return cli.WriteJSON(op.out.Writer, documentDiff{from.title, to.title, diff})
		}
		fmt.Fprint(op.out.Writer, diff)
		return nil
	})
}

// documentDiff is the JSON output of `profiles diff`.
type documentDiff struct {
	From string `json:"from"`
	To   string `json:"to"`
	Diff string `json:"diff"` // in the unified format; "" for equal documents
}

// titledText is a document with the name under which a diff shows it.
type titledText struct{ title, text string }

// versionText is a stored version as a diff shows it.
func versionText(v db.ProfileVersion) titledText {
	return titledText{fmt.Sprintf("%s@%d", v.Name, v.Version), v.Document}
}

// readDocuments returns the documents that diff compares.
func (p *program) readDocuments(ctx context.Context, op operator, name string, version int,
	other string) (from, to titledText, err error) {
	first, err := op.store.Profile(ctx, op.conf.config.Server.Universe, name, version)
	if err != nil {
		return from, to, err
	}
	switch {
	// A first version has changed nothing that there was: the diff shows all of it as new.
	case other == "" && first.Version == 1:
		return titledText{title: "nothing"}, versionText(first), nil
	case other == "":
		// Numbers of versions have no gaps: versions are kept, also those of retired profiles.
		before, err := op.store.Profile(ctx, op.conf.config.Server.Universe, name, first.Version-1)
		return versionText(before), versionText(first), err
	case strings.HasPrefix(other, "@"):
		// other is @VERSION here, a version of the same profile.
		wanted, err := parseVersion(name + other)
		if err != nil {
			return from, to, err
		}
		second, err := op.store.Profile(ctx, op.conf.config.Server.Universe, name, wanted.number)
		return versionText(first), versionText(second), err
	}
	read, err := declaration.One(other, p.stdin)
	if err != nil {
		return from, to, err
	}
	return versionText(first), titledText{other, string(read.Text)}, nil
}

// profileDiff returns what a file changes in the live version of its profile; to is "" for a profile that ends.
func profileDiff(p db.ProfileOutcome, file, to string) string {
	from := "nothing"
	if p.FormerVersion > 0 {
		from = fmt.Sprintf("%s@%d", p.Declared.Name, p.FormerVersion)
	}
	// A file that only means the same, such as with other comments, is no change.
	if !p.Declared.Changed {
		return ""
	}
	return unifiedDiff(from, file, p.FormerDocument, to)
}
