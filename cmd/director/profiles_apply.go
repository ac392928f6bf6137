package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/declaration"
	"github.com/lattice-director/director/match/profile"
)

// readProfiles reads and parses files; "-" is standard input. The error is that of a file that cannot be read.
func (p *program) readProfiles(files []string, requireFrom bool) ([]declaration.Profile, error) {
	sources, err := declaration.Sources(files, p.stdin)
	if err != nil {
		return nil, err
	}
	all := make([]declaration.Profile, len(sources))
	for i, source := range sources {
		all[i] = declaration.ParseProfile(source, requireFrom)
	}
	return all, nil
}

// checkLine is the result of checking a file.
type checkLine struct {
	File     string            `json:"file"`
	Profile  string            `json:"profile,omitempty"`
	Problems []profile.Problem `json:"problems"`
	Warnings []profile.Problem `json:"warnings"`
}

// errProfilesRefused gives exit code 1 and is no usage error: the command is right, the files are not.
var errProfilesRefused = errors.New("not every file is a valid profile")

// reportRefusals returns an error if a file has problems, after it wrote them as FILE:LINE:COLUMN, which editors
// understand.
func reportRefusals(to io.Writer, files []declaration.Profile) error {
	var err error
	for _, f := range files {
		for _, problem := range f.Problems {
			err = errProfilesRefused
			fmt.Fprintln(to, problem.InFile(f.Source.File))
		}
	}
	return err
}

// printWarnings writes the warnings about files, as reportRefusals writes problems.
func printWarnings(to io.Writer, files []declaration.Profile) {
	for _, f := range files {
		for _, warning := range f.Warnings {
			warning.Text = "warning: " + warning.Text
			fmt.Fprintln(to, warning.InFile(f.Source.File))
		}
	}
}

func (p *program) profilesCheck() *cobra.Command {
	return p.onOutput(&cobra.Command{
		Use:   "check FILE…",
		Short: "Check files without applying them",
		Long: "Checks profiles and prints what is wrong with them, with line and column. It needs no database. With - it reads standard\n" +
			"input. Exit code 1 when a file is not valid. Warnings, such as of an attribute that a rule uses and the profile does not\n" +
			"declare, go to standard error.",
		Example: "  director profiles check ranked.yaml casual.yaml\n  director profiles check -o json - < ranked.yaml",
		Args:    cli.AtLeast(1),
	}, byCheck, func(_ context.Context, conf *loaded, out cli.Output, files []string) error {
		read, err := p.readProfiles(files, conf.config.Database.RequireFrom)
		if err != nil {
			return err
		}
		// Problems and warnings are parts of the document, since a pipeline reads stdout alone.
		if out.JSON {
			return writeChecks(out, read)
		}
		printWarnings(p.stderr, read)
		if err := reportRefusals(p.stdout, read); err != nil {
			return err
		}
		for _, f := range read {
			fmt.Fprintf(p.stdout, "%s: profile %s is valid\n", f.Source.File, f.Profile.Name)
		}
		return nil
	})
}

// writeChecks prints all files, also the valid ones, so that a pipeline sees which were checked.
func writeChecks(out cli.Output, files []declaration.Profile) error {
	lines := make([]checkLine, len(files))
	var refused error
	for i, f := range files {
		lines[i] = checkLine{File: f.Source.File, Problems: append([]profile.Problem{}, f.Problems...),
			Warnings: append([]profile.Problem{}, f.Warnings...)}
		if f.Profile == nil { // it has problems
			refused = errProfilesRefused
		} else {
			lines[i].Profile = f.Profile.Name
		}
	}
	return errors.Join(cli.WriteJSON(out.Writer, lines), refused)
}

// appliedProfile is what apply did with a file, or would do.
type appliedProfile struct {
	Name    string `json:"profile"`
	Version int    `json:"version"`
	Changed bool   `json:"changed"`
	As      string `json:"as"` // live or shadow
	DryRun  bool   `json:"dry_run"`
}

// writeAppliedProfiles prints a row for each file, in their order, also for those that change nothing.
func writeAppliedProfiles(out cli.Output, done []appliedProfile) error {
	return cli.Write(out, done, []string{"profile", "version", "changed", "as"}, func(a appliedProfile) []any {
		as := a.As
		if a.DryRun {
			as = "would be " + as
		}
		return []any{a.Name, a.Version, a.Changed, as}
	})
}

// roleOf returns what a version is applied as.
func roleOf(shadow bool) string {
	if shadow {
		return "shadow"
	}
	return "live"
}

