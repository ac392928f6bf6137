package lobby

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxMembers is the largest number of members that the configuration of any type may allow.
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

var (
	// keyReaders has the function that reads a key of a type, by key.
	keyReaders = map[string]func(*Type, json.RawMessage) error{
		"max_members": readMaxMembers,
		"grace":       readGrace,
		"private":     readPrivate,
		"state":       readState,
		"profile":     readProfile,
		"queue":       readQueue,
		"link":        readLink,
	}
	// keysByLogic has the keys that a type may have, by its logic.
	keysByLogic = map[string][]string{
		"chat":  {"max_members", "grace", "private", "state", "link"},
		"lobby": {"max_members", "grace", "private", "queue", "link"},
		"party": {"max_members", "grace", "private", "link"},
		"match": {"grace", "profile"},
	}
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
	logicAt := slices.IndexFunc(entries, func(e entry) bool { return e.key == "logic" })
	// Configurations that were written for Nexis have no logic.
	if logicAt < 0 {
		return t.readTemplate(name, entries, config)
	}
	// Before the other keys: the logic decides which of them are allowed.
	logic := unquotedString(entries[logicAt].rawValue)
	if keysByLogic[logic] == nil {
		return Type{}, errors.New(`key "logic" must be chat, lobby, party or match`)
	}
	typ := t.builtInType(logic)
	typ.Name = name
	for _, e := range slices.Delete(entries, logicAt, logicAt+1) {
		if !slices.Contains(keysByLogic[logic], e.key) {
			return Type{}, fmt.Errorf("key %q is unknown; logic %s has %s", e.key, logic,
				strings.Join(keysByLogic[logic], ", "))
		}
		if err := keyReaders[e.key](&typ, e.rawValue); err != nil {
			return Type{}, fmt.Errorf("key %q %w", e.key, err)
		}
	}
	return typ, nil
}

// builtInType returns the built-in type of a logic, which has the name of the logic.
func (t *Types) builtInType(logic string) Type {
	known := builtInTypes(t)
	return known[slices.IndexFunc(known, func(typ Type) bool { return typ.Name == logic })]
}

// readTemplate reads Nexis' form: the state of new rooms of a type.
func (t *Types) readTemplate(name string, entries []entry, config json.RawMessage) (Type, error) {
	for _, e := range entries {
		// state and link are allowed: states that earlier releases accepted may have these keys.
		if keyReaders[e.key] != nil && e.key != "state" && e.key != "link" {
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
