package play

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/server/rest"
)

// defaultTTL is how long a ticket may wait where no profile says how long.
const defaultTTL = 10 * time.Minute

// maxLobbyTries bounds how often a request is decided again because the members of its lobby have changed.
const maxLobbyTries = 3

// create puts a party into the queue.
func (f ticketFace) create(ctx context.Context, in rest.In[ticketRequest]) (t ticket, err error) {
	if in.Body.Lobby == nil {
		if err := f.tickets.Parties.checkParty(ctx, rest.Caller(ctx), in.Body.Party); err != nil {
			return t, err
		}
		return f.createFor(ctx, in, nil)
	}
	for range maxLobbyTries {
		var members []string
		members, err = f.tickets.Store.LobbyPlayers(ctx, in.Body.Lobby.Project, in.Body.Lobby.Room, rest.Caller(ctx))
		if err != nil {
			return t, err
		}
		// The room is locked only when the ticket is stored, which finds out who has joined or left since the reading.
		if t, err = f.createFor(ctx, in, members); !hasCode(err, "party_changed") {
			return t, err
		}
	}
	return t, err
}

// createFor puts the caller and its party, or the members of a lobby, into the queue.
func (f ticketFace) createFor(ctx context.Context, in rest.In[ticketRequest], members []string) (ticket, error) {
	caller, key := rest.Caller(ctx), in.Header("Idempotency-Key")
	build, err := buildOf(in.Header(clientBuild))
	if err != nil {
		return ticket{}, err
	}
	draft, err := in.Body.draftFor(caller, key, members)
	if err != nil {
		return ticket{}, err
	}
	// A room is queued in the universe of its own region, wherever its members are.
	if in.Body.Lobby == nil {
		if err := f.tickets.CheckHere(nearestRegion(draft.Latencies)); err != nil {
			return ticket{}, err
		}
	}
	a, err := f.admitDraft(ctx, draft)
	if err != nil {
		return ticket{}, err
	}
	return f.enterQueue(ctx, a, in.Body.Lobby, db.PlayerTicketRequest{
		Caller: caller, Build: build, IsVouched: in.Body.Lobby != nil, LeaseTTL: f.tickets.Lease, IdempotencyKey: key,
		// The hash is of what the client said: a member that repeats the request has other claims.
		RequestHash: hashOf(draft, in.Body.Lobby, false),
	})
}

// nearestRegion returns the region with the least latency, "" without latencies. Of regions that are equally near it is
// the first by name, so that a retry asks for the same.
func nearestRegion(latencies map[string]uint16) (nearest string) {
	for region, ms := range latencies {
		best, found := latencies[nearest]
		if !found || ms < best || ms == best && region < nearest {
			nearest = region
		}
	}
	return nearest
}

// enterQueue queues an admitted ticket with the rest of its request.
func (f ticketFace) enterQueue(ctx context.Context, a admittedTicket, lobby *ticketLobby,
	r db.PlayerTicketRequest) (ticket, error) {
	r.Party, r.ProfileNames, r.SearchFields = partyOf(a.draft), a.draft.Profiles, ticketbody.Fields(a.draft)
	r.EncodeBody, r.BodyBytes, r.TTL, r.CallerLatencies = a.body.Body, len(a.body), a.ttl, a.rememberedLatencies
	answer, err := f.storeTicket(ctx, r, lobby)
	if err != nil {
		return ticket{}, err
	}
	logTicket(ctx, answer.ID)
	t, err := f.storedTicket(ctx, r, a.body, answer)
	if err != nil {
		return ticket{}, err
	}
	d := f.describeTicket(ctx, t)
	d.isNew = answer.IsNew
	return d, nil
}

// storedTicket returns the ticket that a request has got.
func (f ticketFace) storedTicket(ctx context.Context, r db.PlayerTicketRequest, body []byte,
	answer db.PlayerTicketAnswer) (db.PlayerTicket, error) {
	// The ticket of an earlier request with the same key may have been matched since.
	if !answer.IsNew {
		return f.readTicket(ctx, answer.ID)
	}
	// A new ticket is what the store has just written: reading it would be a second statement.
	return db.PlayerTicket{
		ID: answer.ID, State: db.TicketQueued, StateVersion: 1, Party: r.Party, ProfileNames: r.ProfileNames,
		CreatedAt: answer.CreatedAt, Body: body,
	}, nil
}

