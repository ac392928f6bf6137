package play

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// voucher finds what others than the client say of the players of a ticket.
type voucher struct {
	face          ticketFace
	caller        string // "" where a backend queues for the players
	party         []string
	callerClaims  *token.Claims              // of the caller's access token; nil: not read yet
	storedPlayers map[string]db.StoredPlayer // what backends have said; nil: not read yet
	check         rest.Check
}

// vouchForDraft returns a copy of a draft in which the attributes that profiles ask of others than the client are the
// claims of the caller's access token, or what a backend has stored. What nobody vouches for stays the client's word,
// which [checkAttribute] then refuses. Errors: 400 for a claim that is no value of an attribute, and for profiles that
// read one attribute from two claims; Unavailable.
func (f ticketFace) vouchForDraft(ctx context.Context, d ticketbody.Draft,
	profiles []*profile.Profile) (ticketbody.Draft, error) {
	asked, err := vouchedAttributes(profiles)
	// Most profiles take everything from the client: then nothing is read.
	if err != nil || len(asked) == 0 {
		return d, err
	}
	v := voucher{face: f, caller: f.callerOf(ctx), party: partyOf(d)}
	d.Attributes, d.Players = maps.Clone(d.Attributes), slices.Clone(d.Players)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		for i, p := range d.Players {
			if hasAttribute(d, p, name) && asked[name].declared.Trusts(p.SourceOf(name)) {
				continue // a backend queues the player, and has said it in the request
			}
			value, source, err := v.findValue(ctx, p.Sub, name, asked[name])
			if err != nil {
				return d, err
			}
			if source != match.FromClient {
				d.Players[i] = withAttribute(p, name, value, source)
			}
		}
		shareAttribute(&d, name)
	}
	return d, v.check.Err()
}

// hasAttribute reports whether a player has an attribute, of its own or of the ticket.
func hasAttribute(d ticketbody.Draft, p match.Player, name string) bool {
	_, own := p.Attributes[name]
	_, shared := d.Attributes[name]
	return own || shared
}

// askedAttribute is an attribute that profiles ask of others than the client.
type askedAttribute struct {
	declared    profile.Attribute
	profileName string // that declares it so
	isAvoid     bool   // a rule of any profile reads it as the players to avoid
}

// vouchedAttributes returns the attributes that profiles do not take from clients, as the most demanding of them
// declares each. The order of the profiles does not matter, but for which of two that are equal a problem names first.
func vouchedAttributes(profiles []*profile.Profile) (map[string]askedAttribute, error) {
	asked := map[string]askedAttribute{}
	for _, p := range profiles {
		for name, declared := range p.Attributes {
			// A ticket has one value for all its profiles, so the most demanding of them decides where it comes from.
			if declared.From > asked[name].declared.From {
				asked[name] = askedAttribute{declared: declared, profileName: p.Name}
			}
		}
	}
	var c rest.Check
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		attribute := asked[name]
		for _, p := range profiles {
			attribute.isAvoid = attribute.isAvoid || p.Avoids(name)
			checkSameClaim(&c, name, attribute, p)
		}
		asked[name] = attribute
	}
	return asked, c.Err()
}

// checkSameClaim reports a profile that demands as much as the most demanding one, and reads the attribute from another
// claim.
func checkSameClaim(c *rest.Check, name string, asked askedAttribute, p *profile.Profile) {
	declared, has := p.Attributes[name]
	if has && declared.From == asked.declared.From && !slices.Equal(declared.Claim, asked.declared.Claim) {
		c.That(false, "profiles", fmt.Sprintf("must not name both %q and %q: they read the attribute %s from two "+
			"claims of the access token", asked.profileName, p.Name, name))
	}
}

