package db

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/value"
	"github.com/lattice-director/director/db/query"
)

// roomOrder is a requested room.
type roomOrder struct {
	newRoom    NewRoom
	commandID  uuid.UUID
	groupKey   string    // orders of one group may go to the same agents; empty for a pinned order
	isDeferred bool      // another transaction must decide it
	agentID    string    // the chosen agent; empty until pin or deal has chosen one
	host       *roomHost // the locked agent that takes the room; nil before, and if it was filled meanwhile
	err        error     // why it is refused
}

// isDecided reports whether the transaction has decided about an order: refused it, or reserved its room.
func (o *roomOrder) isDecided() bool { return o.err != nil || o.host != nil }

// newRoomOrder makes an order with its group: equal requests have the same candidates, which are read once.
func newRoomOrder(r NewRoom) *roomOrder {
	o := &roomOrder{newRoom: r, commandID: value.NewID()}
	if r.InstanceID != nil || r.ProcessUID != nil {
		return o
	}
	o.newRoom.SpreadStrategy = knownStrategy(r.SpreadStrategy)
	o.newRoom.NoMatch = r.NoMatch || !isStorable(r.Type)
	for k, v := range r.RequiredLabels {
		o.newRoom.NoMatch = o.newRoom.NoMatch || !isStorable(k) || !isStorable(v)
	}
	o.groupKey = strings.Join([]string{o.newRoom.SpreadStrategy, strconv.Quote(o.newRoom.Type), o.labelsText()}, " ")
	return o
}

// labelsText returns the required labels as JSON, sorted.
func (o *roomOrder) labelsText() string {
	if len(o.newRoom.RequiredLabels) == 0 {
		return "{}"
	}
	text, _ := json.Marshal(o.newRoom.RequiredLabels) // cannot fail: a map of strings has a JSON form
	return string(text)
}

// groupsOf returns the keys of the groups of orders, whose indexes are the numbers in the query for their candidates,
// and the parameters of that query.
func groupsOf(orders []*roomOrder) (groups []string, p query.RoomCandidatesParams) {
	p.MaxInFlight = maxInFlight
	for _, o := range orders {
		if o.groupKey == "" || o.newRoom.NoMatch {
			continue
		}
		p.Most++
		if slices.Contains(groups, o.groupKey) {
			continue
		}
		p.Groups = append(p.Groups, int32(len(groups)))
		groups = append(groups, o.groupKey)
		p.Types = append(p.Types, o.newRoom.Type)
		p.Labels = append(p.Labels, o.labelsText())
		p.Signs = append(p.Signs, signOf(o.newRoom.SpreadStrategy))
	}
	return groups, p
}

// signOf returns the sign by which RoomCandidates sorts agents for a strategy: 1 puts the least loaded ones first.
func signOf(strategy string) int32 {
	switch strategy {
	case strategyMostLoaded:
		return -1
	case strategyRandom:
		return 0
	}
	return 1
}

// knownStrategy returns the strategy of that name, and the default for any other name.
func knownStrategy(name string) string {
	if name == strategyMostLoaded || name == strategyRandom {
		return name
	}
	return strategyLeastLoaded
}
