package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/declaration"
	"github.com/lattice-director/director/internal/provisioning/poolfile"
)

// appliedLine is the output of `pools apply` for an app version or a pool.
type appliedLine struct {
	Kind    string   `json:"kind"`   // app or pool
	Region  string   `json:"region"` // of a pool
	App     string   `json:"app"`
	Version string   `json:"version"`
	Change  string   `json:"change"` // created, changed or unchanged
	Fields  []string `json:"fields"` // that changed
}

func (p *program) poolsApply() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Declare app versions and pools from a YAML file",
		Long: "Makes app versions and pools as the file declares them: all of them, or nothing. What the file does not name stays. With - it\n" +
			"reads standard input. What running servers depend on does not change once a server of the version was started; a mode\n" +
			"belongs to one pool of a region, and 'pools roll' moves it. docs/provisioning.md explains the keys.\n\n" +
			"Commands and images are names: workers refuse those that are not in their own lists.",
		Example: "  director pools apply -f pools.yaml\n  director pools apply -f pools.yaml --dry-run",
		Args:    cli.Exactly(0),
	}
	file := cmd.Flags().StringP("file", "f", "", "The file in YAML or JSON, required; - is standard input")
	dry := cmd.Flags().Bool("dry-run", false, "Only print what would change")
	flags := addAuthorship(cmd)
	var declared *poolfile.File
	checkFirst(cmd, func([]string) (err error) {
		if *file == "" {
			return cli.Usage(errors.New("--file is required: app versions and pools in YAML or JSON"))
		}
		declared, err = p.readPools(*file)
		return err
	})
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		done, err := op.store.Declare(ctx,
			db.Declaration{Author: *flags.author, Reason: *flags.reason, AppVersions: declared.Apps,
				Pools: declared.Pools, DryRun: *dry})
		if err != nil {
			return atFile(*file, refusalText(declared.Locate(err)))
		}
		// On stderr: the table on stdout is that of a real run, for comparison.
		if *dry {
			fmt.Fprintln(p.stderr, "dry run: nothing was applied")
		}
		// The changes are printed even if the warning fails: the declaration is committed.
		return errors.Join(writeApplied(op.out, done.Provisioned), p.warnProviders(ctx, op, declared.Apps))
	})
}

func (p *program) poolsSchema() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of files with apps, pools and projects",
		Long: "Prints the JSON Schema (draft 2020-12) of files with apps, pools and projects, with which editors complete and check them. It\n" +
			"needs no database. 'director profiles schema' prints that of profiles.",
		Example: "  director pools schema > pools.schema.json",
		Args:    cli.Exactly(0),
	}
	// Without --output: the schema is JSON in any case.
	cmd.RunE = func(*cobra.Command, []string) error {
		_, err := p.stdout.Write(poolfile.Schema())
		return err
	}
	return cmd
}

// readPools reads and checks a file; "-" is standard input.
func (p *program) readPools(file string) (*poolfile.File, error) {
	read, err := declaration.One(file, p.stdin)
	if err != nil {
		return nil, err
	}
	declared, err := poolfile.Parse(read.Text)
	if err != nil {
		return declared, atFile(file, err)
	}
	// A file for `apply` may have projects: without this error, they would silently not be applied.
	if declared.Declares("projects") {
		err = &poolfile.Error{Problems: []poolfile.Problem{
			declared.ProblemAt("projects", "'director apply' applies projects, and all else that files declare"),
		}}
	}
	return declared, atFile(file, err)
}

// warnProviders warns of providers of app versions that no running worker has.
func (p *program) warnProviders(ctx context.Context, op operator, apps []provision.AppVersion) error {
	found, err := opsview.Providers.Read(ctx, op.store.Pool(), opsview.Any{}, opsview.Page{})
	if err != nil {
		return err
	}
	served := map[string]bool{}
	for _, p := range found {
		// A provider that no worker has at the moment is listed without workers.
		served[p.Provider] = p.Workers > 0
	}
	var names []string
	for _, v := range apps {
		// The fallback as well: it is needed in the moment in which the first one fails.
		names = append(names, v.Provider)
		if v.Fallback != nil {
			names = append(names, v.Fallback.Provider)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !served[name] {
			fmt.Fprintln(p.stderr, "warning: "+noWorkerHas(name))
		}
	}
	return nil
}

// writeApplied prints the app versions first: the pools below name them.
func writeApplied(out cli.Output, done provision.PoolChanges) error {
	lines := make([]appliedLine, 0, len(done.AppChanges)+len(done.PoolChanges))
	for _, c := range done.AppChanges {
		lines = append(lines, appliedLine{"app", "", c.App, c.Version, c.Change,
			append([]string{}, c.ChangedFields...)})
	}
	for _, c := range done.PoolChanges {
		lines = append(lines, appliedLine{"pool", c.Region, c.App, c.Version, c.Change,
			append([]string{}, c.ChangedFields...)})
	}
	return cli.Write(out, lines, []string{"kind", "region", "app", "version", "change", "fields"},
		func(l appliedLine) []any {
			return []any{l.Kind, l.Region, l.App, l.Version, l.Change, l.Fields}
		})
}

// noWorkerHas says that servers of a provider do not start.
func noWorkerHas(provider string) string {
	return "no running worker has the provider " + provider +
		": set DIRECTOR_PROVIDERS of one, or its servers neither start nor stop"
}
