package lobby

import (
	"slices"
	"time"
)

// Type is what the rooms of a type have in common.
type Type struct {
	Name        string
	MaxMembers  int
	GracePeriod time.Duration // see [Room]
	IsPrivate   bool          // a new room of it is joined by invitation only, unless options say otherwise
	LinkFormat  string        // to a room by its code, which stands for linkCode; empty: there is none
	ProfileName string        // whose queue leads to its matches; empty: a bucket of the type and a size

	roomLogic Logic
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
	asLobby := group{roomTypes: t, messageKinds: slices.Concat(common,
		[]string{"ready", "team", "set", "countdown", "start"})}
	asParty := group{roomTypes: t, messageKinds: slices.Concat(common, []string{"queue"})}
	return []Type{
		{Name: "chat", MaxMembers: 200, GracePeriod: minute, roomLogic: chat{}},
		{Name: "lobby", MaxMembers: 16, GracePeriod: minute, roomLogic: lobby{group: asLobby}},
		{Name: "party", MaxMembers: 16, GracePeriod: minute, IsPrivate: true, roomLogic: party{group: asParty}},
		{Name: "match", MaxMembers: maxMatch, GracePeriod: 5 * minute, IsPrivate: true, roomLogic: match{}},
	}
}

// conformanceTypes are the types that the tests and scripts written for Nexis expect.
func conformanceTypes() []Type {
	return []Type{
		{Name: "echo_room", MaxMembers: maxChat, roomLogic: echoRoom{}},
		{Name: "counter_room", MaxMembers: maxChat, roomLogic: counterRoom{}},
		{Name: "counter_plugin_room", MaxMembers: maxChat, roomLogic: counterPluginRoom{}},
	}
}

// NewTypes returns the types that are built in, those of Nexis' own tests if withConformance is set, and those of
// a configuration: a JSON object that maps the name of a type to its settings. An error of the configuration names the
// type and the key.
func NewTypes(withConformance bool, config []byte) (*Types, error) {
	t := &Types{byName: map[string]Type{}}
	known := builtIn(t)
	if withConformance {
		known = append(known, conformanceTypes()...)
	}
	for _, typ := range known {
		t.byName[typ.Name] = typ
	}
	return t, t.readConfiguration(config)
}

// LookupType returns a type by its name.
func (t *Types) LookupType(name string) (Type, bool) {
	if t == nil {
		return Type{}, false
	}
	typ, ok := t.byName[name]
	return typ, ok
}

// typeOf returns the type of a room. The room of a match has the type that its players asked for, and [match] runs it
// where no other does.
func (t *Types) typeOf(r *Room) (Type, bool) {
	typ, ok := t.LookupType(r.Type)
	// Players may ask for matches of any name: the bucket of the queue is all that it means.
	if !ok && r.Participants != nil {
		return t.ofMatch(r.Type), true
	}
	return typ, ok
}

// ofMatch is the type of the room of a match.
func (t *Types) ofMatch(name string) Type {
	if typ, ok := t.LookupType(name); ok {
		return typ
	}
	typ, _ := t.LookupType("match")
	if _, ok := typ.roomLogic.(match); !ok {
		// The configuration has given this name to a type with another logic.
		typ = t.builtInType("match")
	}
	typ.Name = name
	return typ
}

// logicOf returns the logic of a room, or nil if this process does not know its type: another one is configured
// otherwise.
func (t *Types) logicOf(r *Room) Logic {
	typ, _ := t.typeOf(r)
	return typ.roomLogic
}
