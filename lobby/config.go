package lobby

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"
)

// MaxMembers is how many members a room of any type may have at most.
const MaxMembers = maxChat

// Bounds of a configuration.
const (
	maxConfigBytes = 1 << 20
	maxConfigTypes = 256
	maxChat        = 2_000 // members
	maxGroup       = 200   // members: each has a key of the state
	maxParty       = maxMatch
	maxGrace       = time.Hour
	maxProfile     = 63  // bytes
	maxLink        = 500 // bytes

	linkCode = "{code}"
)

// readers read one key of a type each. keysOf are the keys that each logic has.
var (
	readers = map[string]func(*Type, json.RawMessage) error{
		"max_members": readMaxMembers,
		"grace":       readGrace,
		"private":     readPrivate,
		"state":       readState,
		"profile":     readProfile,
		"queue":       readQueue,
		"link":        readLink,
	}
	keysOf = map[string][]string{
		"chat":  {"max_members", "grace", "private", "state", "link"},
		"lobby": {"max_members", "grace", "private", "queue", "link"},
		"party": {"max_members", "grace", "private", "link"},
		"match": {"grace", "profile"},
	}
	maxMembersOf = map[string]int{"chat": maxChat, "lobby": maxGroup, "party": maxParty}
)

// readConfiguration adds the types of a configuration. It stops at the first mistake: a director that started with the
// others would refuse everybody in the rooms of the type that is missing.
func (t *Types) readConfiguration(config []byte) error {
	if len(bytes.TrimSpace(config)) == 0 {
		return nil
	}
	if len(config) > maxConfigBytes {
		return fmt.Errorf("the configuration of room types has more than %d bytes", maxConfigBytes)
	}
	entries, err := readObject(config)
	if err != nil {
		return fmt.Errorf("the configuration of room types %w", err)
	}
	if len(entries) > maxConfigTypes {
		return fmt.Errorf("the configuration has more than %d room types", maxConfigTypes)
	}
	for _, e := range entries {
		if !ValidType(e.key) {
			return fmt.Errorf("room type %q: the name must have 1 to %d bytes without spaces, colons and control characters",
				e.key, maxTypeBytes)
		}
		typ, err := t.readType(e.key, e.rawValue)
		if err != nil {
			return fmt.Errorf("room type %q: %w", e.key, err)
		}
		t.byName[e.key] = typ // also in place of a built-in type
	}
	return nil
}

// readType reads one type: its settings, or the state of its rooms as in Nexis.
func (t *Types) readType(name string, config json.RawMessage) (Type, error) {
	entries, err := readObject(config)
	if err != nil {
		return Type{}, err
	}
	at := slices.IndexFunc(entries, func(e entry) bool { return e.key == "logic" })
	// Configurations that were written for Nexis have no logic.
	if at < 0 {
		return t.readTemplate(name, entries, config)
	}
	// Before the other keys: which of them there may be depends on it.
	var logic string
	if err := json.Unmarshal(entries[at].rawValue, &logic); err != nil || keysOf[logic] == nil {
		return Type{}, errors.New(`key "logic" must be chat, lobby, party or match`)
	}
	typ := t.builtInType(logic)
	typ.Name = name
	for _, e := range slices.Delete(entries, at, at+1) {
		if !slices.Contains(keysOf[logic], e.key) {
			return Type{}, fmt.Errorf("key %q is unknown; logic %s has %s", e.key, logic,
				strings.Join(keysOf[logic], ", "))
		}
		if err := readers[e.key](&typ, e.rawValue); err != nil {
			return Type{}, fmt.Errorf("key %q %w", e.key, err)
		}
	}
	return typ, nil
}

// builtInType is the type that is built in with a logic.
func (t *Types) builtInType(logic string) Type {
	known := builtIn(t)
	return known[slices.IndexFunc(known, func(typ Type) bool { return typ.Name == logic })]
}

// readTemplate reads Nexis' form: the state of new rooms of a type.
func (t *Types) readTemplate(name string, entries []entry, config json.RawMessage) (Type, error) {
	for _, e := range entries {
		// States of earlier releases may have these keys.
		if readers[e.key] != nil && e.key != "state" && e.key != "link" {
			return Type{}, fmt.Errorf(`key %q is one of a type with the key "logic", which is absent`, e.key)
		}
	}
	typ := t.builtInType("chat")
	typ.Name = name
	if err := readState(&typ, config); err != nil {
		return Type{}, fmt.Errorf("the state of its rooms %w", err)
	}
	return typ, nil
}

func readMaxMembers(typ *Type, raw json.RawMessage) error {
	most := maxMembersOf[logicName(typ.roomLogic)]
	members, ok := wholeNumberOf(raw, 1, most)
	if !ok {
		return fmt.Errorf("must be a whole number from 1 to %d", most)
	}
	typ.MaxMembers = members
	return nil
}

