package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

// byProfile are the settings of commands on the profiles of the database.
const byProfile = byOperator | byProfiles

// completeProfiles completes the first argument with the names of profiles.
func (p *program) completeProfiles() cobra.CompletionFunc {
	return p.completeArgs(firstOnly(wordsOf(opsview.Profiles, opsview.ProfileFilter{OnlyLive: true}, "profile")))
}

// editFlags are the flags of commands that change a profile.
type editFlags struct {
	cmd             *cobra.Command
	authorship      authorship
	expectedVersion *int
}

// addEditFlags has -1 as the default of --expect only for --help: 0 is a version that somebody may expect.
func addEditFlags(cmd *cobra.Command) editFlags {
	expected := cmd.Flags().Int("expect", -1, "Change nothing unless this is the live version (0: there is none yet)")
	requireAtLeast(cmd, "expect", expected, 0)
	return editFlags{cmd, addAuthorship(cmd), expected}
}

// profileEdit returns the change of a profile that the flags describe.
func (e editFlags) profileEdit(region, name string) db.ProfileEdit {
	edit := db.ProfileEdit{Universe: region, Name: name, Author: *e.authorship.author, Reason: *e.authorship.reason}
	// Changed decides, and not the value: --expect 0 means that there is no version yet.
	if e.cmd.Flags().Changed("expect") {
		edit.Expected = e.expectedVersion
	}
	return edit
}

// profileChange is the output of commands that change a profile.
type profileChange struct {
	Name    string `json:"profile"`
	Version int    `json:"version"`
	Changed bool   `json:"changed"`
}

// writeProfileChanges prints the version that is live then, also where nothing changed.
func writeProfileChanges(out cli.Output, changes []profileChange) error {
	return cli.Write(out, changes, []string{"profile", "version", "changed"},
		func(c profileChange) []any { return []any{c.Name, c.Version, c.Changed} })
}

// changeProfile completes a command that changes the profile in its argument, which may have a version where the use of
// the command says so.
func (p *program) changeProfile(cmd *cobra.Command,
	change func(ctx context.Context, op operator, edit db.ProfileEdit,
		version int) (db.ProfileChange, error)) *cobra.Command {
	cmd.Args = cli.Exactly(1)
	cmd.ValidArgsFunction = p.completeProfiles()
	parse := parseVersion
	if !strings.Contains(cmd.Use, "@VERSION") {
		parse = parseUnversioned
	}
	flags, named := addEditFlags(cmd), parseFirst(cmd, parse)
	return p.onDatabase(cmd, byProfile, func(ctx context.Context, op operator, _ []string) error {
		done, err := change(ctx, op, flags.profileEdit(op.conf.config.Server.Universe, named.name), named.number)
		if err != nil {
			return refusalText(err)
		}
		return writeProfileChanges(op.out, []profileChange{profileChange(done)})
	})
}
