package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/declaration"
)

func (p *program) applyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply -f DIRECTORY",
		Short: "Make profiles, pools, apps and projects what the files of a directory declare",
		Long: "Makes everything as files declare it, in one transaction: all of it, or nothing. A file is a profile, or has lists of apps,\n" +
			"pools and projects. In a directory and below it, files count whose names end in .yaml, .yml or .json. All files are checked\n" +
			"before anything changes. What is so already is not written, so the command may run after each commit.\n\n" +
			"--dry-run prints what would change, as a diff, and exits with 3 if anything would.\n\n" +
			"--prune removes what no file declares, of the kinds of which the files declare something, or an empty list: profiles are\n" +
			"retired, pools and apps deleted. It keeps what is used, and says why: a profile for which tickets wait, a pool with servers, an\n" +
			"app of which a server is left. It keeps projects, and the built-in profiles realtime-2 to realtime-16.",
		Example: "  director apply -f deploy/ --dry-run\n" +
			"  director apply -f deploy/ --prune --author \"$CI_COMMIT_AUTHOR\" --reason \"$CI_COMMIT_SHA\"\n" +
			"  director apply -f deploy/ --dry-run -o json | jq -r '.[] | select(.change != \"unchanged\") | .diff'",
		Args: func(cmd *cobra.Command, args []string) error {
			// Arguments are allowed beside -f, because a shell expands -f *.yaml to one flag and arguments.
			if len(args) > 0 && !cmd.Flags().Changed("file") {
				return cli.Usage(errors.New("name the directory with -f"))
			}
			return nil
		},
	}
	files := cmd.Flags().StringArrayP("file", "f", nil,
		"A directory or a file in YAML or JSON, required; - is standard input. Repeatable")
	prune := cmd.Flags().Bool("prune", false, "Also remove what no file declares and nobody uses")
	dry := cmd.Flags().Bool("dry-run", false, "Only print what would change; exit code 3 if anything would")
	flags := addAuthorship(cmd)
	// Read and checked before the command connects: a mistake in a file needs no database.
	var set *declaration.Set
	checkFirst(cmd, func(more []string) (err error) {
		if len(*files) == 0 {
			return cli.Usage(errors.New("--file is required: a directory, or a file in YAML or JSON"))
		}
		// The shell's further arguments count as files, in the order of the command line.
		set, err = p.readDeclaration(cmd, append(*files, more...))
		return err
	})
	return p.onDatabase(cmd, byProfile|byApply, func(ctx context.Context, op operator, _ []string) error {
		d := set.Declaration()
		// The region is that of the settings: files of profiles name none.
		d.Universe, d.Author, d.Reason, d.DryRun = op.conf.config.Server.Universe, *flags.author, *flags.reason, *dry
		// Pruned are only the kinds that the files declare: a directory of profiles alone must not delete every pool.
		if *prune {
			d.Prune = set.Prune()
		}
		return p.applyDeclaration(ctx, op, set, d)
	})
}

// readDeclaration reads and checks files. It writes warnings to stderr.
func (p *program) readDeclaration(cmd *cobra.Command, paths []string) (*declaration.Set, error) {
	// The settings are read here already, although onDatabase reads them after all checks: the region of projects and
	// the rules for attributes decide whether a file is valid.
	conf, err := loadSettings(cmd.Flags(), p.environ, byProfile|byApply)
	if err != nil {
		return nil, err
	}
	// A directory counts with all files below it, in the order of their names.
	sources, err := declaration.Sources(paths, p.stdin)
	if err != nil {
		return nil, err
	}
	set := declaration.Parse(sources, declaration.Options{
		ProjectRegion: conf.config.Realtime.Region, RequireFrom: conf.config.Database.RequireFrom,
	})
	// On stderr, since stdout is the document of -o json.
	printWarnings(p.stderr, set.Profiles)
	// All problems of all files at once.
	if problems := set.Problems(); len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "\n"))
	}
	return set, nil
}

// applyDeclaration applies a declaration, and prints what became of it.
func (p *program) applyDeclaration(ctx context.Context, op operator, set *declaration.Set, d db.Declaration) error {
	done, err := op.store.Declare(ctx, d)
	if err != nil {
		return refusalText(set.Locate(err)) // Locate adds the file and line of the refused value
	}
	lines := declaredLines(set, done)
	// Before the warnings: the declaration is committed, whatever becomes of them.
	if err := writeDeclared(op.out, lines, d.DryRun); err != nil {
		return err
	}
	// Only a warning: the files may be applied before a worker with the provider starts.
	if err := p.warnProviders(ctx, op, d.AppVersions); err != nil || !d.DryRun {
		return err
	}
	// An exit code of its own, by which a pipeline tells a change from a failure.
	if changes := countChanges(lines); changes > 0 {
		return cli.Differs(fmt.Errorf("dry run: nothing was applied; %d of %d would change", changes, len(lines)))
	}
	return nil
}