// logicName returns the name of the logic by which a configured type was made.
func logicName(l Logic) string {
	switch l.(type) {
	case lobby:
		return "lobby"
	case party:
		return "party"
	}
	return "chat"
}

func readGrace(typ *Type, raw json.RawMessage) error {
	grace, err := time.ParseDuration(unquotedString(raw))
	if err != nil || grace < 0 || grace > maxGrace {
		return fmt.Errorf("must be a duration from %q to %q", "0s", maxGrace)
	}
	typ.GracePeriod = grace
	return nil
}

func readPrivate(typ *Type, raw json.RawMessage) error {
	if string(raw) != "true" && string(raw) != "false" {
		return errors.New("must be true or false")
	}
	typ.IsPrivate = string(raw) == "true"
	return nil
}

func readProfile(typ *Type, raw json.RawMessage) error {
	name := unquotedString(raw)
	if !validName(name, maxProfile) {
		return fmt.Errorf("must be the name of a profile, of at most %d bytes", maxProfile)
	}
	typ.ProfileName = name
	return nil
}

func readLink(typ *Type, raw json.RawMessage) error {
	link := unquotedString(raw)
	// With a code in its place: braces are not allowed in every part of a URL.
	u, err := url.Parse(strings.ReplaceAll(link, linkCode, "code"))
	if err != nil || u.Scheme == "" || len(link) > maxLink || !strings.Contains(link, linkCode) {
		return fmt.Errorf("must be a URL of at most %d bytes with %s, such as \"https://game.example/join/%s\"",
			maxLink, linkCode, linkCode)
	}
	typ.LinkFormat = link
	return nil
}

func readState(typ *Type, raw json.RawMessage) error {
	entries, err := readObject(raw)
	if err != nil {
		return err
	}
	state := State{}
	for _, e := range entries {
		value, err := cleanJSON("a value", e.rawValue)
		if err != nil {
			return fmt.Errorf("has the key %q, whose value is not JSON", e.key)
		}
		if e.key == "" {
			return errors.New("has an empty key, which clients cannot read")
		}
		state[e.key] = value
	}
	if len(state) > maxStateKeys-1 || state.JSONBytes() > maxStateBytes/2 { // room for a topic, and what comes later
		return fmt.Errorf("must have at most %d keys and %d bytes", maxStateKeys-1, maxStateBytes/2)
	}
	typ.roomLogic = chat{initialState: state}
	return nil
}

// readQueue reads what the lobbies of a type queue for if their owners say nothing.
func readQueue(typ *Type, raw json.RawMessage) error {
	entries, err := readObject(raw)
	if err != nil {
		return err
	}
	var q Queue
	for _, e := range entries {
		switch e.key {
		case "room_type":
			q.RoomType = unquotedString(e.rawValue)
			if !ValidType(q.RoomType) {
				return errors.New(`has a "room_type" that must be the name of a room type`)
			}
		case "size":
			size, ok := wholeNumberOf(e.rawValue, minMatch, maxMatch)
			if !ok {
				return fmt.Errorf(`has a "size" that must be a whole number from %d to %d`, minMatch, maxMatch)
			}
			q.MatchSize = size
		default:
			return fmt.Errorf("has the unknown key %q; it has room_type, size", e.key)
		}
	}
	if q.RoomType == "" {
		return errors.New(`has no "room_type"`)
	}
	// A copy: the value of the built-in type is shared by all types of this logic.
	if l, ok := typ.roomLogic.(lobby); ok {
		l.defaultQueue = q
		typ.roomLogic = l
	}
	return nil
}

// wholeNumberOf reads a whole number from one to another. It refuses null, which json.Unmarshal takes for the number 0.
func wholeNumberOf(raw json.RawMessage, from, to int) (n int, ok bool) {
	var value *float64
	// By way of a float64, since 16.0 and 1e1 are whole numbers in JSON, too.
	if json.Unmarshal(raw, &value) != nil || value == nil || *value != math.Trunc(*value) ||
		*value < float64(from) || *value > float64(to) {
		return 0, false
	}
	return int(*value), true
}

// unquotedString returns a string, or "" for another value.
func unquotedString(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// entry is a key of an object with its value.
type entry struct {
	key      string
	rawValue json.RawMessage
}

// readObject reads the keys of an object in their order. A key that is there twice is an error: the second would hide
// the first.
func readObject(raw []byte) ([]entry, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("must be a JSON object")
	}
	var entries []entry
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("is not JSON: %w", err)
		}
		e := entry{key: key.(string)}
		if slices.ContainsFunc(entries, func(o entry) bool { return o.key == e.key }) {
			return nil, fmt.Errorf("has the key %q twice", e.key)
		}
		if err := d.Decode(&e.rawValue); err != nil {
			return nil, fmt.Errorf("is not JSON: %w", err)
		}
		entries = append(entries, e)
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("must be one JSON object, with nothing behind it")
	}
	return entries, nil
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
