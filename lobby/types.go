package lobby

import (
	"slices"
	"time"
)

// Type is what the rooms of a type have in common.
type Type struct {
	Name       string
	MaxMembers int
	Grace      time.Duration // see [Room]
	Private    bool          // a new room of it is joined by invitation only, unless options say otherwise
	Link       string        // to a room by its code, which stands for linkCode; empty: there is none
	Profile    string        // whose queue leads to its matches; empty: a bucket of the type and a size

	logic Logic
}

// Types are the room types that a process serves. Nil has those of matches that nobody configured. Safe for concurrent
// use.
type Types struct {
	byName map[string]Type
}

// builtIn are the types without configuration, and what the logic of a configured type has where its configuration says
// nothing.
func builtIn(t *Types) []Type {
	minute := time.Minute
	common := []string{"say", "invite", "cancel", "lock", "kick", "owner", "member", customMessage + "…"}
	asLobby := group{types: t, kinds: slices.Concat(common, []string{"ready", "team", "set", "countdown", "start"})}
	asParty := group{types: t, kinds: slices.Concat(common, []string{"queue"})}
	return []Type{
		{Name: "chat", MaxMembers: 200, Grace: minute, logic: chat{}},
		{Name: "lobby", MaxMembers: 16, Grace: minute, logic: lobby{group: asLobby}},
		{Name: "party", MaxMembers: 16, Grace: minute, Private: true, logic: party{group: asParty}},
		{Name: "match", MaxMembers: maxMatch, Grace: 5 * minute, Private: true, logic: match{}},
	}
}

// conformance are the types that the tests and scripts written for Nexis expect.
func conformance() []Type {
	return []Type{
		{Name: "echo_room", MaxMembers: maxChat, logic: echoRoom{}},
		{Name: "counter_room", MaxMembers: maxChat, logic: counterRoom{}},
		{Name: "counter_plugin_room", MaxMembers: maxChat, logic: counterPluginRoom{}},
	}
}

// NewTypes returns the types that are built in, those of Nexis' own tests if conformance is set, and those of a
// configuration: a JSON object that maps the name of a type to its settings. An error of the configuration names the
// type and the key.
func NewTypes(withConformance bool, config []byte) (*Types, error) {
	t := &Types{byName: map[string]Type{}}
	known := builtIn(t)
	if withConformance {
		known = append(known, conformance()...)
	}
	for _, typ := range known {
		t.byName[typ.Name] = typ
	}
	return t, t.configure(config)
}

// Lookup returns a type by its name.
func (t *Types) Lookup(name string) (Type, bool) {
	if t == nil {
		return Type{}, false
	}
	typ, ok := t.byName[name]
	return typ, ok
}

// typeOf returns the type of a room. The room of a match has the type that its players asked for, and [match] runs it
// where no other does.
func (t *Types) typeOf(r *Room) (Type, bool) {
	typ, ok := t.Lookup(r.Type)
	if !ok && r.Participants != nil {
		return t.ofMatch(r.Type), true
	}
	return typ, ok
}

// ofMatch is the type of the room of a match.
func (t *Types) ofMatch(name string) Type {
	if typ, ok := t.Lookup(name); ok {
		return typ
	}
	typ, _ := t.Lookup("match")
	if _, ok := typ.logic.(match); !ok {
		// The configuration has given this name to a type with another logic.
		typ = t.base("match")
	}
	typ.Name = name
	return typ
}

// logic returns the logic of a room, or nil if this process does not know its type: another one is configured
// otherwise.
func (t *Types) logic(r *Room) Logic {
	typ, _ := t.typeOf(r)
	return typ.logic
}
