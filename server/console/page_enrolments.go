package console

import (
	"context"

	"github.com/lattice-director/director/db/opsview"
)

// fieldServers is the field of a form that says whether the servers of an enrolment are revoked with it.
const fieldServers = "servers"

// revokeEnrolmentAction lets the token of an enrolment register no more game servers.
var revokeEnrolmentAction = action{
	routePath: "/enrolments/:region/:name/revoke",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		// One that has ended is not found: there is nothing left to ask.
		e, err := readRow(ctx, s, opsview.Enrolments,
			opsview.EnrolmentFilter{Region: q.Param("region"), Name: q.Param("name"), State: "valid"},
			"not_found", "There is no valid enrolment %q.", q.Param("name"))
		return question{
			Title: "Revoke enrolment " + e.Name + "?", Button: "Revoke", Danger: true, Back: "/keys",
			RequiresReason: true,
			Effects: []string{
				"Its token registers no game server any more, on all replicas at once.",
				pluralText(int(e.Servers), "game server has", "game servers have") +
					" a credential by it. They continue, and may register again.",
				"This cannot be undone: make another enrolment.",
			},
			Fields: []field{{Name: fieldServers, Label: "Also revoke its game servers",
				Help: "Write yes if the token has leaked: their sessions end. Empty: they continue."}},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).RevokeEnrolment(ctx, q.Param("region"), q.Param("name"),
			d.Values[fieldServers] == "yes") // this word only: whatever else was typed ends no session
		return outcomeText(changed, "The enrolment "+q.Param("name")+" is revoked.",
			"It was revoked before: nothing changed."), err
	},
}

// revokeServerAction revokes the credential that a game server got by an enrolment.
var revokeServerAction = action{
	routePath: "/instances/:id/revoke",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		c, err := readRow(ctx, s, opsview.ServerCredentials,
			opsview.ServerCredentialFilter{Instance: q.Param("id"), Credential: "enrolment"}, "not_found",
			"Game server %q has no credential of an enrolment.", q.Param("id"))
		return question{
			Title: "Revoke the credential of " + c.Instance + "?", Button: "Revoke", Danger: true,
			Back:           instancePath(c.Instance),
			RequiresReason: true,
			Effects: []string{
				"Its registration ends now, with its sessions, and its credential opens nothing any more.",
				"A process that has the token of its enrolment registers again, with another credential.",
			},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).RevokeServer(ctx, q.Param("id"))
		return outcomeText(changed, "The credential of "+q.Param("id")+" is revoked.",
			"It was revoked before: nothing changed."), err
	},
}
