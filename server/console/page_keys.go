package console

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// keysView is what templates/keys.html reads.
type keysView struct {
	Keys []opsview.Key // the latest, latest turn first
	More bool          // older ones exist
	KEKs []opsview.KeyEncryptionKey
	// Enrolments are those whose token registers game servers, and those that have some.
	Enrolments     []opsview.Enrolment
	MoreEnrolments bool
}

// Of returns the first key in a state; nil: there is none.
func (v keysView) Of(state string) *opsview.Key {
	var found *opsview.Key
	for i, k := range v.Keys {
		if k.State == state {
			found = &v.Keys[i] // the latest turn is first, and the next turn is the earliest of those to come
		}
	}
	return found
}

var keysPage = page[keysView]{routePath: "/keys", templateName: "keys", readEvery: 5 * time.Second, loadData: loadKeys}

func loadKeys(ctx context.Context, s Store, _ query) (v keysView, err error) {
	if v.Keys, v.More, err = listView(ctx, s, opsview.Keys, opsview.KeyFilter{},
		opsview.Page{Limit: pageSize}); err != nil {
		return v, err
	}
	if v.KEKs, _, err = listView(ctx, s, opsview.KeyEncryptionKeys, opsview.Any{},
		opsview.Page{Limit: 100}); err != nil {
		return v, err
	}
	v.Enrolments, v.MoreEnrolments, err = listView(ctx, s, opsview.Enrolments, opsview.EnrolmentFilter{Useful: true},
		opsview.Page{Limit: pageSize})
	return v, err
}

var taintAction = action{
	routePath: "/keys/:kid/taint",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		k, err := keyOf(ctx, s, q.Param("kid"))
		asked := question{
			Title: "Taint key " + shortID(k.KID) + "?", Button: "Taint the key", Danger: true, Back: "/keys",
			Reason: true,
			Says: []string{
				"Do this when the private key may have leaked. It leaves the JWKS now, and game servers " +
					"refuse its tokens once their copies of the JWKS expire.",
				"Players whose tokens it signed have to ask for new ones.",
				"This cannot be undone.",
			},
		}
		if k.State == "signing" {
			asked.Says = append(asked.Says, "It signs now: the next key takes over, as soon as verifiers may know it.")
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
			if k := v.Of("next"); k != nil {
				next = k.KID
			}
			return question{
				Title: "Rotate the signing key?", Button: "Rotate", Back: "/keys", NoReason: true,
				Fields: []field{{Name: fieldNext, Value: next, Hidden: true}},
				Says: []string{
					"The next key signs as soon as all verifiers can know it, and a further one is made.",
					"Tokens of the present key remain valid. If it may have leaked, taint it instead.",
				},
			}, err
		},
		do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
			v, err := loadKeys(ctx, s, q)
			if err != nil {
				return "", err
			}
			// Somebody else, or the same form, has rotated since the page was read.
			if k := v.Of("next"); k != nil && k.KID != d.Values[fieldNext] {
				return "The next key is another one by now: nothing changed.", nil
			}
			made, err := c.options.Rotate(ctx, s.As(d.Actor))
			return "The next key takes over as soon as all verifiers can know it; " +
				pluralText(len(made), "key was made.", "keys were made."), err
		},
	}
}