// storeTicket stores a ticket; that of a lobby while its room is locked.
func (f ticketFace) storeTicket(ctx context.Context, r db.PlayerTicketRequest,
	lobby *ticketLobby) (db.PlayerTicketAnswer, error) {
	if lobby == nil {
		return f.tickets.Store.CreatePlayerTicket(ctx, f.tickets.Region, r)
	}
	return f.tickets.Store.CreateLobbyTicket(ctx, f.tickets.Region,
		db.LobbyTicketRequest{Ticket: r, ProjectID: lobby.Project, RoomID: lobby.Room})
}

// partyOf returns the players of a draft, sorted as the draft is.
func partyOf(d ticketbody.Draft) (subs []string) {
	for _, p := range d.Players {
		subs = append(subs, p.Sub)
	}
	return subs
}

// checkProfile refuses a party or attributes that a profile cannot take, in the words of the request's fields. Whether
// the ticket fits its rules is asked afterwards, of the same code that matches.
func checkProfile(p *profile.Profile, d ticketbody.Draft, caller string) error {
	if most := largestParty(p); most > 0 && len(d.Players) > most {
		return &rest.Problem{
			Status: http.StatusUnprocessableEntity, Code: "party_too_large", Title: "Party too large",
			Detail: fmt.Sprintf("a party of %d is larger than any team of profile %q, which has at most %d players",
				len(d.Players), p.Name, most),
		}
	}
	var c rest.Check
	for _, name := range slices.Sorted(maps.Keys(p.Attributes)) {
		for _, player := range d.Players {
			isFine := checkAttribute(&c, p, name, d, player, player.Sub == caller)
			if !isFine {
				break // one error for each attribute says enough
			}
		}
	}
	checkTolerances(&c, p, p.Rules, d)
	return c.Err()
}

// checkTolerances reports limits of the ticket's own that a rule does not allow.
func checkTolerances(c *rest.Check, p *profile.Profile, rules []profile.Rule, d ticketbody.Draft) {
	for i := range rules {
		r := &rules[i]
		checkTolerances(c, p, r.Rules, d) // the rules within a rule "any" or "team"
		if r.Tolerance == "" {
			continue
		}
		allowed := fmt.Sprintf("must be a number from 0 to %v for profile %q", r.Limits.Within, p.Name)
		check := func(field string, has match.Attributes) {
			v, ok := has[r.Tolerance]
			c.That(!ok || v.Kind == match.Number && v.Number >= 0 && v.Number <= r.Limits.Within, field+r.Tolerance, allowed)
		}
		check("attributes.", d.Attributes)
		for _, player := range d.Players {
			check("players."+player.Sub+".attributes.", player.Attributes)
		}
	}
}

// largestParty returns how many players of a party a match of the profile can have; 0: any number.
func largestParty(p *profile.Profile) (most int) {
	split := 0
	for _, t := range p.Teams {
		most = max(most, t.Max)
		// A party may be spread over these teams; in any other it must fit as a whole.
		if t.AllowSplit {
			split += t.Max
		}
	}
	return max(most, split)
}

// checkAttribute reports to c an attribute that a player lacks, that has another type than the profile says, or for
// which nobody vouches as the profile asks. It returns false if it has reported one.
func checkAttribute(c *rest.Check, p *profile.Profile, name string, d ticketbody.Draft, player match.Player,
	isCaller bool) (isFine bool) {
	want, field := p.Attributes[name], "players."+player.Sub+".attributes."+name
	v, ok := player.Attributes[name]
	if !ok {
		v, ok = d.Attributes[name]
		field = "attributes." + name
	}
	// The default counts, whoever would have to vouch for a value.
	if !ok && want.Default != nil {
		return true
	}
	var problem string
	isVouched := want.Trusts(player.SourceOf(name))
	switch {
	case !ok && !isVouched:
		problem = fmt.Sprintf("is required and must be %s: %s", kindNames[want.Kind], neededVoucher(p, name, isCaller))
	case !ok:
		problem = fmt.Sprintf("is required by profile %q and must be %s", p.Name, kindNames[want.Kind])
	case !isVouched:
		problem = "is the word of the player's client: " + neededVoucher(p, name, isCaller)
	case v.Kind != want.Kind:
		problem = fmt.Sprintf("must be %s for profile %q", kindNames[want.Kind], p.Name)
	}
	c.That(problem == "", field, problem)
	return problem == ""
}

var kindNames = map[match.Kind]string{match.Number: "a number", match.Text: "a text", match.List: "a list of texts"}