// findValue returns the value of a player's attribute for which somebody vouches, and who does; FromClient means
// nobody. A claim counts before what is stored, since the profile asks for it.
func (v *voucher) findValue(ctx context.Context, sub, name string,
	asked askedAttribute) (value match.Value, source match.Source, err error) {
	// The claims of others than the caller are not known here; a backend may have stored them.
	if asked.declared.From == match.FromClaim && sub == v.caller {
		if err := v.loadClaims(ctx); err != nil {
			return value, match.FromClient, err
		}
		if value, found := v.readClaim(name, asked.declared); found {
			return value, match.FromClaim, nil
		}
	}
	if err := v.loadStored(ctx); err != nil {
		return value, match.FromClient, err
	}
	if value, found := v.storedValue(v.storedPlayers[sub], name, asked); found {
		return value, match.FromBackend, nil
	}
	return match.Value{}, match.FromClient, nil
}

// loadClaims reads the claims of the caller's access token, once.
func (v *voucher) loadClaims(ctx context.Context) error {
	if v.callerClaims != nil {
		return nil
	}
	claims, err := token.ReadClaims(rest.AccessToken(ctx))
	if err != nil {
		return err
	}
	v.callerClaims = &claims
	return nil
}

// loadStored reads what backends have said of the party, once, in one statement.
func (v *voucher) loadStored(ctx context.Context) (err error) {
	if v.storedPlayers != nil {
		return nil
	}
	tickets := v.face.tickets
	v.storedPlayers, err = tickets.Store.StoredPlayers(ctx, tickets.Region, v.party)
	return err
}

// storedValue returns what a backend has stored as an attribute, or as the list of players to avoid.
func (v *voucher) storedValue(p db.StoredPlayer, name string, asked askedAttribute) (match.Value, bool) {
	plain, has := p.Attributes[name]
	switch {
	// A value of another type is reported: a backend that stores texts for numbers would wonder why nobody is matched.
	case has:
		value := match.ValueOf(plain)
		v.check.That(value.Kind == asked.declared.Kind, "players."+p.Sub+".attributes."+name,
			"as a backend has stored it, must be "+kindNames[asked.declared.Kind])
		return value, value.Kind == asked.declared.Kind
	case asked.isAvoid && asked.declared.Kind == match.List && len(p.AvoidedPlayers) > 0:
		return match.Value{Kind: match.List, List: p.AvoidedPlayers}, true
	}
	return match.Value{}, false
}

// readClaim reads a claim, and reports one that is no value of an attribute.
func (v *voucher) readClaim(name string, declared profile.Attribute) (value match.Value, found bool) {
	field, said := "attributes."+name, "the claim "+declared.ClaimPath()+
		" of the access token, which the profile reads, "
	text, found, err := v.callerClaims.At(declared.Claim...)
	if err != nil {
		v.check.That(false, field, said+"is there twice, or is not in an object")
		return value, false
	}
	// null says that the player has none, as in the attributes of a request.
	if !found || text == "null" {
		return value, false
	}
	value, problem := match.ParseValue([]byte(text))
	if problem == "" && value.Kind != declared.Kind {
		problem = "must be " + kindNames[declared.Kind]
	}
	v.check.That(problem == "", field, said+problem)
	return value, problem == ""
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

// shareAttribute moves an attribute for which somebody else than the client vouches from the players to the ticket, by
// whose attributes pools filter, if all players have the same value. If not, it moves what the client said of the
// ticket to the players: no pool may read that.
func shareAttribute(d *ticketbody.Draft, name string) {
	vouched := func(p match.Player) bool { return p.Sources[name] != match.FromClient }
	if !slices.ContainsFunc(d.Players, vouched) {
		return
	}
	if shared, said := d.Attributes[name]; said {
		for i, p := range d.Players { // checkAttribute refuses it for players of whom the client alone says it
			if _, own := p.Attributes[name]; !own {
				d.Players[i] = withAttribute(p, name, shared, p.SourceOf(name))
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

// neededVoucher says who must vouch for an attribute of a player.
func neededVoucher(p *profile.Profile, name string, isCaller bool) string {
	declared := p.Attributes[name]
	from := "from a backend, which has stored none: the claims of other players than the caller are not known"
	switch {
	case declared.From == match.FromBackend:
		from = "from a backend only, which has stored none"
	case isCaller:
		from = "from the claim " + declared.ClaimPath() + " of the access token, which has none"
	}
	return fmt.Sprintf("profile %q takes it %s", p.Name, from)
}
