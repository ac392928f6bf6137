package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
)

// profilesRollback makes no new version: the live version is then an earlier number.
func (p *program) profilesRollback() *cobra.Command {
	return p.changeProfile(&cobra.Command{
		Use:   "rollback NAME[@VERSION]",
		Short: "Make an earlier version live again",
		Long:  "Makes a version live: the one that is named, or the one that was live before the live version, by number.",
		Example: "  director profiles rollback ranked-5v5 --reason 'matches took too long'\n" +
			"  director profiles rollback ranked-5v5@3",
	}, func(ctx context.Context, op operator, edit db.ProfileEdit, version int) (db.ProfileChange, error) {
		// 0, without @VERSION, is the version before the live one.
		return op.store.RollbackProfile(ctx, edit, version)
	})
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
	return p.changeProfile(cmd, func(ctx context.Context, op operator, edit db.ProfileEdit,
		_ int) (db.ProfileChange, error) {
		// Applying a document brings the profile back, but not the tickets that were cancelled.
		err := p.askConfirmation(*yes, fmt.Sprintf("This ends profile %s, and cancels the tickets that ask for no other one.",
			edit.Name))
		if err != nil {
			return db.ProfileChange{}, err
		}
		return op.store.RetireProfile(ctx, edit)
	})
}
