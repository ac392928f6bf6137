package console

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
)

// keysView is what templates/keys.html reads.
type keysView struct {
	Keys    []opsview.Key // the latest ones, sorted by SignFrom, latest first
	HasMore bool          // older keys exist
	KEKs    []opsview.KeyEncryptionKey
	// KEKsHaveMore: one that is missing in KEKs may still seal something.
	KEKsHaveMore   bool
	Enrolments     []opsview.Enrolment // only those that are valid or still have game servers
	MoreEnrolments bool
}

// EarliestKeyIn returns the key with the earliest SignFrom of those that are in a state; nil: none is.
func (v keysView) EarliestKeyIn(state string) *opsview.Key {
	for i, k := range slices.Backward(v.Keys) {
		if k.State == state {
			return &v.Keys[i]
		}
	}
	return nil
}

// CanRevoke reports whether the i-th enrolment is the one of its name that RevokeEnrolment would revoke.
func (v keysView) CanRevoke(i int) bool {
	// The latest of a name is first.
	return i == 0 || v.Enrolments[i].Name != v.Enrolments[i-1].Name ||
		v.Enrolments[i].Region != v.Enrolments[i-1].Region
}

// keysPage shows signing keys, the key-encryption keys that seal them, and enrolments.
var keysPage = page[keysView]{routePath: "/keys", templateName: "keys", readEvery: 5 * time.Second, loadData: loadKeys}

func loadKeys(ctx context.Context, s Store, _ query) (v keysView, err error) {
	if v.Keys, v.HasMore, err = listView(ctx, s, opsview.Keys, opsview.KeyFilter{},
		opsview.Page{Limit: pageSize}); err != nil {
		return v, err
	}
	if v.KEKs, v.KEKsHaveMore, err = listView(ctx, s, opsview.KeyEncryptionKeys, opsview.Any{},
		opsview.Page{Limit: pageSize}); err != nil {
		return v, err
	}
	v.Enrolments, v.MoreEnrolments, err = listView(ctx, s, opsview.Enrolments, opsview.EnrolmentFilter{Useful: true},
		opsview.Page{Limit: pageSize})
	return v, err
}

// taintAction takes a key out of the JWKS for good.
var taintAction = action{
	routePath: "/keys/:kid/taint",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		k, err := keyOf(ctx, s, q.Param("kid"))
		asked := question{
			Title: "Taint key " + shortID(k.KID) + "?", Button: "Taint the key", Danger: true, Back: "/keys",
			RequiresReason: true,
			Effects: []string{
				"Do this when the private key may have leaked. It leaves the JWKS now, and game servers " +
					"refuse its tokens once their copies of the JWKS expire.",
				"Players whose tokens it signed have to ask for new ones.",
				"This cannot be undone.",
			},
		}
		if k.State == "signing" {
			asked.Effects = append(asked.Effects, "It signs now: the next key takes over, as soon as verifiers may know it.")
		}
		return asked, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).TaintKey(ctx, q.Param("kid"))
		return outcomeText(changed, "Key "+q.Param("kid")+" is tainted: it is in no JWKS any more.",
			"The key was tainted before: nothing changed."), err
	},
}

// keyOf returns a signing key. Errors: NotFound.
func keyOf(ctx context.Context, s Store, kid string) (opsview.Key, error) {
	return readRow(ctx, s, opsview.Keys, opsview.KeyFilter{KID: &kid}, "not_found", "There is no key %q.", kid)
}

// fieldNext is the hidden field with the next key that the operator saw: sent twice, a form rotates once.
const fieldNext = "next"

// rotateAction switches to the next key early.
func (c *Console) rotateAction() action {
	return action{
		routePath: "/keys/rotate",
		askFirst: func(ctx context.Context, s Store, q query) (question, error) {
			v, err := loadKeys(ctx, s, q)
			next := ""
			if k := v.EarliestKeyIn("next"); k != nil {
				next = k.KID
			}
			return question{
				Title: "Rotate the signing key?", Button: "Rotate", Back: "/keys", HidesReason: true,
				Fields: []field{{Name: fieldNext, Value: next, Hidden: true}},
				Effects: []string{
					"The next key signs as soon as all verifiers can know it, and a further one is made.",
					"Tokens of the present key remain valid. If it may have leaked, taint it instead.",
				},
			}, err
		},
		do: func(ctx context.Context, s Store, _ query, d deed) (string, error) {
			made, err := c.options.Rotate(ctx, s.As(d.Actor), d.Values[fieldNext])
			// Somebody else, or the same form, has rotated since the page was read.
			if fault.Is(err, fault.Conflict) {
				return "The next key is another one by now: nothing changed.", nil
			}
			return "The next key takes over as soon as all verifiers can know it; " +
				pluralText(len(made), "key was made.", "keys were made."), err
		},
	}
}

// fieldServers is the field of a form that says whether the servers of an enrolment are revoked with it.
const fieldServers = "servers"

// revokeEnrolmentAction lets the token of an enrolment register no more game servers, and may revoke those that it has
// registered.
var revokeEnrolmentAction = action{
	routePath: "/enrolments/:region/:name/revoke",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		e, err := revocableEnrolment(ctx, s, q.Param("region"), q.Param("name"))
		token := "Its token registers no game server any more, on all replicas at once."
		if e.State != "valid" {
			token = "It is " + e.State + " already: its token registers no game server any more."
		}
		return question{
			Title: "Revoke enrolment " + e.Name + "?", Button: "Revoke", Danger: true, Back: "/keys",
			RequiresReason: true,
			Effects: []string{
				token,
				pluralText(int(e.Servers), "game server has", "game servers have") +
					" a credential by it. They continue, and may register again.",
				"This cannot be undone: make another enrolment.",
			},
			Fields: []field{{Name: fieldServers, Label: "Also revoke its game servers", YesOrEmpty: true,
				Help: "Write yes if the token has leaked: their sessions end. Empty: they continue."}},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		withServers := d.saysYes(fieldServers)
		changed, err := s.As(d.Actor).Because(d.Reason).RevokeEnrolment(ctx, q.Param("region"), q.Param("name"),
			withServers)
		name := "The enrolment " + q.Param("name")
		return outcomeText(changed,
			outcomeText(withServers, name+" is revoked. Its game servers are, too.",
				name+" is revoked. Its game servers continue."),
			"It was revoked before: nothing changed."), err
	},
}

// revocableEnrolment returns the enrolment that RevokeEnrolment would revoke: the latest of the name. Errors: NotFound,
// also if it has ended and has no game servers.
func revocableEnrolment(ctx context.Context, s Store, region, name string) (opsview.Enrolment, error) {
	e, err := readRow(ctx, s, opsview.Enrolments, opsview.EnrolmentFilter{Region: region, Name: name},
		"not_found", "There is no enrolment %q.", name)
	if err == nil && e.State != "valid" && e.Servers == 0 {
		err = fault.New(fault.NotFound, "not_found", "The enrolment %q is %s and has no game servers: nothing is left "+
			"to revoke. Those of an earlier one with this name are revoked one by one.", name, e.State)
	}
	return e, err
}
