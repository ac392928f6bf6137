package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
)

// profilesPause calls the function that the console and SQL call. A second pause with another reason replaces the
// reason, and counts as a change.
func (p *program) profilesPause() *cobra.Command {
	return p.changeProfile(&cobra.Command{
		Use:   "pause NAME",
		Short: "Make no matches of a profile; its tickets keep their place",
		Long: "Makes a profile make no matches until it is resumed, within a second. Its tickets keep their place, and expire as usual; matches\n" +
			"that were decided are played. A pause outlasts new versions. The same in SQL: function ops.pause_profile.",
		Example: "  director profiles pause ranked-5v5 --reason 'the season ends'",
	}, func(ctx context.Context, op operator, edit db.ProfileEdit, _ int) (db.ProfileChange, error) {
		return op.store.PauseProfile(ctx, edit)
	})
}

// profilesResume works on a retired profile as well, while profilesPause is refused there.
func (p *program) profilesResume() *cobra.Command {
	return p.changeProfile(&cobra.Command{
		Use:     "resume NAME",
		Short:   "Make matches of a profile again",
		Long:    "Ends the pause of a profile: the tickets that waited meanwhile are matched. The same in SQL: function ops.resume_profile.",
		Example: "  director profiles resume ranked-5v5",
	}, func(ctx context.Context, op operator, edit db.ProfileEdit, _ int) (db.ProfileChange, error) {
		return op.store.ResumeProfile(ctx, edit)
	})
}
