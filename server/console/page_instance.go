package console

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// instanceView is what templates/instance.html reads.
type instanceView struct {
	Instance   opsview.Instance
	Sessions   []opsview.Session // a page
	Next       string
	Events     []opsview.Event // the latest
	Credential opsview.ServerCredential
}

// instancePage shows a game server with its sessions, latest events and credential.
var instancePage = page[instanceView]{routePath: "/instances/:id", templateName: "instance", readEvery: 2 * time.Second,
	loadData: loadInstance}

// loadInstance reads the page of a game server. Errors: NotFound.
func loadInstance(ctx context.Context, s Store, q query) (v instanceView, err error) {
	if v.Instance, err = instanceOf(ctx, s, q.Param("id")); err != nil {
		return v, err
	}
	from := q.pageAfterID()
	// Keys of this list leave out the region, which is that of the game server.
	if from.After != nil {
		from.After[0] = v.Instance.Region
	}
	var more bool
	hosted := opsview.SessionFilter{Region: v.Instance.Region, Instance: v.Instance.Instance}
	if v.Sessions, more, err = listView(ctx, s, opsview.Sessions, hosted, from); err != nil {
		return v, err
	}
	if more {
		v.Next = q.Next("", v.Sessions[len(v.Sessions)-1].ID.String())
	}
	if v.Credential, err = readRow(ctx, s, opsview.ServerCredentials,
		opsview.ServerCredentialFilter{Region: v.Instance.Region, Instance: v.Instance.Instance}, "instance_unknown",
		"no instance %q: ended ones are forgotten after some time", v.Instance.Instance); err != nil {
		return v, err
	}
	v.Events, err = eventsOf(ctx, s, v.Instance.Instance)
	return v, err
}

// instanceOf returns the game server with an id. Errors: NotFound.
func instanceOf(ctx context.Context, s Store, id string) (opsview.Instance, error) {
	return readOne(ctx, s, func(ctx context.Context, q opsview.Querier) (opsview.Instance, error) {
		return opsview.ReadInstance(ctx, q, id)
	}, "instance_unknown", "no instance %q: ended ones are forgotten after some time", id)
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
