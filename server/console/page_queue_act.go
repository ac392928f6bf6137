package console

import (
	"context"

	"github.com/lattice-director/director/db/opsview"
)

// pauseProfileAction keeps a profile of a universe from making matches.
func pauseProfileAction(universe string) action {
	return action{
		routePath: "/profiles/:profile/pause",
		askFirst: func(ctx context.Context, s Store, q query) (question, error) {
			p, err := profileOf(ctx, s, universe, q)
			return question{
				Title: "Pause " + p.Profile.Profile + "?", Button: "Pause", Back: "/queue", RequiresReason: true,
				Effects: []string{
					"The profile makes no matches until somebody resumes it. Workers stop within a second.",
					"The " + pluralText(p.Waiting.Tickets, "ticket that waits keeps its place",
						"tickets that wait keep their places") + ", and players may still queue.",
					"Tickets expire as usual.",
					"Matches that were decided are played.",
				},
			}, err
		},
		do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
			changed, err := s.As(d.Actor).Because(d.Reason).PauseProfile(ctx, universe, q.Param("profile"))
			return outcomeText(changed, q.Param("profile")+" is paused: it makes no matches.",
				q.Param("profile")+" was paused for this reason already: nothing changed."), err
		},
	}
}

// resumeProfileAction ends the pause of pauseProfileAction.
func resumeProfileAction(universe string) action {
	return action{
		routePath: "/profiles/:profile/resume",
		askFirst: func(ctx context.Context, s Store, q query) (question, error) {
			p, err := profileOf(ctx, s, universe, q)
			return question{
				Title: "Resume " + p.Profile.Profile + "?", Button: "Resume", Back: "/queue",
				Effects: []string{"The profile makes matches again, first of the " +
					pluralText(p.Waiting.Tickets, "ticket that waits", "tickets that wait") + "."},
			}, err
		},
		do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
			changed, err := s.As(d.Actor).Because(d.Reason).ResumeProfile(ctx, universe, q.Param("profile"))
			return outcomeText(changed, q.Param("profile")+" makes matches again.",
				q.Param("profile")+" was not paused: nothing changed."), err
		},
	}
}

// profileOf returns the profile that a path names. Errors: NotFound.
func profileOf(ctx context.Context, s Store, universe string, q query) (opsview.ProfileQueue, error) {
	f := opsview.ProfileFilter{Universe: universe, Profile: q.Param("profile")}
	return readOne(ctx, s, func(ctx context.Context, r opsview.Querier) (opsview.ProfileQueue, error) {
		return opsview.ReadProfile(ctx, r, f)
	}, "profile_unknown", "there is no such profile")
}
