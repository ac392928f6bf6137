package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
)

// profilesRollback makes no new version: the live version is then an earlier number.
func (p *program) profilesRollback() *cobra.Command {
	return p.changeProfile(&cobra.Command{
		Use:   "rollback NAME[@VERSION]",
		Short: "Make an earlier version live again",
		Long:  "Makes a version live: the one that is named, or the one that was live before the live version, by number.",
		Example: "  director profiles rollback ranked-5v5 --reason 'matches took too long'\n" +
			"  director profiles rollback ranked-5v5@3",
	}, func(ctx context.Context, l operator, edit db.ProfileEdit, version int) (db.ProfileChange, error) {
		// 0, without @VERSION, is the version before the live one.
		return l.store.RollbackProfile(ctx, edit, version)
	})
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
	checkFirst(cmd, func([]string) error {
		if *show && *off {
			return cli.Usage(errors.New("--show and --off exclude each other"))
		}
		return nil
	})
	cmd = p.changeProfile(cmd, func(ctx context.Context, l operator, edit db.ProfileEdit,
		version int) (db.ProfileChange, error) {
		if *off {
			version = -1 // ends the shadow
		}
		// 0, without @VERSION, is the latest version, which need not be newer than the live one.
		return l.store.ShadowProfile(ctx, edit, version)
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

func (p *program) profilesRetire() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retire NAME",
		Short: "End a profile: tickets that ask for it alone leave the queue",
		Long: "Ends a profile, after a confirmation: it makes no matches any more, and tickets that ask for no other profile are cancelled.\n" +
			"Its versions stay; applying a document uses it again.",
		Example: "  director profiles retire summer-event",
	}
	yes := addYes(cmd)
	return p.changeProfile(cmd, func(ctx context.Context, l operator, edit db.ProfileEdit,
		_ int) (db.ProfileChange, error) {
		// Applying a document brings the profile back, but not the tickets that were cancelled.
		err := p.askConfirmation(*yes, fmt.Sprintf("This ends profile %s, and cancels the tickets that ask for no other one.",
			edit.Name))
		if err != nil {
			return db.ProfileChange{}, err
		}
		return l.store.RetireProfile(ctx, edit)
	})
}
