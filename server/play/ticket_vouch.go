package play

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// voucher replaces what a client says of its party by what somebody else vouches for, as far as profiles ask for it.
type voucher struct {
	caller string
	claims *token.Claims // of the caller's access token; nil: not read yet
	check  rest.Check
}

// vouch returns a copy of a client's draft in which the attributes that profiles ask of a claim are the claims of the
// caller's access token. What nobody vouches for stays the client's word, which [checkAttribute] then refuses. Errors:
// 400 for a claim that is no value of an attribute, and for profiles that read one attribute from two claims.
func (f ticketFace) vouch(ctx context.Context, d ticketbody.Draft,
	profiles []*profile.Profile) (ticketbody.Draft, error) {
	asked, err := vouchedAttributes(profiles)
	if err != nil || len(asked) == 0 {
		return d, err
	}
	v := voucher{caller: rest.Caller(ctx)}
	d.Attributes, d.Players = maps.Clone(d.Attributes), slices.Clone(d.Players)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		for i := range d.Players {
			value, source, err := v.value(ctx, d.Players[i].Sub, name, asked[name])
			if err != nil {
				return d, err
			}
			if source != match.FromClient {
				d.Players[i] = withAttribute(d.Players[i], name, value, source)
			}
		}
		shareAttribute(&d, name)
	}
	return d, v.check.Err()
}

// vouchedAttributes returns the attributes that profiles do not take from clients, as the most demanding of them
// declares each.
func vouchedAttributes(profiles []*profile.Profile) (map[string]profile.Attribute, error) {
	var c rest.Check
	asked, by := map[string]profile.Attribute{}, map[string]string{}
	for _, p := range profiles {
		for name, declared := range p.Attributes {
			was, known := asked[name]
			if declared.From == match.FromClient || known && was.From > declared.From {
				continue
			}
			if known && was.From == declared.From && !slices.Equal(was.Claim, declared.Claim) {
				c.That(false, "profiles", fmt.Sprintf("must not name both %q and %q: they read the attribute %s from two "+
					"claims of the access token", by[name], p.Name, name))
			}
			asked[name], by[name] = declared, p.Name
		}
	}
	return asked, c.Err()
}

// value returns what somebody vouches for of a player's attribute, and who; FromClient: nobody does.
func (v *voucher) value(ctx context.Context, sub, name string,
	declared profile.Attribute) (value match.Value, source match.Source, err error) {
	if declared.From != match.FromClaim || sub != v.caller {
		return value, match.FromClient, nil
	}
	if v.claims == nil {
		claims, err := token.ReadClaims(rest.AccessToken(ctx))
		if err != nil {
			return value, match.FromClient, err
		}
		v.claims = &claims
	}
	value, found := v.claim(name, declared)
	if !found {
		return value, match.FromClient, nil
	}
	return value, match.FromClaim, nil
}

// claim reads a claim, and reports one that is no value of an attribute.
func (v *voucher) claim(name string, declared profile.Attribute) (value match.Value, found bool) {
	field, said := "attributes."+name, "the claim "+declared.ClaimPath()+" of the access token, which the profile reads, "
	text, found, err := v.claims.At(declared.Claim...)
	if err != nil {
		v.check.That(false, field, said+"is there twice, or is not in an object")
		return value, false
	}
	if !found || text == "null" {
		return value, false
	}
	from := json.NewDecoder(strings.NewReader(text))
	from.UseNumber() // so that no number is rounded before it is checked
	var raw any
	if err := from.Decode(&raw); err != nil {
		v.check.That(false, field, said+"cannot be read")
		return value, false
	}
	value, allowed := valueOf(raw)
	v.check.That(allowed == "", field, said+allowed)
	v.check.That(allowed != "" || value.Kind == declared.Kind, field, said+"must be "+kindNames[declared.Kind])
	return value, allowed == "" && value.Kind == declared.Kind
}

// withAttribute returns a copy of a player with a value that somebody vouches for.
func withAttribute(p match.Player, name string, value match.Value, source match.Source) match.Player {
	p.Attributes, p.Sources = maps.Clone(p.Attributes), maps.Clone(p.Sources)
	if p.Attributes == nil {
		p.Attributes = match.Attributes{}
	}
	if p.Sources == nil {
		p.Sources = map[string]match.Source{}
	}
	p.Attributes[name], p.Sources[name] = value, source
	return p
}

// shareAttribute makes an attribute that others than the client vouch for the ticket's, which pools filter by, if all
// players have the same value. Otherwise the ticket has none: pools must not read the client's word either.
func shareAttribute(d *ticketbody.Draft, name string) {
	vouched := func(p match.Player) bool { return p.Sources[name] != match.FromClient }
	if !slices.ContainsFunc(d.Players, vouched) {
		return
	}
	if client, said := d.Attributes[name]; said {
		for i, p := range d.Players { // the client's word about the others stays theirs, to be refused
			if _, own := p.Attributes[name]; !own {
				d.Players[i] = withAttribute(p, name, client, match.FromClient)
			}
		}
		delete(d.Attributes, name)
	}
	first := d.Players[0]
	for _, p := range d.Players {
		if !vouched(p) || !reflect.DeepEqual(p.Attributes[name], first.Attributes[name]) {
			return
		}
	}
	d.Attributes[name] = first.Attributes[name]
	for i := range d.Players {
		d.Players[i].Attributes = maps.Clone(d.Players[i].Attributes)
		delete(d.Players[i].Attributes, name)
	}
}

// needed says who must vouch for an attribute of a player.
func needed(p *profile.Profile, name string, isCaller bool) string {
	declared := p.Attributes[name]
	from := "from a backend, since the claims of other players than the caller are not known"
	switch {
	case declared.From == match.FromBackend:
		from = "from a backend only"
	case isCaller:
		from = "from the claim " + declared.ClaimPath() + " of the access token, which has none"
	}
	return fmt.Sprintf("profile %q takes it %s", p.Name, from)
}