func (p *program) profilesApply() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply -f FILE…",
		Short: "Apply profiles: each file becomes the live version of its profile",
		Long: "Stores each file as the next version of the profile that it names, and makes it live. A file that means the same as the\n" +
			"live version changes nothing. All files are applied, or none. With - it reads standard input.\n\n" +
			"With --shadow the version only decides beside the live one, and its matches are not committed. --dry-run prints what would change.\n" +
			"The column as says which it was: live, shadow, or would be live or shadow, after a dry run. Warnings go to standard error.",
		Example: "  director profiles apply -f ranked.yaml --reason 'wider skill window'\n" +
			"  director profiles apply -f profiles/*.yaml --dry-run\n" +
			"  director profiles show ranked-5v5 | sed s/100/150/ | director profiles apply -f - --expect 3",
		Args: func(cmd *cobra.Command, args []string) error {
			// Arguments are allowed beside -f, because a shell expands -f *.yaml to one flag and arguments.
			if len(args) > 0 && !cmd.Flags().Changed("file") {
				return cli.Usage(errors.New("name the files with -f"))
			}
			return nil
		},
	}
	files := cmd.Flags().StringArrayP("file", "f", nil,
		"A profile in YAML or JSON, required; - is standard input. Repeatable")
	shadow := cmd.Flags().Bool("shadow", false, "Make the new versions shadows of the live ones")
	dry := cmd.Flags().Bool("dry-run", false, "Only print what would change")
	flags := addEditFlags(cmd)
	var read []declaration.Profile
	checkFirst(cmd, func(more []string) error {
		if len(*files) == 0 {
			return cli.Usage(errors.New("--file is required: a profile in YAML or JSON"))
		}
		conf, err := loadSettings(cmd.Flags(), p.environ, byProfile)
		if err != nil {
			return err
		}
		if read, err = p.readProfiles(append(*files, more...), conf.config.Database.RequireFrom); err != nil {
			return err
		}
		// Before the database is needed, and all problems of all files at once.
		printWarnings(p.stderr, read)
		return reportRefusals(p.stderr, read)
	})
	return p.onDatabase(cmd, byProfile, func(ctx context.Context, op operator, _ []string) error {
		d := db.Declaration{Universe: op.conf.config.Server.Universe, Author: *flags.authorship.author,
			Reason: *flags.authorship.reason, DryRun: *dry}
		for _, f := range read {
			one := db.DeclaredProfile{Document: f.Source.Text, AsShadow: *shadow}
			// One --expect is compared with the live version of each file's profile.
			one.ExpectedVersion = flags.profileEdit(op.conf.config.Server.Universe, f.Profile.Name).Expected
			// All in one declaration, which is one transaction: all files are applied, or none.
			d.Profiles = append(d.Profiles, one)
		}
		return op.applyProfiles(ctx, read, d, *shadow)
	})
}

// applyProfiles applies all files or none.
func (op operator) applyProfiles(ctx context.Context, files []declaration.Profile, d db.Declaration, shadow bool) error {
	done, err := op.store.Declare(ctx, d)
	if err != nil {
		// The store names a refused document by its place in the declaration: Locate finds its file, line and column.
		set := declaration.Set{Profiles: files}
		return refusalText(set.Locate(err))
	}
	// The outcome has the profiles in the order of the files.
	changes := make([]appliedProfile, len(done.Profiles))
	for i, p := range done.Profiles {
		changes[i] = appliedProfile{p.Declared.Name, p.Declared.Version, p.Declared.Changed, roleOf(shadow), d.DryRun}
		if d.DryRun && !op.out.JSON {
			fmt.Fprint(op.out.Writer, profileDiff(p, files[i].Source.File, string(files[i].Source.Text)))
		}
	}
	return writeAppliedProfiles(op.out, changes)
}

// profileToTry reads a profile that decides by rules.
func (p *program) profileToTry(file string) (*profile.Profile, error) {
	if file == "" {
		return nil, cli.Usage(errors.New("--profile is missing: the file of the profile to try"))
	}
	// Only one: a simulation and a replay decide by one profile.
	source, err := declaration.One(file, p.stdin)
	if err != nil {
		return nil, err
	}
	// false: a profile that is only tried needs no trustworthy attributes.
	read := declaration.ParseProfile(source, false)
	// The profile is nil if the file has problems, and the error then says which.
	return read.Profile, reportRefusals(p.stderr, []declaration.Profile{read})
}
